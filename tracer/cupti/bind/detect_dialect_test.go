package bind_test

import (
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
	cupti "github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	musa "github.com/flagos-ai/flagos-trace/tracer/musa/bind"
	ppu "github.com/flagos-ai/flagos-trace/tracer/ppu/bind"
)

// A variable that names the library of one vendor names that vendor: another's, which
// is tried before it, must not take the library.
func TestDetectNamed(t *testing.T) {
	for _, c := range []struct {
		name   string
		env    string
		detect func(func(string) string) tracer.Presence
		want   tracer.Presence
	}{
		{"cupti", "FLAGOS_CUPTI_LIBRARY", cupti.Detect, tracer.InProcess},
		{"musa", "FLAGOS_MUPTI_LIBRARY", musa.Detect, tracer.InProcess},
		{"ppu, of another", "FLAGOS_CUPTI_LIBRARY", ppu.Detect, tracer.Absent},
	} {
		got := c.detect(func(k string) string {
			switch k {
			case c.env:
				return "/x/library.so"
			case "PPU_SDK", "MUSA_HOME":
				return "/nowhere"
			}
			return ""
		})
		if got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// How near a vendor's devices are: by the library named, by where the libraries of the
// process lie, by the folder of the vendor's software.
func TestDetectDialect(t *testing.T) {
	maps, err := dl.Maps()
	if err != nil || len(maps) == 0 {
		t.Skip("no process map")
	}
	empty := t.TempDir()
	for _, c := range []struct {
		name string
		env  map[string]string
		want tracer.Presence
	}{
		{"nothing", map[string]string{"PPU_SDK": filepath.Join(empty, "none")}, tracer.Absent},
		{"software", map[string]string{"PPU_SDK": empty}, tracer.OnMachine},
		{"libraries of the process", map[string]string{"PPU_SDK": filepath.Dir(maps[len(maps)-1].Path)}, tracer.InProcess},
		{"named", map[string]string{"FLAGOS_TRACER_LIBRARY": "/x/libhgpti.so"}, tracer.InProcess},
	} {
		if got := ppu.Detect(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
