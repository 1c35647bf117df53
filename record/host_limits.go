package record

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// limitInterval is how often slices are held against the limits.
const limitInterval = time.Second

// keepHostLimits holds the slices of all processes against the limits until the
// function it returns is called. The agent does so for the device's data, of which
// it has the only copy; slices are files of their own, so this is done from
// outside.
func keepHostLimits(dir string, o *Options) (stop func()) {
	if o.Host.Off || o.RingTime == 0 && o.RingBytes == 0 && o.MaxSize == 0 {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(limitInterval)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				limitHost(dir, &o.Limits, now)
			case <-end:
				limitHost(dir, &o.Limits, time.Now())
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// limitHost empties the slices that a ring leaves behind, or that came after the
// largest size. An empty file stands for a slice that was removed.
func limitHost(dir string, l *Limits, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // it is gone, or there is no descriptor left: next time
	}
	type slice struct {
		path string
		n    int
		size int64
		age  time.Duration
	}
	of := map[string][]slice{} // by process
	for _, e := range entries {
		base, rest, ok := strings.Cut(e.Name(), sliceMark)
		n, part, good := sliceNumber(sliceMark + rest)
		if !ok || !good || part {
			continue
		}
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() && st.Size() > 0 {
			of[base] = append(of[base], slice{filepath.Join(dir, e.Name()), n, st.Size(), now.Sub(st.ModTime())})
		}
	}
	for _, list := range of {
		slices.SortFunc(list, func(a, b slice) int { return a.n - b.n })
		var sum int64
		for _, s := range list {
			sum += s.size
		}
		for _, s := range list {
			// A quarter more, as of the device's data.
			if l.RingTime > 0 && s.age > l.RingTime+l.RingTime/4 || l.RingBytes > 0 && sum > l.RingBytes {
				empty(s.path)
				sum -= s.size
			}
		}
		for _, s := range slices.Backward(list) {
			if l.MaxSize > 0 && sum > l.MaxSize {
				empty(s.path)
				sum -= s.size
			}
		}
	}
}

// empty makes a slice's file empty, if it is one: what stands in the folder is the
// program's.
func empty(path string) {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink == 1 && int(st.Uid) == os.Geteuid() {
		_ = unix.Ftruncate(fd, 0) // it stays as it is, then
	}
}

// isRemoved reports whether a slice's file is one that was emptied.
func isRemoved(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().IsRegular() && st.Size() == 0 && !strings.HasSuffix(path, partExt)
}
