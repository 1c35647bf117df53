package record

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The host side's files stand beside a spool and have its name in theirs:
// "<pid>.<start>.host.jsonl", which says what happened, and a Kineto document for
// each slice, "<pid>.<start>.host-<n>.json", which ends in ".part" as long as it is
// being written.
const (
	statusExt = ".host.jsonl"
	sliceMark = ".host-"
	sliceExt  = ".json"
	partExt   = ".part"
)

// pythonDir is the folder in the spool folder that holds the bootstrap.
const pythonDir = "python"

// errHostFile is wrapped by errors about files that are not taken.
var errHostFile = errors.New("not taken as a file of the host side")

// sliceFile is the file of a slice.
type sliceFile struct {
	path string
	part bool // it was not finished
}

// hostFiles are those of one process.
type hostFiles struct {
	status string // "" if there is none
	slices map[int]sliceFile
	// after are the further spools of the process, which has replaced itself by exec:
	// their numbers, in order. number is that of the spool asked for, 0 for the first.
	number int
	after  []int
}

// processOf returns what the files of a process have in common in their names,
// "<pid>.<start>", and the number that its spool has behind that: one that replaced
// itself by exec has a spool each time, but one set of the host side's files.
func processOf(stem string) (base string, number int) {
	pid, rest, _ := strings.Cut(stem, ".")
	start, tail, more := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(tail); more && err == nil && n > 0 && n <= maxExecs && strconv.Itoa(n) == tail {
		return pid + "." + start, n
	}
	return stem, 0
}

// maxExecs is how often a process can have replaced itself, as the agent counts.
const maxExecs = 1000

// findHostFiles lists the files of the host side beside a spool.
func findHostFiles(spool string) (f hostFiles) {
	stem, ok := strings.CutSuffix(filepath.Base(spool), spoolExt)
	if !ok {
		return f
	}
	base, number := processOf(stem)
	f.number = number
	dir := filepath.Dir(spool)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return f
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), base)
		if !ours {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if other, is := strings.CutSuffix(e.Name(), spoolExt); is {
			if process, n := processOf(other); process == base && n > number {
				f.after = append(f.after, n)
			}
			continue
		}
		if rest == statusExt {
			f.status = path
			continue
		}
		n, part, ok := sliceNumber(rest)
		if !ok {
			continue
		}
		if f.slices == nil {
			f.slices = map[int]sliceFile{}
		}
		if old, twice := f.slices[n]; !twice || old.part && !part {
			f.slices[n] = sliceFile{path, part}
		}
	}
	slices.Sort(f.after)
	return f
}

// span returns when a spool of a process recorded, of which another one may come
// before and after it: ns, from 0 on to math.MaxInt64 where there is none.
func (f *hostFiles) span(spool string) (from, to int64) {
	to = math.MaxInt64
	stem := strings.TrimSuffix(filepath.Base(spool), spoolExt)
	base, _ := processOf(stem)
	began := func(stem string) (int64, bool) {
		h, ok := readHeader(filepath.Join(filepath.Dir(spool), stem+spoolExt))
		return h.StartNS, ok && h.StartNS > 0
	}
	if f.number > 0 {
		from, _ = began(stem)
	}
	for _, n := range f.after {
		if ns, ok := began(fmt.Sprintf("%s.%d", base, n)); ok {
			return from, ns
		}
	}
	return from, to
}

// sliceNumber reads the end of a slice's name behind that of the process.
func sliceNumber(rest string) (n int, part, ok bool) {
	rest, ok = strings.CutPrefix(rest, sliceMark)
	if !ok {
		return 0, false, false
	}
	rest, part = strings.CutSuffix(rest, partExt)
	if rest, ok = strings.CutSuffix(rest, sliceExt); !ok {
		return 0, false, false
	}
	n, err := strconv.Atoi(rest)
	return n, part, err == nil && n > 0 && n <= maxSlice && strconv.Itoa(n) == rest
}

// paths lists all of them.
func (f hostFiles) paths() (list []string) {
	if f.status != "" {
		list = append(list, f.status)
	}
	for _, s := range f.slices {
		list = append(list, s.path)
	}
	return list
}

// openHostFile opens a file that a traced process wrote: a regular one, of the
// owner of the spool, reached without a link, of limit bytes at most.
func openHostFile(path string, owner uint32, limit int64) (*os.File, int64, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		err = fmt.Errorf("%w: it is no regular file", errHostFile)
	case st.Uid != owner:
		err = fmt.Errorf("%w: it is of user %d, the recording of user %d", errHostFile, st.Uid, owner)
	case st.Size > limit:
		err = fmt.Errorf("%w: it has %s, and there is room for %s", errHostFile, size(st.Size), size(limit))
	}
	if err != nil {
		unix.Close(fd)
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), st.Size, nil
}

// ownerOf returns the user whose file it is, false if that cannot be told.
func ownerOf(path string) (uint32, bool) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	return st.Uid, err == nil
}

// hostAsked reports whether a spool folder is of a recording with a host side.
func hostAsked(dir string) bool {
	st, err := os.Lstat(filepath.Join(dir, pythonDir))
	return err == nil && st.IsDir()
}

// removeBootstrap removes the bootstrap from a spool folder, with what Python
// made of it.
func removeBootstrap(dir string) error {
	return os.RemoveAll(filepath.Join(dir, pythonDir))
}
