package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/doctor"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

// TestDoctorAscend examines machines with look-alikes of Ascend's libraries: the device
// is tried, and recorded with the library preloaded.
func TestDoctorAscend(t *testing.T) {
	gpu := fakegpu.Get(t)
	for _, c := range []struct {
		name   string
		mspti  fakegpu.MSPTI
		env    string
		status int
		id     string // a finding, its status, and a part of its fix or of what was seen
		want   doctor.Status
		text   string
	}{
		{"well", fakegpu.MSPTINow, "", 0, "ascend.recording", doctor.OK, "1 of 1 fills, 2 of 2 copies"},
		{"old library", fakegpu.MSPTIOld, "", 0, "ascend.library", doctor.Warn, "CANN 8.3"},
		{"old library, recorded", fakegpu.MSPTIOld, "", 0, "ascend.recording", doctor.Warn, "newer CANN"},
		{"no library", fakegpu.NoMSPTI, "", 0, "library.others", doctor.Skip, "no profiling library"},
		{"other client", fakegpu.MSPTINow, "FAKEMSPTI_SUBSCRIBED=1", 1, "ascend.diagnosis", doctor.Fail, "end the other profiler"},
		{"offline", fakegpu.MSPTINow, "FAKEMSPTI_FAIL=msptiActivityEnable=4", 1, "ascend.diagnosis", doctor.Fail, "npu-smi info"},
		{"layout", fakegpu.MSPTINow, "FAKEMSPTI_LAYOUT=aligned", 1, "ascend.recording", doctor.Fail, "unchanged libmspti"},
		{"no device", fakegpu.MSPTINow, "FAKEACL_DEVICES=0", 1, "ascend.alone", doctor.Fail, "npu-smi info"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, path, _ := strings.Cut(gpu.AscendEnv(c.mspti)[0], "=")
			r, status := examine(t, path, []string{c.env, "PATH=/usr/bin:/bin"})
			if c.mspti == fakegpu.NoMSPTI {
				status = 0 // no GPU at all
			}
			if status != c.status {
				t.Errorf("status %d with verdict %s, want %d", status, r.Verdict, c.status)
			}
			found := false
			for _, f := range r.Findings {
				if f.ID == c.id {
					found = true
					text := f.Fix
					if text == "" {
						text = f.Seen
					}
					if f.Status != c.want || !strings.Contains(text, c.text) {
						t.Errorf("%+v, want %s with %q", f, c.want, c.text)
					}
				}
				if f.ID == "ascend.diagnosis" && c.name == "well" {
					t.Errorf("nothing was wrong: %+v", f)
				}
				if t.Failed() && f.Status != doctor.OK {
					t.Logf("%+v", f)
				}
			}
			if !found {
				t.Errorf("no finding %s among %+v", c.id, r.Findings)
			}
			if c.id == "ascend.recording" && len(r.Recordings) != 1 {
				t.Errorf("%d recordings", len(r.Recordings))
			}
		})
	}
	// The library's own variable, by which it finds CANN.
	t.Run("environment", func(t *testing.T) {
		r, _ := examine(t, filepath.Join(gpu.Dir, "ascend"), []string{"ASCEND_HOME_PATH=" + t.TempDir(), "FLAGOS_TRACER_LIBRARY=" + gpu.MSPTILibrary(fakegpu.MSPTINow), "PATH=/usr/bin:/bin"})
		for _, f := range r.Findings {
			if f.ID == "ascend.library" && !strings.Contains(f.Seen, "(FLAGOS_TRACER_LIBRARY)") || f.ID == "ascend.recording" && f.Status != doctor.OK {
				t.Errorf("%+v", f)
			}
		}
	})
}
