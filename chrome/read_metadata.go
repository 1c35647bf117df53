package chrome

import (
	"bytes"
	"encoding/json"
	"math"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// maxMembers bounds the top-level members that are kept. Traces have some tens.
const maxMembers = 100_000

// property keeps a top-level member.
func (b *builder) property(key string, raw []byte, offset int64) {
	v := Value(raw)
	switch key {
	case "baseTimeNanoseconds":
		n, ok := v.Int()
		if !ok {
			b.find.add(RuleMember, offset, -1, "baseTimeNanoseconds is no integer; times are taken as they stand")
			break
		}
		b.src.Base, b.src.HasBase = n, true
	case "deviceProperties":
		b.t.Devices = ReadDevices(v)
	case KeyCompleteness:
		var c timeline.Completeness
		if err := json.Unmarshal(raw, &c); err != nil {
			b.find.add(RuleMember, offset, -1, "the completeness record cannot be read: "+err.Error())
			break
		}
		b.t.Completeness = &c
	}
	if i, ok := b.members[key]; ok {
		b.find.add(RuleDuplicateKey, offset, -1, "a top-level member stands twice; the last one counts")
		b.t.Metadata[i].Raw = bytes.Clone(raw)
		return
	}
	if len(b.t.Metadata) >= maxMembers {
		b.find.add(RuleMember, offset, -1, "more top-level members than a trace can have; the further ones were left out")
		return
	}
	b.members[key] = len(b.t.Metadata)
	b.t.Metadata = append(b.t.Metadata, timeline.Property{Key: key, Raw: bytes.Clone(raw)})
}

// ReadDevices reads the value of deviceProperties: of each device that has an id its
// name and its integer properties, in their order. What is of another form is left
// out.
func ReadDevices(v Value) []timeline.Device {
	var out []timeline.Device
	for item := range Elements(v) {
		var d timeline.Device
		known := false
		for m := WalkMembers(item); m.Next(); {
			switch n, ok := m.Value.Int(); {
			case string(m.Key) == "name":
				d.Name = string(m.Value.Text(nil))
			case !ok || m.Value.IsString():
			case string(m.Key) == "id":
				d.ID, known = uint32(n), n >= 0 && n <= math.MaxUint32
			default:
				d.Properties = append(d.Properties, timeline.DeviceProperty{Key: string(m.Key), Value: n})
			}
		}
		if known {
			out = append(out, d)
		}
	}
	return out
}

// metadata takes a metadata event into rows and groups; false: it is none of
// those, and to be kept as it is.
func (b *builder) metadata(k *block, it *item, offset int64) bool {
	if it.has&itemArgs == 0 || it.fields.off != 0 {
		return false
	}
	args, name := it.args.in(k.text), it.name.in(k.text)
	var value Value
	n := 0
	for m := WalkMembers(args); m.Next(); n++ {
		switch string(m.Key) {
		case "name", "labels", "sort_index":
			value = m.Value
		}
	}
	if n != 1 || value == nil {
		return false
	}
	text := string(value.Text(nil))
	if text == "" || !name.Is("process_sort_index") && !name.Is("thread_sort_index") && !value.IsString() {
		return false
	}
	index, isInt := value.Int()
	switch {
	case name.Is("thread_name"):
		i := b.row(k, it, offset)
		r := &b.t.Rows[i]
		if r.Name != "" && r.Name != text {
			b.find.add(RuleRenamed, offset, -1, "a row is named twice; the last name counts")
		}
		r.Name = text
	case name.Is("thread_sort_index") && isInt && !value.IsString():
		r := &b.t.Rows[b.row(k, it, offset)]
		r.SortIndex, r.HasSortIndex = index, true
	case name.Is("process_name"), name.Is("process_labels"), name.Is("process_sort_index") && isInt && !value.IsString():
		pid, pidText, empty := b.rowID(it.pid.in(k.text), offset)
		if empty {
			return false
		}
		g := b.group(pid, pidText)
		switch {
		case name.Is("process_name"):
			if g.Name != "" && g.Name != text {
				b.find.add(RuleRenamed, offset, -1, "a process is named twice; the last name counts")
			}
			g.Name = text
		case name.Is("process_labels"):
			g.Label = text
		default:
			g.SortIndex, g.NoSortIndex = index, false
		}
	default:
		return false
	}
	return true
}

func (b *builder) group(pid int64, text string) *timeline.Group {
	key := groupKey{pid, text}
	i, ok := b.groups[key]
	if !ok {
		i = len(b.t.Groups)
		b.groups[key] = i
		b.t.Groups = append(b.t.Groups, timeline.Group{PID: pid, PIDText: text, NoSortIndex: true})
	}
	return &b.t.Groups[i]
}
