package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestHostOptions(t *testing.T) {
	for _, c := range []struct {
		name string
		h    HostOptions
		l    Limits
		bad  string // what the error says; "" for none
	}{
		{name: "plain"},
		{name: "all", h: HostOptions{Shapes: true, Stack: true, Memory: true, Modules: true, Slice: time.Second, Steps: "0:1", StepMark: "a.b:C.d"}},
		{name: "off", h: HostOptions{Off: true}, l: Limits{Paused: true}},
		{name: "off and more", h: HostOptions{Off: true, Modules: true}, bad: "not recorded at all"},
		{name: "off and steps", h: HostOptions{Off: true, Steps: "1:2"}, bad: "not recorded at all"},
		{name: "short slice", h: HostOptions{Slice: time.Millisecond}, bad: "1ms"},
		{name: "long slice", h: HostOptions{Slice: 2 * time.Hour}, bad: "2h"},
		{name: "mark alone", h: HostOptions{StepMark: "a:b"}, bad: "no steps"},
		{name: "mark of nothing", h: HostOptions{Steps: "1:2", StepMark: "train.step"}, bad: "MODULE:FUNCTION"},
		{name: "mark without a module", h: HostOptions{Steps: "1:2", StepMark: ":step"}, bad: "MODULE:FUNCTION"},
		{name: "one step", h: HostOptions{Steps: "10"}, bad: "10:13"},
		{name: "no steps", h: HostOptions{Steps: "3:3"}, bad: "3:3"},
		{name: "before the first", h: HostOptions{Steps: "-1:3"}, bad: "-1:3"},
		{name: "no numbers", h: HostOptions{Steps: "a:b"}, bad: "a:b"},
		{name: "steps and a delay", h: HostOptions{Steps: "1:2"}, l: Limits{Delay: time.Second}, bad: "choose one"},
		{name: "steps and a duration", h: HostOptions{Steps: "1:2"}, l: Limits{Duration: time.Second}, bad: "choose one"},
		{name: "steps and paused", h: HostOptions{Steps: "1:2"}, l: Limits{Paused: true}, bad: "choose one"},
		{name: "steps and a size", h: HostOptions{Steps: "1:2"}, l: Limits{MaxSize: 1 << 30}},
	} {
		err := c.h.Check(&c.l)
		if (err == nil) != (c.bad == "") || err != nil && (!errors.Is(err, ErrHost) || !strings.Contains(err.Error(), c.bad)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.bad)
		}
	}
}

func TestHostEnv(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		h    HostOptions
		want map[string]string // "-" is one that is not set
	}{
		{"plain", []string{"PATH=/bin"}, HostOptions{}, map[string]string{
			envHost: "", envLibrary: "/lib/agent.so", envPython: "/spool/python", envHostSlice: "5000", envSteps: "-", envStepMark: "-", envPaused: "-"}},
		{"all", []string{"PYTHONPATH=/a:/b", envSteps + "=7:8"}, HostOptions{Shapes: true, Stack: true, Memory: true, Modules: true, Threads: true, Slice: 1500 * time.Millisecond},
			map[string]string{envHost: "shapes,stack,memory,modules,threads", envPython: "/spool/python:/a:/b", envHostSlice: "1500", envSteps: "-"}},
		{"an empty path", []string{"PYTHONPATH="}, HostOptions{Modules: true}, map[string]string{envHost: "modules", envPython: "/spool/python"}},
		{"steps", nil, HostOptions{Steps: "10:13", StepMark: "train:step"}, map[string]string{envSteps: "10:13", envStepMark: "train:step", envPaused: "1"}},
		{"off", []string{"PYTHONPATH=/a", envHost + "=shapes", envLibrary + "=/x"}, HostOptions{Off: true},
			map[string]string{envHost: "-", envLibrary: "-", envPython: "/a", envHostSlice: "-"}},
	} {
		o := Options{Host: c.h}
		env, err := childEnv(c.env, "/lib/agent.so", "/spool", &o)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		got := map[string][]string{}
		for _, kv := range env {
			k, v, _ := strings.Cut(kv, "=")
			got[k] = append(got[k], v)
		}
		for k, want := range c.want {
			if len(got[k]) > 1 || want == "-" && len(got[k]) > 0 || want != "-" && (len(got[k]) == 0 || got[k][0] != want) {
				t.Errorf("%s: %s is %q, want %q", c.name, k, got[k], want)
			}
		}
	}
}

