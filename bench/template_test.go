package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/flagos-ai/flagos-trace/validate"
)

// TestTemplate: copies are one plausible trace: JSON, with as many events as the
// copies have, and no more wrong with them than with the one.
func TestTemplate(t *testing.T) {
	p, err := newTemplate("../testdata/pairs/basic.kineto.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	check := func(size int64) (events int, counts map[string]int) {
		var text bytes.Buffer
		n, err := p.write(&text, size)
		if err != nil || n != int64(text.Len()) || n < size {
			t.Fatalf("%d of %d bytes, said %d: %v", text.Len(), size, n, err)
		}
		if !json.Valid(text.Bytes()) {
			t.Fatalf("%d bytes are no JSON", n)
		}
		r, err := validate.Run(&text, validate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		counts = map[string]int{}
		for _, c := range r.Counts {
			if c.Severity >= validate.Warning {
				counts[c.Rule] = c.N
			}
		}
		return r.Events, counts
	}
	events, one := check(int64(len(p.head)) + 1)
	many, all := check(20 * int64(len(p.head)+len(p.tail)) * 10)
	if many%events != 0 || many < 2*events {
		t.Errorf("%d events in copies of %d", many, events)
	}
	for rule, n := range all {
		// The window is said anew by each copy.
		if n > one[rule]*many/events {
			t.Errorf("%d of %s in %d copies, %d in one", n, rule, many/events, one[rule])
		}
	}
}
