package agent

import (
	"errors"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

func TestJumped(t *testing.T) {
	const second, uptime = int64(time.Second), -1_700_000_000 * int64(time.Second)
	for _, c := range []struct {
		name                   string
		before, after, elapsed int64
		want                   bool
	}{
		{"none", 0, 1000, second, false},
		{"a slow reading", 0, -5 * second, second, false},
		{"replaced", 0, uptime, second, true},
		{"put back", uptime, 0, second, true},
		{"a counter of 2.1 GHz", uptime, uptime + 11*second/10, second, false},
		{"the same after ten minutes", uptime, uptime + 660*second, 600 * second, false},
		{"another counter", uptime, uptime / 2, second, true},
		{"the wall clock was set back", uptime, uptime + 30*second, -30 * second, false},
	} {
		if got := jumped(c.before, c.after, c.elapsed); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// losing is a binding of a library that lets the recorder down.
type losing struct {
	*fakeBinding
	clocks []uint64 // what the clock shows, the last one for ever
	device error    // beside the list of devices
	refuse error    // of a forced flush
}

func (b *losing) Now() (uint64, bool) {
	now := b.clocks[0]
	if len(b.clocks) > 1 {
		b.clocks = b.clocks[1:]
	}
	return now, true
}

func (b *losing) Devices() ([]tracer.Device, error) { return []tracer.Device{{Name: "d"}}, b.device }

func (b *losing) Flush(force bool) error {
	if force && b.refuse != nil {
		return b.refuse
	}
	return b.fakeBinding.Flush(force)
}

// What the agent knows to be missing stands in the spool as a loss, once, with a
// code.
func TestLosses(t *testing.T) {
	now := uint64(time.Now().UnixNano())
	for _, c := range []struct {
		name    string
		binding *losing
		code    string
		flushed bool
	}{
		{"nothing", &losing{clocks: []uint64{now}}, "", true},
		{"clock replaced", &losing{clocks: []uint64{now, 42}}, spool.LossClock, true},
		{"device", &losing{clocks: []uint64{now}, device: errors.New("too new a device")}, spool.LossDevice, true},
		{"flush refused", &losing{clocks: []uint64{now}, refuse: errors.New("no")}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, s := t.TempDir(), newFakeShim()
			s.counts.Requested = 1
			c.binding.fakeBinding = &fakeBinding{shim: s}
			open := func(func(string) string) (tracer.Binding, error) { return c.binding, nil }
			a := New(s, env(map[string]string{EnvDir: dir, EnvExitTimeout: "5000"}), "test", []Candidate{{Name: "fake", Open: open}})
			a.Inject()
			if a.Flush() != OK {
				t.Fatal("Flush failed")
			}
			time.Sleep(3 * flushEvery) // the clock is read a first time
			s.exit()
			losses, end := readLosses(t, dir)
			if len(losses) > 1 || len(losses) == 1 && losses[0].Code != c.code || len(losses) == 0 && c.code != "" {
				t.Errorf("losses %+v, want %q", losses, c.code)
			}
			if end.Flushed != c.flushed {
				t.Errorf("end %+v", end)
			}
		})
	}
}

func readLosses(t *testing.T, dir string) (losses []spool.Loss, end spool.End) {
	t.Helper()
	files, _ := filepath.Glob(dir + "/*.spool")
	if len(files) != 1 {
		t.Fatalf("spools: %v", files)
	}
	r, err := spool.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	texts := map[string]bool{}
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			switch f.Type {
			case spool.TypeLoss:
				var l spool.Loss
				if l, err = f.Loss(); err == nil {
					losses = append(losses, l)
				}
			case spool.TypeDiagnosis:
				texts[string(f.Payload)] = true
			case spool.TypeEnd:
				end, err = f.End()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range losses {
		if !texts[l.Text] {
			t.Errorf("readers that know no losses are not told %q", l.Text)
		}
	}
	return losses, end
}
