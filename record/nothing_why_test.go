package record

import (
	"strings"
	"testing"
)

func TestWhyEmpty(t *testing.T) {
	for _, c := range []struct {
		what     string
		o        Options
		says, no string
	}{
		{"CUDA named", Options{Vendor: "cuda"}, envInject, "--vendor|" + envPreload},
		{"MUSA named", Options{Vendor: "musa"}, "first call of its runtime for a device of musa|" + envPreload + "|driver's functions only", envInject + "|--vendor"},
		{"FlagOS'", Options{Env: []string{"FLAGOS_ACCELERATOR=npu"}}, "a device of ascend|which --vendor names", envInject},
		{"nothing known", Options{Vendor: "auto", Env: []string{"FLAGOS_ACCELERATOR=enflame"}}, "no process had initialised a device driver|which --vendor names", "a device of none"},
	} {
		why := whyEmpty(&c.o)
		for _, w := range strings.Split(c.says, "|") {
			if !strings.Contains(why, w) {
				t.Errorf("%s: no %q in %s", c.what, w, why)
			}
		}
		for _, w := range strings.Split(c.no, "|") {
			if strings.Contains(why, w) {
				t.Errorf("%s: %q in %s", c.what, w, why)
			}
		}
	}
}

func TestUntracedAccelerator(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Env: []string{"FLAGOS_ACCELERATOR=Enflame"}}, "FLAGOS_ACCELERATOR is Enflame: Enflame: its library TOPSPTI has no public header"},
		{Options{Vendor: "auto", Env: []string{"FLAGOS_ACCELERATOR=mlu"}}, "Cambricon"},
		{Options{Vendor: "cuda", Env: []string{"FLAGOS_ACCELERATOR=enflame"}}, ""},
		{Options{Env: []string{"FLAGOS_ACCELERATOR=abacus"}}, ""},
		{Options{Env: []string{"FLAGOS_ACCELERATOR=cuda"}}, ""},
		{Options{}, ""},
	} {
		if got := untracedVendor(&c.o); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
}
