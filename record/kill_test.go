package record

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestKillAfter: a program that ignores a request to end is killed when its time
// is up, which the trace and the summary say; without the option it is not.
func TestKillAfter(t *testing.T) {
	const stubborn = `trap "" TERM INT; echo ready; i=0; while [ $i -lt 40 ]; do sleep 0.05; i=$((i+1)); done; exit 6`
	for _, c := range []struct {
		name  string
		after time.Duration
		sig   unix.Signal
		want  int
	}{
		{"SIGTERM", 200 * time.Millisecond, unix.SIGTERM, 128 + 9},
		{"SIGINT", 200 * time.Millisecond, unix.SIGINT, 128 + 9},
		{"another signal", 200 * time.Millisecond, unix.SIGUSR1, 128 + 10},
		{"off", 0, unix.SIGTERM, 6},
		{"ended before", time.Minute, unix.SIGTERM, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "summary.json")
			cmd := recorder(t, dir, map[string]any{"KillAfter": c.after, "SummaryFile": file}, "sh", "-c", stubborn)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			l := readLines(t, out)
			l.want("ready")
			if err := cmd.Process.Signal(c.sig); err != nil {
				t.Fatal(err)
			}
			for range l.c { // until all that has the pipe has ended
			}
			if got := status(t, cmd.Wait()); got != c.want {
				t.Errorf("status %d, want %d\n%s", got, c.want, said.String())
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var s Summary
			if err := json.Unmarshal(data, &s); err != nil {
				t.Fatal(err)
			}
			killed := c.want == 128+9
			if (s.Killed != "") != killed || strings.Contains(said.String(), "--kill-after") != killed || killed && !strings.Contains(s.Killed, c.name) {
				t.Errorf("killed: %q; said:\n%s", s.Killed, said.String())
			}
		})
	}
}
