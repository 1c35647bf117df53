package ctl

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/spool"
)

// maxSocketPath is the longest path in a socket's address, in bytes.
const maxSocketPath = 107

// Ask sends a command, one of spool's, and waits for the reply. A reply that is
// not OK is no error.
func Ask(t Target, command string, timeout time.Duration) (spool.Reply, error) {
	deadline := time.Now().Add(timeout)
	r, err := ask(t, command, deadline)
	if err == nil {
		return r, nil
	}
	if p, e := readProcess(t.PID); e != nil || p.dead || p.start != t.start {
		err = ErrEnded
	} else if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w (%v): another command may be under way, or the process is stopped", ErrTimeout, timeout)
	}
	return r, fmt.Errorf("process %d: %w", t.PID, err)
}

func ask(t Target, command string, deadline time.Time) (r spool.Reply, err error) {
	path := t.socket()
	if len(path) > maxSocketPath {
		dir, err := unix.Open(t.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return r, &os.PathError{Op: "open", Path: t.Dir, Err: err}
		}
		defer unix.Close(dir)
		path = "/proc/self/fd/" + strconv.Itoa(dir) + "/" + filepath.Base(path)
	}
	dialer := net.Dialer{Deadline: deadline}
	conn, err := dialer.Dial("unix", path)
	if err != nil {
		return r, fmt.Errorf("the agent does not listen, or the program has closed its socket: %w", err)
	}
	defer conn.Close()
	if err := checkPeer(conn.(*net.UnixConn), t); err != nil {
		return r, err
	}
	if err := conn.SetDeadline(deadline); err != nil {
		return r, err
	}
	line, err := json.Marshal(spool.Request{Command: command})
	if err != nil {
		return r, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return r, err
	}
	line, err = bufio.NewReader(io.LimitReader(conn, spool.MaxReply)).ReadBytes('\n')
	switch {
	case err == io.EOF && len(line) == 0:
		return r, fmt.Errorf("%w: the agent closed the connection", ErrProtocol)
	case err == io.EOF:
		return r, fmt.Errorf("%w: it does not end within %d bytes", ErrProtocol, spool.MaxReply)
	case err != nil:
		return r, err
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return r, nil
}

// checkPeer makes sure that the process itself made the socket.
func checkPeer(c *net.UnixConn, t Target) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if int(peer.Pid) != t.PID || peer.Uid != t.uid {
		return fmt.Errorf("%w: the socket %s is of process %d, user id %d", ErrProtocol, t.socket(), peer.Pid, peer.Uid)
	}
	return nil
}
