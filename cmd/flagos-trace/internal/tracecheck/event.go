package tracecheck

import (
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

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
	c.keys.walk(raw, func(key []byte, place string) {
		if place != "" {
			place = " in " + place
		}
		c.find(i, "it names %q twice%s", key, place)
	})
	e.ForEach(func(key, v gjson.Result) bool {
		f.set(key.Str, v)
		return true
	})
	if f.args.Exists() && !f.args.IsObject() {
		c.find(i, "its args are not an object")
	}
	if c.own {
		c.decimals(i, &f)
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

// fields are the members of an event that have a meaning of their own.
type fields struct{ ph, cat, name, pid, tid, ts, dur, id, args, bp gjson.Result }

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
	case "bp":
		f.bp = v
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
		s := span{start, start + length, i}
		r := c.row(f)
		r.spans = append(r.spans, s)
		c.window.add(s, f.cat.Str == windowCategory)
	}
}

// decimals checks that times are written to the nanosecond, no more and no less.
func (c *checker) decimals(i int, f *fields) {
	for _, m := range []struct {
		name  string
		value gjson.Result
	}{{"ts", f.ts}, {"dur", f.dur}} {
		if m.value.Type != gjson.Number {
			continue
		}
		_, fraction, _ := strings.Cut(m.value.Raw, ".")
		if len(fraction) != 3 || strings.Trim(fraction, "0123456789") != "" {
			c.find(i, "its %s is %s, which has not three decimals", m.name, m.value.Raw)
		}
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
		if f.bp.Str != "e" {
			c.find(i, `an arrow's end without "bp": "e" points at the span after it`)
		}
	}
	if ok {
		r := c.row(f)
		r.points = append(r.points, point{ts, i})
		c.window.add(span{ts, ts, i}, false)
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
