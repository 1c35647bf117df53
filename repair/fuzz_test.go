package repair

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// FuzzDocument: repairing whatever can be read never fails, writes JSON, and a
// second repair changes nothing.
func FuzzDocument(f *testing.F) {
	for _, c := range cases {
		if len(c.text) < 4000 {
			f.Add([]byte(c.text))
		}
	}
	for seed := range uint64(20) {
		f.Add([]byte(randomTrace(rand.New(rand.NewPCG(seed, 3)))))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{Workers: 1})
		if err != nil {
			return
		}
		if _, err := Document(d, Options{}); err != nil {
			t.Fatal(err)
		}
		out := write(t, d)
		if !json.Valid(out) {
			t.Fatalf("no JSON: %s", out)
		}
		again, second := repaired(t, out, Options{})
		if second.Changed() || !bytes.Equal(again, out) {
			t.Errorf("a second repair changes %v: %s\n%s", second.Repaired, differ(out, again), out)
		}
	})
}
