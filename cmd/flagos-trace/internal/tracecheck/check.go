package tracecheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
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
	keys   keyWalk
	own    bool // the document is this tool's: see ownMember
	window windowCheck
}

// ownMember is the member that only this tool's traces have. It stands before
// the events.
const ownMember = "flagosTrace"

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
			if err = dec.Decode(&raw); err == nil {
				c.member(key, raw)
			}
			c.own = c.own || key == ownMember
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

// member checks a member of the document other than traceEvents.
func (c *checker) member(key string, raw []byte) {
	if !utf8.Valid(raw) {
		c.find(-1, "%q is not UTF-8", key)
	}
	c.keys.walk(raw, func(twice []byte, place string) {
		if place != "" && place[0] != '[' {
			place = "." + place
		}
		c.find(-1, "%s%s names %q twice", key, place, twice)
	})
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
