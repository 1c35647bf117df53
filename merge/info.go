package merge

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// KeyMerge is the top-level key of the record of a merge: an array with an Info a
// part, in their order.
const KeyMerge = chrome.KeyMerge

// Info says what a merged trace has of one part, and what it is called there.
type Info struct {
	Label, File string
	Process     timeline.Process
	// IDs are the part's pids and what they became, in the order of the part.
	IDs []IDPair
	// Correlation, Flow and Other were added to the part's correlation ids, ids of
	// arrows, and ids of asynchronous events. Suffix stands behind ids that are
	// texts.
	Correlation, Flow, Other uint64
	Suffix                   string
	// Base, HasBase, Array and Whole are those of the part's Source.
	Base                  int64
	HasBase, Array, Whole bool
	// Arrow and ArrowCategory are what the part calls the arrows from API calls to
	// device work, where that is not what the merged trace calls them.
	Arrow, ArrowCategory string
	NoArrowCategory      bool // they have none
	// Keys are the part's top-level members in order, "traceEvents" included;
	// Members those that the merged trace does not have in the same words.
	Keys    []string
	Members []timeline.Property
	// Clock says how the part's times were moved; nil where nobody looked.
	Clock *timeline.Alignment
}

// ID is a pid: a number, or a text.
type ID struct {
	Number int64
	Text   string
	Empty  bool // the text is the empty one
}

// IDPair is a pid and what it became.
type IDPair struct {
	Was, Is ID
	Host    bool // the process that was traced
}

// IsMerged reports whether a trace has the record of a merge, and parts in it.
func IsMerged(t *timeline.Trace) bool {
	return slices.ContainsFunc(Infos(t), func(i Info) bool { return !i.Skip() })
}

// Skip reports whether the part has nothing of its own in the merged trace.
func (i *Info) Skip() bool { return len(i.IDs) == 0 }

func (i *Info) add(was, is ID, host bool) { i.IDs = append(i.IDs, IDPair{was, is, host}) }

func (id ID) append(dst []byte) []byte {
	if id.Text != "" || id.Empty {
		return appendString(dst, id.Text)
	}
	return strconv.AppendInt(dst, id.Number, 10)
}

func (id *ID) read(v chrome.Value) {
	if v.IsString() {
		id.Text = string(v.Text(nil))
		id.Empty = id.Text == ""
		return
	}
	id.Number, _ = v.Int()
}

func appendString(dst []byte, s string) []byte {
	raw, _ := json.Marshal(s) // of a string: no error
	return append(dst, raw...)
}

// append writes the record. Members stand in it as they stood in their document,
// so that it is put together by hand.
func (i *Info) append(dst []byte) []byte {
	field := func(key string, value []byte) {
		if len(dst) > 0 && dst[len(dst)-1] != '{' {
			dst = append(dst, ", "...)
		}
		dst = append(append(appendString(dst, key), ": "...), value...)
	}
	number := func(key string, n uint64) {
		if n != 0 {
			field(key, strconv.AppendUint(nil, n, 10))
		}
	}
	text := func(key, s string) {
		if s != "" {
			field(key, appendString(nil, s))
		}
	}
	dst = append(dst, '{')
	text("label", i.Label)
	text("file", i.File)
	number("pid", uint64(max(i.Process.PID, 0)))
	text("process", i.Process.Name)
	text("host", i.Process.Host)
	pids := []byte{'['}
	for k, p := range i.IDs {
		if k > 0 {
			pids = append(pids, ", "...)
		}
		pids = p.Is.append(append(p.Was.append(append(pids, `{"was": `...)), `, "is": `...))
		if p.Host {
			pids = append(pids, `, "host": true`...)
		}
		pids = append(pids, '}')
	}
	field("pids", append(pids, ']'))
	number("correlation_added", i.Correlation)
	number("flow_id_added", i.Flow)
	number("async_id_added", i.Other)
	text("id_suffix", i.Suffix)
	if i.HasBase {
		field("baseTimeNanoseconds", strconv.AppendInt(nil, i.Base, 10))
	}
	if i.Array {
		field("array", []byte("true"))
	}
	text("arrow", i.Arrow)
	text("arrow_category", i.ArrowCategory)
	if i.NoArrowCategory {
		field("no_arrow_category", []byte("true"))
	}
	if i.Whole {
		field("whole_microseconds", []byte("true"))
	}
	if i.Clock != nil {
		raw, _ := json.Marshal(i.Clock)
		field("clock", raw)
	}
	if len(i.Keys) > 0 {
		raw, _ := json.Marshal(i.Keys)
		field("keys", raw)
	}
	if len(i.Members) > 0 {
		members := []byte{'{'}
		for k, m := range i.Members {
			if k > 0 {
				members = append(members, ", "...)
			}
			members = append(append(appendString(members, m.Key), ": "...), m.Raw...)
		}
		field("members", append(members, '}'))
	}
	return append(dst, '}')
}

