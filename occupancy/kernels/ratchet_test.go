package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// held is a report's ratchet, written and read again.
func held(t *testing.T, kernels ...string) *Ratchet {
	t.Helper()
	var b bytes.Buffer
	if err := read(t, trace(fmt.Sprintf(h200, 0), kernels...), Options{}).Ratchet().Write(&b); err != nil {
		t.Fatal(err)
	}
	r, err := ReadRatchet(&b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompare(t *testing.T) {
	const local = `, "local memory per thread": `
	base := held(t,
		kernel("void k<A<int> >()", "1", launched("9, 1, 1", "256, 1, 1", 40, 0)+local+"16"),
		kernel("k<A<int>>()", "1", launched("9, 1, 1", "256, 1, 1", 64, 0)), // the same kernel: the worse counts
		kernel("other", "1", launched("9, 1, 1", "256, 1, 1", 32, 0)),
	)
	if len(base.Entries) != 2 || *base.Entries[0].Registers != 64 || *base.Entries[0].LocalMem != 16 || *base.Entries[0].ActiveWarps != 32 {
		t.Fatalf("%+v", base.Entries)
	}
	other := kernel("other", "1", launched("9, 1, 1", "256, 1, 1", 32, 0))
	for _, c := range []struct {
		name                     string
		kernels                  []string
		worse, better, now, gone []string
	}{
		{"the same", []string{kernel("k<A<int>>()", "7", launched("1, 1, 1", "256, 1, 1", 64, 0)+local+"16"), other}, nil, nil, nil, nil},
		{"worse in each way", []string{kernel("k<A<int>>()", "1", launched("9, 1, 1", "256, 1, 1", 128, 0)+local+"40"), other},
			[]string{"registers 128, was 64 (64 more)", "local memory per thread 40, was 16 (24 more)", "theoretical occupancy 25.0 % (16 of 64 warps), was 50.0 % (25.0 points less)"}, nil, nil, nil},
		{"more registers, occupancy the same", []string{kernel("k<A<int>>()", "1", launched("9, 1, 1", "256, 1, 1", 64, 0)+local+"16"),
			kernel("other", "1", launched("9, 1, 1", "256, 1, 1", 33, 0))}, []string{"other (NVIDIA H200): registers 33, was 32 (1 more)", "theoretical occupancy 75.0 %"}, nil, nil, nil},
		{"better", []string{kernel("k<A<int>>()", "1", launched("9, 1, 1", "256, 1, 1", 32, 0)+local+"0"), other}, nil,
			[]string{"registers 32, was 64 (32 fewer)", "per thread 0, was 16 (16 fewer)", "theoretical occupancy 100.0 %, was 50.0 % (50.0 points more)"}, nil, nil},
		{"new and gone", []string{kernel("young", "1", launched("9, 1, 1", "256, 1, 1", 32, 0)), other}, nil, nil,
			[]string{"young (NVIDIA H200): 32 registers, theoretical occupancy 100.0 %"}, []string{"k<A<int>>() (NVIDIA H200)"}},
		{"not known any more", []string{kernel("k<A<int>>()", "1", `"device": 0, "grid": [1, 1, 1]`), other},
			[]string{"registers not known any more, was 64", "local memory per thread not known any more", "not calculable any more (the trace does not carry: block, registers per thread, shared memory), was 50.0 %"}, nil, nil, nil},
	} {
		now := read(t, trace(fmt.Sprintf(h200, 0), c.kernels...), Options{}).Ratchet()
		got := base.Compare(now)
		for _, l := range []struct {
			what      string
			got, want []string
		}{{"worse", got.Worse, c.worse}, {"better", got.Better, c.better}, {"new", got.New, c.now}, {"gone", got.Gone, c.gone}} {
			ok := len(l.got) == len(l.want)
			for i := range l.want {
				ok = ok && strings.Contains(l.got[i], l.want[i])
			}
			if !ok {
				t.Errorf("%s: %s: %q, want %q", c.name, l.what, l.got, l.want)
			}
		}
	}
}

// TestUpdate: what is in the trace replaces; what is not goes, unless it is of
// another device or the trace is only looked at in part.
func TestUpdate(t *testing.T) {
	base := held(t, kernel("a", "1", launched("1, 1, 1", "32, 1, 1", 40, 0)), kernel("b", "1", launched("1, 1, 1", "32, 1, 1", 40, 0)))
	base.Entries = append(base.Entries, Entry{Name: "a", Device: "NVIDIA Z"})
	now := held(t, kernel("b", "1", launched("1, 1, 1", "32, 1, 1", 48, 0)), kernel("c", "1", launched("1, 1, 1", "32, 1, 1", 8, 0)))
	names := func(r *Ratchet) (out []string) {
		for _, e := range r.Entries {
			out = append(out, e.Name+"/"+e.Device)
		}
		return out
	}
	if got, want := names(base.Update(now, false)), []string{"a/NVIDIA Z", "b/NVIDIA H200", "c/NVIDIA H200"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	part := base.Update(now, true)
	if got, want := names(part), []string{"a/NVIDIA H200", "a/NVIDIA Z", "b/NVIDIA H200", "c/NVIDIA H200"}; !slices.Equal(got, want) {
		t.Errorf("in part: %q, want %q", got, want)
	}
	if *part.Entries[2].Registers != 48 {
		t.Errorf("not replaced: %+v", part.Entries[2])
	}
	if got := now.Compare(now.Update(now, false)); len(got.Worse)+len(got.Better)+len(got.New)+len(got.Gone) > 0 {
		t.Errorf("a ratchet is not equal to itself: %+v", got)
	}
}

func ratchetText(kernels string) string {
	return `{"schema": "` + RatchetSchema + `", "kernels": [` + kernels + `]}`
}

func TestReadRatchet(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"good", ratchetText(`{"name": "b", "registers": 1}, {"name": "a", "active_warps": 1, "max_warps": 64}`), ""},
		{"no kernels", ratchetText(""), ""},
		{"empty", "", "it is empty"},
		{"cut off", ratchetText("")[:30], "unexpected EOF"},
		{"another file", `{"traceEvents": []}`, "traceEvents"},
		{"a list", `[]`, "array"},
		{"another schema", `{"schema": "flagos-trace.occupancy.ratchet/2", "kernels": []}`, "ratchet/2"},
		{"text behind", ratchetText("") + "x", "more text"},
		{"unknown key", ratchetText(`{"name": "a", "register": 1}`), `kernel 1: byte`},
		{"null", ratchetText(`null`), "null is no kernel"},
		{"twice", ratchetText(`{"name": "a", "device": "d"}, {"name": "a", "device": "d"}`), `"a" stands twice for device "d"`},
		{"negative", ratchetText(`{"name": "a", "registers": -1}`), `"a": registers is -1`},
		{"huge", ratchetText(`{"name": "a", "registers": 99999999999999999999}`), "kernel 1"},
		{"beyond", ratchetText(`{"name": "a", "local_memory_per_thread": 2147483648}`), "local_memory_per_thread is 2147483648"},
		{"a fraction", ratchetText(`{"name": "a", "registers": 1.5}`), "kernel 1"},
		{"text for a number", ratchetText(`{"name": "a", "registers": "1"}`), "kernel 1"},
		{"half an occupancy", ratchetText(`{"name": "a", "active_warps": 1}`), "stand together"},
		{"no warps", ratchetText(`{"name": "a", "active_warps": 0, "max_warps": 0}`), "max_warps is 0"},
		{"above 100 %", ratchetText(`{"name": "a", "active_warps": 65, "max_warps": 64}`), "65 are more than max_warps 64"},
	} {
		r, err := ReadRatchet(strings.NewReader(c.in))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.Is(err, ErrRatchet) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case c.want == "" && !slices.IsSortedFunc(r.Entries, func(a, b Entry) int { return a.key(&b) }):
			t.Errorf("%s: not sorted: %+v", c.name, r.Entries)
		}
	}
}

// FuzzReadRatchet: what can be read can be written, reads the same again, and
// compares without a difference.
func FuzzReadRatchet(f *testing.F) {
	f.Add([]byte(ratchetText(`{"name": "b", "device": "d", "registers": 1, "local_memory_per_thread": 0}, {"name": "a", "active_warps": 1, "max_warps": 64}`)))
	f.Add([]byte(ratchetText(`{"name": "\ud800", "registers": null}`)))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := ReadRatchet(bytes.NewReader(in))
		if err != nil {
			if !errors.Is(err, ErrRatchet) {
				t.Fatal(err)
			}
			return
		}
		var first, second bytes.Buffer
		if err := r.Write(&first); err != nil {
			t.Fatal(err)
		}
		again, err := ReadRatchet(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatalf("%v\n%s", err, first.Bytes())
		}
		if err := again.Write(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("%v\n%s\n%s", err, first.Bytes(), second.Bytes())
		}
		if c := r.Compare(again); len(c.Worse)+len(c.Better)+len(c.New)+len(c.Gone) > 0 {
			t.Fatalf("%+v", c)
		}
	})
}
