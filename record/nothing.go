package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// idle reports whether a process asked for the device and then left it alone:
// there is nothing to see and nothing was lost.
func idle(t *timeline.Trace) bool {
	c := t.Completeness
	operators := c.Operators != nil && c.Operators.LostSlices > 0 // recorded once the device is used
	return t.Events.Len() == 0 && len(c.Diagnoses) == 0 && !c.Lost() && !operators
}

// writeEmpty writes the trace of a program that left no spool.
func (f *finisher) writeEmpty() error {
	f.used, f.sizes = map[string]bool{f.options.Output: true}, map[string]int64{}
	t := f.noEvents(f.ended.pid, "none", whyEmpty(f.options))
	if why := untracedVendor(f.options); why != "" {
		t.Completeness.Diagnoses = append(t.Completeness.Diagnoses, why)
	}
	t.Process.Name = filepath.Base(f.options.Command[0])
	rec := t.Completeness
	rec.Signal = f.ended.signal
	if f.ended.signal == "" {
		rec.ExitCode = &f.ended.code
	}
	rec.Judge()
	return f.write(t, f.options.Output, spoolFile{pid: f.ended.pid})
}

// whyEmpty says what may be the reason that a program left no spool.
func whyEmpty(o *Options) string {
	list, named, _ := vendorsFor(o.Vendor, o.Env, pathExists) // was good before the program ran
	injects, preloads := len(list) == 0, false
	for _, v := range list {
		injects, preloads = injects || v.Injects, preloads || !v.Injects
	}
	var loads, lost []string
	if injects {
		loads, lost = append(loads, "initialised a device driver that loads the agent"), append(lost, envInject)
	}
	if preloads {
		loads, lost = append(loads, "made the first call of its runtime for a device of "+tracersOf(list)), append(lost, envPreload)
	}
	why := "no process had " + strings.Join(loads, " or ") + " when the command ended, so nothing was recorded. " +
		"A program that does use a device may have lost " + strings.Join(lost, " or ") + " from its environment (sudo, env -i, a container)"
	if preloads {
		why += ", may use the driver's functions only, be linked statically or be setuid, which all leave the preloaded part out"
	}
	if why += ", or may have been unable to write to the spool folder (another user than the recorder, a limit on file sizes, no descriptor left)"; !named {
		why += "; or its devices are of a vendor that was not found out, which --vendor names"
	}
	return why
}

// noEvents returns the trace of a process of which nothing is known but why.
func (f *finisher) noEvents(pid int, tracer, why string) *timeline.Trace {
	host, _ := os.Hostname() // absent if unknown
	t := &timeline.Trace{
		Process: timeline.Process{PID: pid, Host: host},
		Completeness: &timeline.Completeness{
			Tool:      version.Full(),
			Tracer:    tracer,
			Received:  map[string]uint64{},
			Written:   map[string]uint64{},
			Diagnoses: []string{why},
		},
	}
	if !f.ended.start.IsZero() {
		t.Window = timeline.Window{Start: f.ended.start.UnixNano(), End: f.ended.end.UnixNano()}
	}
	return t
}

// unreadable returns what there is to say of a spool that nothing could be read
// of: it is empty since its process died before it wrote the header, or damaged.
// Other errors are not the spool's, and give nil.
func (f *finisher) unreadable(s spoolFile, c CollectOptions, err error) *timeline.Trace {
	if !errors.Is(err, ErrNoHeader) && !errors.Is(err, spool.ErrNotSpool) {
		return nil
	}
	st, statErr := os.Stat(s.path)
	if statErr != nil {
		return nil
	}
	why := fmt.Sprintf("process %d ended before it had recorded anything: its spool is empty", s.pid)
	counts := &timeline.SpoolCounts{Bytes: st.Size()}
	if torn, unborn := unborn(s.path); unborn {
		counts.TornBytes = torn
	} else {
		counts.LostBytes = uint64(st.Size())
	}
	if counts.TornBytes > 0 || counts.LostBytes > 0 {
		why = fmt.Sprintf("process %d left no readable spool: %v", s.pid, err)
	}
	f.unread = f.unread || counts.TornBytes > 0 || counts.LostBytes > 0
	t := f.noEvents(s.pid, "unknown", why)
	rec := t.Completeness
	rec.Spool, rec.Ended, rec.ExitCode, rec.Signal = counts, timeline.EndCut, c.ExitCode, c.Signal
	rec.Judge()
	return t
}

// unborn reports whether a spool ends before its first frame does, and how many
// bytes of that frame there are.
func unborn(path string) (torn int64, yes bool) {
	r, err := spool.Open(path)
	if err != nil {
		return 0, false
	}
	defer r.Close()
	if _, err := r.Next(); err != io.EOF {
		return 0, false
	}
	torn, _ = r.Torn()
	return torn, r.Damage().Frames == 0
}
