package record

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/timeline"
)

const (
	// lookAgain is how often the spool folder is looked at for new processes where the
	// system does not tell of them. An end is seen at once.
	lookAgain = 200 * time.Millisecond
	// maxWatched bounds the descriptors that the watch takes.
	maxWatched = 4096
)

// processEnd is how a process that the command started ended.
type processEnd struct {
	ns     int64  // CLOCK_REALTIME
	signal string // "" if it is not known, or there was none
	code   int    // the exit status if it is known and not 0
}

// watchEnds watches the processes that have a spool in dir until stop is called,
// which returns how those ended that have ended, by "<pid>.<start>". Only the
// command itself is the recorder's child, whose end it can wait for; a rank of a
// distributed program is not. Where the system has no pidfd nothing is seen.
func watchEnds(dir string) (stop func() map[string]processEnd) {
	var quit [2]int // a pipe that wakes the watch
	if unix.Pipe2(quit[:], unix.O_CLOEXEC) != nil {
		return func() map[string]processEnd { return nil }
	}
	w := endWatch{dir: dir, known: map[string]bool{}, ends: map[string]processEnd{}}
	w.fds = []unix.PollFd{{Fd: int32(quit[0]), Events: unix.POLLIN}, {Fd: newFiles(dir), Events: unix.POLLIN}}
	w.names = make([]string, firstProcessFD)
	var done sync.WaitGroup
	done.Go(func() {
		for !w.quit {
			w.look()
			w.wait(lookAgain)
		}
		w.wait(0) // what ended with the command
		w.close()
	})
	return func() map[string]processEnd {
		_ = unix.Close(quit[1])
		done.Wait()
		return w.ends
	}
}

// newFiles returns a descriptor that can be read once there are new files in dir; -1,
// which a poll passes over, where the system has no more of them.
func newFiles(dir string) int32 {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return -1
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		_ = unix.Close(fd)
		return -1
	}
	return int32(fd)
}

// firstProcessFD is the first of endWatch's descriptors that is a process's.
const firstProcessFD = 2

type endWatch struct {
	dir   string
	known map[string]bool
	fds   []unix.PollFd // the first tells the watch to end, the second that there are new files
	names []string      // of fds
	ends  map[string]processEnd
	quit  bool
}

// look begins to watch the processes whose spools are new.
func (w *endWatch) look() {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), spoolExt)
		if !ok || len(w.fds) >= maxWatched {
			continue
		}
		name, _ := processOf(stem)
		if w.known[name] {
			continue
		}
		w.known[name] = true
		p, s, _ := strings.Cut(name, ".")
		pid, err := strconv.Atoi(p)
		start, err2 := strconv.ParseUint(s, 10, 64)
		if err != nil || err2 != nil || pid <= 0 {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		// Only now it is certain that the number stays this process's.
		if f, ok := statFields(pid); !ok || string(f[19]) != strconv.FormatUint(start, 10) {
			_ = unix.Close(fd)
			continue
		}
		w.fds, w.names = append(w.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}), append(w.names, name)
	}
}

// wait takes note of ends for so long, or until there was one.
func (w *endWatch) wait(d time.Duration) {
	if n, err := unix.Poll(w.fds, int(d.Milliseconds())); err != nil || n == 0 {
		return
	}
	now := time.Now().UnixNano()
	w.quit = w.quit || w.fds[0].Revents != 0
	if w.fds[1].Revents != 0 {
		for n := 1; n > 0; {
			n, _ = unix.Read(int(w.fds[1].Fd), make([]byte, 4096)) // what it says the folder says, too
		}
	}
	for i := firstProcessFD; i < len(w.fds); i++ {
		if w.fds[i].Revents == 0 {
			continue
		}
		end := processEnd{ns: now}
		end.signal, end.code = exitOf(w.names[i])
		w.ends[w.names[i]] = end
		_ = unix.Close(int(w.fds[i].Fd))
		w.fds = append(w.fds[:i], w.fds[i+1:]...)
		w.names = append(w.names[:i], w.names[i+1:]...)
		i--
	}
}

func (w *endWatch) close() {
	for _, f := range w.fds {
		if f.Fd >= 0 {
			_ = unix.Close(int(f.Fd))
		}
	}
}

// exitOf returns how a process ended for which nobody has waited yet: field 52 of
// /proc/<pid>/stat is what wait would say. It is 0 for whoever may not know it, so 0
// tells nothing.
func exitOf(name string) (sig string, code int) {
	p, start, _ := strings.Cut(name, ".")
	pid, _ := strconv.Atoi(p)
	f, ok := statFields(pid)
	if !ok || len(f) < 50 || string(f[19]) != start {
		return "", 0
	}
	n, err := strconv.ParseUint(string(f[49]), 10, 32)
	if err != nil {
		return "", 0
	}
	ws := unix.WaitStatus(n)
	switch {
	case ws.Signaled():
		return cmp.Or(unix.SignalName(ws.Signal()), ws.Signal().String()), 0
	case ws.Exited():
		return "", ws.ExitStatus()
	}
	return "", 0
}

// endOf returns the end of the process of a spool, and whether it was seen. What a
// process that replaced itself left before did not end with it.
func (f *finisher) endOf(s spoolFile) (processEnd, bool) {
	name, _ := processOf(strings.TrimSuffix(filepath.Base(s.path), spoolExt))
	end, ok := f.ends[name]
	if !ok || len(findHostFiles(s.path).after) > 0 {
		return processEnd{}, false
	}
	return end, true
}

// death says how and when a process died whose trace does not say that it ended in
// an orderly way; "" for others.
func death(s spoolFile, rec *timeline.Completeness, end processEnd, seen bool) string {
	const form = "15:04:05.000 UTC"
	at := func(ns int64) string { return time.Unix(0, ns).UTC().Format(form) }
	switch {
	case rec == nil || rec.Ended == timeline.EndRunning || rec.Ended == "" || s.alive():
		return ""
	case seen && rec.Signal != "":
		return fmt.Sprintf("killed by %s at %s", rec.Signal, at(end.ns))
	case rec.Ended != timeline.EndCut:
		return ""
	case seen:
		return "ended at " + at(end.ns)
	}
	st, err := os.Stat(s.path)
	if err != nil {
		return ""
	}
	return "last wrote data at " + at(st.ModTime().UnixNano())
}
