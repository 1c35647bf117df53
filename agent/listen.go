package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/spool"
	"golang.org/x/sys/unix"
)

// errSocket: there is no control of this process.
var errSocket = errors.New("control socket cannot be made")

// maxSocketPath is the longest path in a socket's address, in bytes. A longer one
// is reached through the descriptor of its folder.
const maxSocketPath = 107

// listener is the socket for control. A nil one is none.
type listener struct {
	fd       guest.FD
	path     string
	dev, ino uint64 // of the name in the folder
}

// listen makes the socket in the spool folder. Names that are there are left
// alone, but for a socket of this very process, as one before an exec leaves it.
func listen(dir string, p process) (l *listener, err error) {
	defer func() {
		if err != nil {
			l, err = nil, fmt.Errorf("%w: %w", errSocket, err)
		}
	}()
	var st unix.Stat_t
	at, err := guest.Open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(at)
	if err := unix.Fstat(at, &st); err != nil {
		return nil, err
	}
	if st.Mode&0o022 != 0 || st.Uid != 0 && int(st.Uid) != unix.Geteuid() {
		return nil, fmt.Errorf("others can write to %s", dir)
	}
	name := spool.SocketName(p.pid, p.start)
	l = &listener{path: filepath.Join(dir, name)}
	address := l.path
	if len(address) > maxSocketPath {
		address = "/proc/self/fd/" + strconv.Itoa(at) + "/" + name
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	kept := guest.Keep(fd)
	l.fd = kept
	defer func() {
		if err != nil {
			_ = kept.Close()
		}
	}()
	// The name is made with the mode of the socket, less the umask.
	if err := unix.Fchmod(l.fd.N, 0o600); err != nil {
		return nil, err
	}
	err = unix.Bind(l.fd.N, &unix.SockaddrUnix{Name: address})
	if err == unix.EADDRINUSE {
		// The name is never followed: neither by bind, nor here.
		if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return nil, err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFSOCK || int(st.Uid) != unix.Geteuid() {
			return nil, fmt.Errorf("%s is there already and no socket of ours", l.path)
		}
		if err := unix.Unlinkat(at, name, 0); err != nil {
			return nil, err
		}
		err = unix.Bind(l.fd.N, &unix.SockaddrUnix{Name: address})
	}
	if err != nil {
		return nil, err
	}
	if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, err
	}
	l.dev, l.ino = uint64(st.Dev), st.Ino
	if st.Mode&0o777 != 0o600 { // the umask took the owner's part, or the kernel is another
		if err := unix.Fchmodat(at, name, 0o600, 0); err != nil {
			return nil, err
		}
	}
	return l, unix.Listen(l.fd.N, 8)
}

// remove takes the name away, if it still is that of the socket.
func (l *listener) remove() {
	if l == nil {
		return
	}
	var st unix.Stat_t
	if unix.Lstat(l.path, &st) == nil && uint64(st.Dev) == l.dev && st.Ino == l.ino {
		_ = unix.Unlink(l.path)
	}
}

// accept waits for a connection, at most so many ms. ok is false for ever once
// the program has closed the descriptor.
func (l *listener) accept(ms int) (fd int, ok bool) {
	if l == nil || !l.fd.Ours() {
		return -1, false
	}
	set := []unix.PollFd{{Fd: int32(l.fd.N), Events: unix.POLLIN}}
	if n, err := unix.Poll(set, ms); err != nil || n == 0 {
		return -1, err == nil || err == unix.EINTR
	}
	if !l.fd.Ours() {
		return -1, false
	}
	fd, _, err := unix.Accept4(l.fd.N, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		// Whatever it is, it must not make a loop without a pause.
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 10e6}, nil)
		return -1, true
	}
	return fd, true
}