// The bootstrap is there while the program runs, private, and nothing of it is
// left behind.
func TestRunWritesTheBootstrap(t *testing.T) {
	dir := t.TempDir()
	cmd := recorder(t, dir, nil, "sh", "-c", `d=${PYTHONPATH%%:*}; stat -c '%a %n' "$d" "$d"/*; ls "$FLAGOS_TRACE_DIR"; echo "${FLAGOS_TRACE_HOST-unset}"`)
	cmd.Env = append(cmd.Env, "PYTHONPATH=/nowhere")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	spools := ""
	if at := strings.Index(string(out), ".flagos-trace-"); at >= 0 {
		spools, _, _ = strings.Cut(string(out[at:]), "/")
	}
	full := filepath.Join(dir, spools, pythonDir)
	want := fmt.Sprintf("700 %s\n600 %s/sitecustomize.py\npython\n", full, full)
	got := strings.ReplaceAll(string(out), noteName+"\n", "") // it comes once the program runs
	if spools == "" || got != want+"\n" {
		t.Errorf("the program saw %q, want %q", got, want+"\n")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "trace.json.gz" {
		t.Errorf("left %v, %v", left, err)
	}
	// Without it nothing of the kind.
	out, err = recorder(t, dir, map[string]any{"Host": HostOptions{Off: true}}, "sh", "-c", `ls "$FLAGOS_TRACE_DIR"; echo "${FLAGOS_TRACE_HOST-unset} ${PYTHONPATH-unset}"`).Output()
	if got := strings.ReplaceAll(string(out), noteName+"\n", ""); err != nil || got != "unset unset\n" {
		t.Errorf("without operators the program saw %q, %v", got, err)
	}
}

// Slices leave a ring by age or by size, each process for itself, and those that
// come after the largest size are not kept. What is no slice stays as it is.
func TestLimitHost(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name  string
		l     Limits
		empty string
	}{
		{"no limit", Limits{}, ""},
		{"by age", Limits{RingTime: 10 * time.Second}, "1.1.host-1 1.1.host-2 2.1.host-1"},
		{"by size", Limits{RingBytes: 250}, "1.1.host-1 1.1.host-2"},
		{"largest size", Limits{MaxSize: 250}, "1.1.host-10 1.1.host-3"},
	} {
		dir := t.TempDir()
		put := func(name string, age time.Duration) {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
		for i, n := range []int{1, 2, 3, 10} {
			put(fmt.Sprintf("1.1.host-%d.json", n), time.Duration(40-10*i)*time.Second/2)
		}
		put("2.1.host-1.json", time.Minute)
		put("1.1.host-11.json.part", time.Minute)
		put("1.1.host.jsonl", time.Minute)
		put("1.1.spool", time.Minute)
		put("outside", time.Minute)
		if err := os.Symlink(filepath.Join(dir, "outside"), filepath.Join(dir, "3.1.host-1.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(dir, "outside"), filepath.Join(dir, "3.1.host-2.json")); err != nil {
			t.Fatal(err)
		}
		limitHost(dir, &c.l, now)
		limitHost(dir, &c.l, now)
		var got []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if st, err := e.Info(); err == nil && st.Mode().IsRegular() && st.Size() == 0 {
				got = append(got, strings.TrimSuffix(e.Name(), sliceExt))
			}
		}
		if strings.Join(got, " ") != c.empty {
			t.Errorf("%s: %q are empty, want %q", c.name, got, c.empty)
		}
	}
}
