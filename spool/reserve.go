package spool

import (
	"errors"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"golang.org/x/sys/unix"
)

const (
	// tailRoom is held back for the last frames, bytes.
	tailRoom = 16 << 10
	// ahead is how much is allocated at a time, bytes: one call for many frames.
	ahead = 1 << 20
)

// reserve holds room on the file system behind the end of the file, which keeps
// its size. Where blocks cannot be allocated ahead (some network file systems)
// nothing is held, and the last frames take their chance.
type reserve struct {
	end  int64 // allocated up to here; 0 if nothing can be
	open bool  // the tail may be used
}

// hold makes sure that the tail behind off is allocated, and as much more as
// there is.
func (r *reserve) hold(fd int, off int64) {
	for _, n := range []int64{tailRoom + ahead, tailRoom} {
		err := allocate(fd, off, n)
		if err == nil {
			r.end = off + n
			return
		}
		if full(err) {
			r.end = off // there may be room later
		}
	}
}

func full(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// take makes sure that n bytes at off leave the tail untouched. Its errors are
// those of the write that would not.
func (r *reserve) take(fd guest.FD, off, n int64) error {
	if r.open {
		return nil
	}
	need := off + n + tailRoom
	// Allocating behind the end is not held against RLIMIT_FSIZE; writing is.
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && uint64(need) > limit.Cur {
		return unix.EFBIG
	}
	if r.end == 0 || need <= r.end || !fd.Ours() {
		return nil
	}
	for _, to := range []int64{need + ahead, need} {
		err := allocate(fd.N, r.end, to-r.end)
		if err == nil {
			r.end = to
			return nil
		}
		if !full(err) {
			r.end = 0 // it cannot be done here after all
			return nil
		}
	}
	return unix.ENOSPC
}

// lost holds the tail anew after the file was cut at off.
func (r *reserve) lost(fd int, off int64) {
	if r.end != 0 && !r.open {
		r.end = 0
		r.hold(fd, off)
	}
}

// release gives back what is behind the end of the file, off.
func (r *reserve) release(fd int, off int64) {
	if r.end > off {
		_ = unix.Ftruncate(fd, off)
	}
}

func allocate(fd int, off, n int64) error {
	for {
		err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, off, n)
		if err != unix.EINTR {
			return err
		}
	}
}
