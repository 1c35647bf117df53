package guest

import "golang.org/x/sys/unix"

// lowest is where kept descriptors go, if the limit of the process allows:
// programs that close what they do not know begin at 3 and often end at a guess,
// and programs that use select need the numbers below 1024. The stub makes room for
// them early (cmd/libflagos-trace/stub/table.c).
const lowest = 900

// FD is a descriptor kept for long.
type FD struct {
	N        int // -1 when closed
	dev, ino uint64
}

// Keep moves an open descriptor out of the program's way and remembers what it
// is. It takes fd over: where it cannot be moved it stays, and is kept.
func Keep(fd int) FD {
	at := lowest
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur < lowest+100 {
		at = int(limit.Cur * 3 / 4)
	}
	if high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, at); err == nil {
		unix.Close(fd)
		fd = high
	}
	f := FD{N: fd}
	f.dev, f.ino, _ = identity(fd)
	return f
}

// Ours reports whether the descriptor still is what was kept: the program may
// have closed it, and have opened something of its own in its place.
func (f FD) Ours() bool {
	dev, ino, ok := identity(f.N)
	return ok && dev == f.dev && ino == f.ino
}

// Close closes the descriptor if it still is ours.
func (f *FD) Close() error {
	if f.N < 0 {
		return nil
	}
	err := error(unix.EBADF)
	if f.Ours() {
		err = unix.Close(f.N)
	}
	f.N = -1
	return err
}

func identity(fd int) (dev, ino uint64, ok bool) {
	var st unix.Stat_t
	if fd < 0 || unix.Fstat(fd, &st) != nil {
		return 0, 0, false
	}
	return uint64(st.Dev), st.Ino, true
}

// CanOpen reports whether n more descriptors can be had.
func CanOpen(n int) bool {
	fds := make([]int, 0, n)
	for range n {
		fd, err := Open("/", unix.O_PATH, 0)
		if err != nil {
			break
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return len(fds) == n
}
