package ctl

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/spool"
)

// Errors of Find and Ask, to be told apart with errors.Is.
var (
	// ErrEnded: there is no such process, or no more.
	ErrEnded = errors.New("the process has ended")
	// ErrOtherUser: only the user of a process, and root, may control it.
	ErrOtherUser = errors.New("the process is another user's")
	// ErrNotTraced: neither the process nor one below it is being recorded.
	ErrNotTraced = errors.New("the process is not traced")
	// ErrTimeout: the agent did not answer in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrProtocol: what answered is no agent of a version known here.
	ErrProtocol = errors.New("the answer cannot be read")
)

// envDir names the spool folder in a traced process's environment.
const envDir = "FLAGOS_TRACE_DIR"

// Target is a traced process that can be controlled.
type Target struct {
	PID     int
	Process string // the kernel's name for it, "" if it cannot be read
	Dir     string // the spool folder
	start   string
	uid     uint32
}

// socket is the path of the process's socket.
func (t Target) socket() string { return filepath.Join(t.Dir, spool.SocketName(t.PID, t.start)) }

// process is what /proc tells of one.
type process struct {
	pid, ppid int
	start     string
	uid       uint32
	dead      bool // a zombie
}

// Find returns the traced processes that pid stands for: itself, or those below
// it and those that record into the same folder. They are in order of their ids.
func Find(pid int) ([]Target, error) {
	root, err := readProcess(pid)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || err == nil && root.dead {
		return nil, fmt.Errorf("process %d: %w", pid, ErrEnded)
	}
	if err != nil {
		return nil, err
	}
	if me := os.Geteuid(); me != 0 && int(root.uid) != me {
		return nil, fmt.Errorf("process %d: %w (user id %d)", pid, ErrOtherUser, root.uid)
	}
	own := spoolDir(pid)
	if t, ok := target(root, own); ok {
		return []Target{t}, nil
	}
	family, err := descendants(pid)
	if err != nil {
		return nil, err
	}
	dirs := map[string]bool{}
	for _, p := range append(family, root) {
		if dir := spoolDir(p.pid); dir != "" {
			dirs[dir] = true
		}
	}
	var found []Target
	for dir := range dirs {
		// Processes that left the family record there, too.
		sockets, _ := filepath.Glob(filepath.Join(escape(dir), "*"+spool.SocketExt))
		for _, s := range sockets {
			number, _, _ := strings.Cut(filepath.Base(s), ".")
			id, err := strconv.Atoi(number)
			if err != nil {
				continue
			}
			// Below a traced process only what is below it is meant.
			if own != "" && !slices.ContainsFunc(family, func(p process) bool { return p.pid == id }) {
				continue
			}
			p, err := readProcess(id)
			if err != nil || p.dead {
				continue
			}
			if t, ok := target(p, dir); ok {
				found = append(found, t)
			}
		}
	}
	slices.SortFunc(found, func(a, b Target) int { return a.PID - b.PID })
	if len(found) > 0 {
		return found, nil
	}
	if len(dirs) > 0 {
		return nil, fmt.Errorf("process %d: %w yet: it was started by flagos-trace record, and neither it nor a process below it has used the device so far, or the agent could make no socket (FLAGOS_TRACE=debug says why)", pid, ErrNotTraced)
	}
	return nil, fmt.Errorf("process %d: %w: neither it nor a process below it was started by flagos-trace record", pid, ErrNotTraced)
}

// target makes a Target of a process that has a socket in dir.
func target(p process, dir string) (Target, bool) {
	if dir == "" {
		return Target{}, false
	}
	t := Target{PID: p.pid, Dir: dir, start: p.start, uid: p.uid}
	st, err := os.Lstat(t.socket())
	if err != nil || st.Mode()&fs.ModeSocket == 0 {
		return Target{}, false
	}
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p.pid))
	t.Process = strings.TrimSuffix(string(comm), "\n")
	return t, true
}

// spoolDir reads where a process records, "" if it does not, or if it cannot be
// told. It is of the environment that the process was started with.
func spoolDir(pid int) string {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if dir, ok := strings.CutPrefix(string(kv), envDir+"="); ok {
			return dir
		}
	}
	return ""
}

// descendants lists the processes below pid.
func descendants(pid int) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, err := readProcess(id); err == nil {
			children[p.ppid] = append(children[p.ppid], p)
		}
	}
	below := slices.Clone(children[pid])
	for i := 0; i < len(below); i++ {
		next := children[below[i].pid]
		delete(children, below[i].pid) // each once, whatever was reparented meanwhile
		below = append(below, next...)
	}
	return below, nil
}

// readProcess reads /proc/<pid>/stat and the owner.
func readProcess(pid int) (process, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	stat, err := os.ReadFile(path)
	if err != nil {
		return process{}, err
	}
	// The second field is the name in parentheses and may hold anything; the state
	// is the third, the parent the fourth, the start time the 22nd.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return process{}, fmt.Errorf("%s cannot be understood", path)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Dir(path), &st); err != nil {
		return process{}, err
	}
	p := process{pid: pid, start: string(fields[19]), uid: st.Uid, dead: string(fields[0]) == "Z" || string(fields[0]) == "X"}
	p.ppid, err = strconv.Atoi(string(fields[1]))
	return p, err
}

// escape makes a pattern of a path that matches the path alone.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
