package agent

import (
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
)

func TestChoose(t *testing.T) {
	candidate := func(name string, p tracer.Presence) Candidate {
		return Candidate{Name: name, Detect: func(func(string) string) tracer.Presence { return p }}
	}
	for _, c := range []struct {
		what   string
		env    map[string]string
		a, b   tracer.Presence
		want   string
		noted  string
		silent bool // the candidates say nothing of what there is
	}{
		{"loaded before on the machine", nil, tracer.OnMachine, tracer.InProcess, "ascend", "", false},
		{"both loaded", nil, tracer.InProcess, tracer.InProcess, "cupti ascend", "", false},
		{"on the machine", nil, tracer.Absent, tracer.OnMachine, "ascend", "", false},
		{"nothing", nil, tracer.Absent, tracer.Absent, "cupti", "", false},
		{"nobody can tell", nil, tracer.Absent, tracer.Absent, "cupti ascend", "", true},
		{"named", map[string]string{EnvVendor: "cuda"}, tracer.Absent, tracer.InProcess, "cupti", "", false},
		{"named otherwise", map[string]string{EnvAccelerator: "NPU"}, tracer.InProcess, tracer.Absent, "ascend", "", false},
		{"the recorder's word first", map[string]string{EnvVendor: "cuda", EnvAccelerator: "npu"}, tracer.Absent, tracer.InProcess, "cupti", "", false},
		{"auto", map[string]string{EnvVendor: "auto"}, tracer.Absent, tracer.InProcess, "ascend", "", false},
		{"unknown", map[string]string{EnvAccelerator: "abacus"}, tracer.InProcess, tracer.Absent, "cupti", EnvAccelerator + "=abacus: this agent has no tracer of that name (it has: cupti, ascend)", false},
	} {
		list := []Candidate{candidate("cupti", c.a), candidate("ascend", c.b)}
		if c.silent {
			list[0].Detect, list[1].Detect = nil, nil
		}
		chosen, note := choose(list, func(v string) string { return c.env[v] })
		var got []string
		for _, x := range chosen {
			got = append(got, x.Name)
		}
		if strings.Join(got, " ") != c.want || !strings.HasPrefix(note, c.noted) || (note == "") != (c.noted == "") {
			t.Errorf("%s: %q %q, want %q %q", c.what, got, note, c.want, c.noted)
		}
	}
}