// Infos reads the record of a merge from a trace. It is empty where the trace is
// none that was merged.
func Infos(t *timeline.Trace) []Info {
	var out []Info
	for i := range t.Metadata {
		if t.Metadata[i].Key == KeyMerge {
			for v := range chrome.Elements(t.Metadata[i].Raw) {
				out = append(out, readInfo(v))
			}
		}
	}
	return out
}

func readInfo(v chrome.Value) (i Info) {
	text := func(v chrome.Value) string { return string(v.Text(nil)) }
	number := func(v chrome.Value) uint64 { n, _ := strconv.ParseUint(string(v), 10, 64); return n }
	for m := chrome.WalkMembers(v); m.Next(); {
		switch v := m.Value; string(m.Key) {
		case "label":
			i.Label = text(v)
		case "file":
			i.File = text(v)
		case "pid":
			i.Process.PID = int(number(v))
		case "process":
			i.Process.Name = text(v)
		case "host":
			i.Process.Host = text(v)
		case "pids":
			for e := range chrome.Elements(v) {
				var p IDPair
				p.Was.read(chrome.Lookup(e, "was"))
				p.Is.read(chrome.Lookup(e, "is"))
				p.Host = string(chrome.Lookup(e, "host")) == "true"
				i.IDs = append(i.IDs, p)
			}
		case "correlation_added":
			i.Correlation = number(v)
		case "flow_id_added":
			i.Flow = number(v)
		case "async_id_added":
			i.Other = number(v)
		case "id_suffix":
			i.Suffix = text(v)
		case "baseTimeNanoseconds":
			i.Base, i.HasBase = v.Int()
		case "array":
			i.Array = string(v) == "true"
		case "arrow":
			i.Arrow = text(v)
		case "arrow_category":
			i.ArrowCategory = text(v)
		case "no_arrow_category":
			i.NoArrowCategory = string(v) == "true"
		case "whole_microseconds":
			i.Whole = string(v) == "true"
		case "clock":
			var a timeline.Alignment
			if json.Unmarshal(v, &a) == nil {
				i.Clock = &a
			}
		case "keys":
			for e := range chrome.Elements(v) {
				i.Keys = append(i.Keys, text(e))
			}
		case "members":
			for w := chrome.WalkMembers(v); w.Next(); {
				key := text(chrome.Value(append(append([]byte{'"'}, w.Key...), '"')))
				i.Members = append(i.Members, timeline.Property{Key: key, Raw: bytes.Clone(w.Value)})
			}
		}
	}
	return i
}

// within makes the record of a part of a part one of the merged trace.
func (i Info) within(outer *Info) Info {
	ids := map[ID]ID{}
	for _, p := range outer.IDs {
		ids[p.Was] = p.Is
	}
	own := i.IDs
	i.IDs = nil
	for _, p := range own {
		if is, ok := ids[p.Is]; ok {
			p.Is = is
		}
		i.IDs = append(i.IDs, p)
	}
	i.Correlation, i.Flow, i.Other = i.Correlation+outer.Correlation, i.Flow+outer.Flow, i.Other+outer.Other
	i.Suffix += outer.Suffix
	// What all parts had in common there need not be in common here.
	for _, m := range outer.Members {
		named := func(p timeline.Property) bool { return p.Key == m.Key }
		if slices.Contains(i.Keys, m.Key) && !slices.ContainsFunc(i.Members, named) {
			i.Members = append(i.Members, m)
		}
	}
	if outer.Label != "" && i.Label == "" {
		i.Label = outer.Label
	}
	if i.File == "" {
		i.File = outer.File
	}
	if outer.Clock != nil && outer.Clock.Method != timeline.AlignNone {
		i.Clock = outer.Clock
	}
	return i
}
