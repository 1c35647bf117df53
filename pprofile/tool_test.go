package pprofile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// pprof runs go tool pprof on profiles and returns what it prints.
func pprof(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	cmd := exec.Command("go", append([]string{"tool", "pprof"}, args...)...)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pprof %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

func write(t *testing.T, p *profile.Profile) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gpu.pb.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestToolRaw has pprof print a profile, and adds up what it printed.
func TestToolRaw(t *testing.T) {
	const trace = "../testdata/pairs/train.kineto.json.gz"
	b := New()
	b.Add(read(t, trace).Trace, "")
	path := write(t, build(t, b))
	var sum int64
	samples := 0
	lines := strings.Split(pprof(t, "-raw", path), "\n")
	for i := 0; i < len(lines) && lines[i] != "Locations"; i++ {
		values, _, ok := strings.Cut(lines[i], ":")
		if !ok {
			continue
		}
		var v [numValues]int64
		if n, _ := fmt.Sscan(values, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]); n == numValues {
			sum += v[deviceTime]
			samples++
		}
	}
	ns, _ := deviceWork(t, trace)
	if sum != ns || samples != len(b.order) {
		t.Errorf("pprof -raw prints %d samples of %d ns; there are %d of %d ns", samples, sum, len(b.order), ns)
	}
}

// TestToolDiff plants a difference into one of two runs and asks pprof for it.
func TestToolDiff(t *testing.T) {
	const trace = "../testdata/pairs/train.kineto.json.gz"
	base := New()
	base.Add(read(t, trace).Trace, "")
	slow := read(t, trace).Trace
	planted, longer := "", int64(0)
	for i := range uint32(slow.Events.Len()) {
		e := slow.Events.At(i)
		if e.Kind != timeline.Kernel {
			continue
		}
		name := slow.Strings.At(e.Name)
		if planted == "" {
			planted = name
		}
		if name == planted {
			e.End += 100_000
			longer += 100_000
		} else {
			e.End += int64(i % 3) // the noise of another run
		}
	}
	changed := New()
	changed.Add(slow, "")
	out := pprof(t, "-top", "-unit=ns", "-diff_base="+write(t, build(t, base)), write(t, build(t, changed)))
	_, table, ok := strings.Cut(out, "cum%\n")
	if !ok {
		t.Fatalf("pprof printed\n%s", out)
	}
	row, _, _ := strings.Cut(table, "\n")
	var flat string
	fmt.Sscan(row, &flat)
	if want := fmt.Sprintf("%dns", longer); flat != want || !strings.HasSuffix(row, planted) {
		t.Errorf("the first row is\n%s\nit should be %s of %s", row, want, planted)
	}
}

// TestToolTags has pprof select by a label.
func TestToolTags(t *testing.T) {
	b := New()
	b.Add(read(t, "testdata/steps.json").Trace, "")
	path := write(t, build(t, b))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-top", "-tagfocus=step=5"}, "8.50us 44.74% 44.74%     8.50us 44.74%  add(float*, int)"},
		{[]string{"-top", "-tagfocus=step=4:5"}, "16us 84.21% 84.21%       16us 84.21%  add(float*, int)"},
		{[]string{"-top", "-tagfocus=shape=3,4"}, "16us 84.21% 84.21%       16us 84.21%  add(float*, int)"},
		{[]string{"-top", "-tagfocus=unlinked=no_api_call"}, "1us  5.26%  5.26%        1us  5.26%  lost"},
		{[]string{"-top", "-sample_index=launch_delay"}, "add(float*, int)"},
		{[]string{"-top", "-sample_index=bytes"}, "Memcpy HtoD"},
		{[]string{"-top", "-sample_index=cpu_time"}, "train/loop.py:step"},
		{[]string{"-tags"}, "rank: Total 19us of 19us"},
		{[]string{"-peek=aten::linear"}, "linear of type object>"},
		{[]string{"-lines", "-top", "-sample_index=cpu_time"}, "train/loop.py:step train/loop.py:12"},
	} {
		if out := pprof(t, append(c.args, path)...); !strings.Contains(out, c.want) {
			t.Errorf("pprof %v does not print %q:\n%s", c.args, c.want, out)
		}
	}
}
