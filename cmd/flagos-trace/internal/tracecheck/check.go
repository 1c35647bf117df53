package tracecheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// ErrNotJSON means that the document is no strict JSON.
var ErrNotJSON = errors.New("not strict JSON")

// Finding is one broken rule.
type Finding struct {
	Event int    // index in traceEvents, -1 for the document
	Text  string // what is wrong
}

// String returns the finding as one line.
func (f Finding) String() string {
	if f.Event < 0 {
		return f.Text
	}
	return fmt.Sprintf("event %d: %s", f.Event, f.Text)
}

// Report is what a trace holds and what is wrong with it.
type Report struct {
	Events     int            // of every phase
	Categories map[string]int // spans by category
	Flows      int            // arrows, each once
	Findings   []Finding      // the first MaxFindings
	More       int            // findings beyond those
}

// MaxFindings bounds the findings kept.
const MaxFindings = 50

// Read checks a document. The error is ErrNotJSON, with the byte where it went
// wrong, or one of the reader; the Report is then of what came before.
func Read(r io.Reader) (*Report, error) {
	c := &checker{
		report: &Report{Categories: map[string]int{}},
		rows:   map[row]*rowEvents{},
		flows:  map[flowKey]*flow{},
	}
	dec := json.NewDecoder(r)
	err := c.document(dec)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = fmt.Errorf("%w: byte %d: %w", ErrNotJSON, dec.InputOffset(), err)
	}
	c.finish()
	return c.report, err
}

type checker struct {
	report *Report
	rows   map[row]*rowEvents
	flows  map[flowKey]*flow
	keys   []string
}

func (c *checker) find(event int, format string, args ...any) {
	if len(c.report.Findings) == MaxFindings {
		c.report.More++
		return
	}
	c.report.Findings = append(c.report.Findings, Finding{event, fmt.Sprintf(format, args...)})
}

func (c *checker) document(dec *json.Decoder) error {
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		c.find(-1, "the document is not an object")
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		key := t.(string) // a member's name, or Token had failed
		if seen[key] {
			c.find(-1, "the document names %q twice", key)
		}
		seen[key] = true
		if key == "traceEvents" {
			err = c.events(dec)
		} else {
			var raw json.RawMessage
			if err = dec.Decode(&raw); err == nil && !utf8.Valid(raw) {
				c.find(-1, "%q is not UTF-8", key)
			}
		}
		if err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return err
	}
	if !seen["traceEvents"] {
		c.find(-1, "the document has no traceEvents")
	}
	// Reading on to the end lets a compressed stream check its sum.
	if t, err := dec.Token(); err == nil {
		c.find(-1, "%v follows the document", t)
	} else if err != io.EOF {
		return err
	}
	return nil
}

func (c *checker) events(dec *json.Decoder) error {
	open, err := dec.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('[') {
		return fmt.Errorf("%w: traceEvents is not an array", ErrNotJSON)
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		c.event(c.report.Events, raw)
		c.report.Events++
	}
	_, err = dec.Token()
	return err
}

// event checks one event by itself and files it for the checks between events.
func (c *checker) event(i int, raw []byte) {
	if !utf8.Valid(raw) {
		c.find(i, "it is not UTF-8")
	}
	e := gjson.ParseBytes(raw)
	if !e.IsObject() {
		c.find(i, "it is not an object")
		return
	}
	var f fields
	c.unique(i, "", e)
	e.ForEach(func(key, v gjson.Result) bool {
		f.set(key.Str, v)
		return true
	})
	if f.args.Exists() {
		if !f.args.IsObject() {
			c.find(i, "its args are not an object")
		} else {
			c.unique(i, "args ", f.args)
		}
	}
	if f.ph.Type != gjson.String || f.ph.Str == "" {
		c.find(i, "it has no ph")
		return
	}
	switch f.ph.Str {
	case "X":
		c.span(i, &f)
	case "s", "t", "f":
		c.flowPoint(i, &f)
	case "M":
		if f.name.Type != gjson.String || !f.args.Exists() {
			c.find(i, "metadata without name or args")
		}
	}
}

// unique reports keys that an object names twice.
func (c *checker) unique(i int, where string, object gjson.Result) {
	c.keys = c.keys[:0]
	object.ForEach(func(key, _ gjson.Result) bool {
		for _, k := range c.keys {
			if k == key.Str {
				c.find(i, "it names %s%q twice", where, k)
			}
		}
		c.keys = append(c.keys, key.Str)
		return true
	})
}

// fields are the members of an event that have a meaning of their own.
type fields struct{ ph, cat, name, pid, tid, ts, dur, id, args gjson.Result }

func (f *fields) set(key string, v gjson.Result) {
	switch key {
	case "ph":
		f.ph = v
	case "cat":
		f.cat = v
	case "name":
		f.name = v
	case "pid":
		f.pid = v
	case "tid":
		f.tid = v
	case "ts":
		f.ts = v
	case "dur":
		f.dur = v
	case "id":
		f.id = v
	case "args":
		f.args = v
	}
}

func (c *checker) span(i int, f *fields) {
	ok := c.place(i, "span", f)
	for _, m := range []struct {
		name  string
		value gjson.Result
	}{{"name", f.name}, {"cat", f.cat}} {
		if m.value.Type != gjson.String {
			c.find(i, "a span without %s", m.name)
		}
	}
	start, err := parseNS(f.ts)
	if err != nil {
		c.find(i, "a span's ts: %v", err)
		ok = false
	}
	length, err := parseNS(f.dur)
	switch {
	case err != nil:
		c.find(i, "a span's dur: %v", err)
		ok = false
	case length < 0:
		c.find(i, "a span's dur is %s", f.dur.Raw)
		ok = false
	}
	c.report.Categories[f.cat.Str]++
	if ok {
		r := c.row(f)
		r.spans = append(r.spans, span{start, start + length, i})
	}
}

func (c *checker) flowPoint(i int, f *fields) {
	ok := c.place(i, "arrow", f)
	ts, err := parseNS(f.ts)
	if err != nil {
		c.find(i, "an arrow's ts: %v", err)
		ok = false
	}
	if !f.id.Exists() {
		c.find(i, "an arrow without id")
		return
	}
	key := flowKey{f.cat.Str, f.id.Raw}
	if c.flows[key] == nil {
		c.flows[key] = &flow{first: i}
	}
	switch f.ph.Str {
	case "s":
		c.flows[key].starts++
	case "f":
		c.flows[key].ends++
	}
	if ok {
		r := c.row(f)
		r.points = append(r.points, point{ts, i})
	}
}

// place checks that an event stands on a row.
func (c *checker) place(i int, what string, f *fields) bool {
	ok := true
	for _, m := range []struct {
		name  string
		value gjson.Result
	}{{"pid", f.pid}, {"tid", f.tid}} {
		if m.value.Type != gjson.String && m.value.Type != gjson.Number {
			c.find(i, "%s %s without %s", article(what), what, m.name)
			ok = false
		}
	}
	return ok
}

func article(word string) string {
	if word == "arrow" {
		return "an"
	}
	return "a"
}
