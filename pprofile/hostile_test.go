package pprofile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func parse(t *testing.T, events ...string) *timeline.Trace {
	t.Helper()
	d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Trace
}

// TestMainValue: without device work a profile opens on host time, and has no date where the
// trace counts from zero.
func TestMainValue(t *testing.T) {
	const op, kernel = `{"ph":"X","cat":"cpu_op","name":"mm","pid":1,"tid":1,"ts":%s,"dur":5}`, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%s,"dur":5}`
	for _, c := range []struct {
		event, at, main string
		dated           bool
	}{
		{op, "1", "cpu_time", false},
		{op, "1700000000000000", "cpu_time", true},
		{kernel, "1", "device_time", false},
		{kernel, "1700000000000000", "device_time", true},
	} {
		b := New()
		b.Add(parse(t, fmt.Sprintf(c.event, c.at)), "")
		p := build(t, b)
		if b.Main() != c.main || p.DefaultSampleType != c.main || (p.TimeNanos != 0) != c.dated {
			t.Errorf("%s: %s, %s, at %d", c.event, b.Main(), p.DefaultSampleType, p.TimeNanos)
		}
		if !b.Has(c.main) || b.Has("bytes") || b.Has("joy") {
			t.Errorf("%s: has %v, %v, %v", c.event, b.Has(c.main), b.Has("bytes"), b.Has("joy"))
		}
	}
}

// TestHidden: pprof prints names to a terminal as they are, so nothing in them may act.
func TestHidden(t *testing.T) {
	const name = `"a\u001b[31m\u0000\u0085\u2028\u202e\nb"`
	b := New()
	b.Add(parse(t,
		`{"ph":"X","cat":"cpu_op","name":`+name+`,"pid":1,"tid":1,"ts":1,"dur":5,"args":{"External id":3,"Input Dims":[[`+name+`]]}}`,
		`{"ph":"X","cat":"python_function","name":"nn.Module: `+name[1:]+`,"pid":1,"tid":1,"ts":0,"dur":9}`,
		`{"ph":"X","cat":"kernel","name":`+name+`,"pid":0,"tid":7,"ts":3,"dur":5,"args":{"External id":3}}`), "")
	p := build(t, b)
	for _, f := range p.Function {
		if strings.ContainsFunc(f.Name+f.SystemName+f.Filename, acts) {
			t.Errorf("function %q", f.Name)
		}
	}
	for _, s := range p.Sample {
		for key, texts := range s.Label {
			if strings.ContainsFunc(strings.Join(texts, ""), acts) {
				t.Errorf("label %s is %q", key, texts)
			}
		}
	}
	var out bytes.Buffer
	if err := b.WriteFolded(&out, "device_time"); err != nil {
		t.Fatal(err)
	}
	if line := strings.TrimSuffix(out.String(), "\n"); strings.ContainsFunc(line, acts) || !strings.HasSuffix(line, `;a\x1b[31m\x00\u0085\u2028\u202e\nb 5000`) {
		t.Errorf("%q", line)
	}
}

func acts(r rune) bool { return !unicode.IsGraphic(r) }

// TestDeep: a profile of spans in spans has room for them, and its sums are whole.
func TestDeep(t *testing.T) {
	const depth = 20_000
	var events []string
	for i := range depth {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"f","pid":1,"tid":1,"ts":%d,"dur":%d}`, i, 2*depth-2*i))
	}
	b := New()
	b.Add(parse(t, events...), "")
	p := build(t, b)
	frames := 0
	for _, s := range p.Sample {
		frames += len(s.Location)
	}
	if got := total(p, cpuTime); got != 2*depth*1000 || frames > 200_000 {
		t.Errorf("%d ns in %d frames", got, frames)
	}
}

func TestTooFarApart(t *testing.T) {
	b := New()
	if err := b.Add(parse(t, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":-5e15,"dur":5}`, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":5e15,"dur":5}`), ""); !errors.Is(err, measure.ErrBounds) {
		t.Errorf("error %v", err)
	}
}
