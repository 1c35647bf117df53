package agent

import (
	"bytes"
	"runtime"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/spool"
	"golang.org/x/sys/unix"
)

const (
	// talkTime bounds how long a client may take to say its line, and to take the
	// answer; there is one at a time.
	talkTime = 2 * time.Second
	// commandTime bounds how long a command may take.
	commandTime = 8 * time.Second
	// lookMillis is how often the controller looks whether only the agent is left.
	lookMillis = 1000
)

// controller is the thread that serves the socket and, while the others sleep,
// looks after a process whose main thread has gone.
func (a *Agent) controller() {
	runtime.LockOSThread()
	defer a.shim.Park()
	defer func() {
		if p := recover(); p != nil {
			a.log.printf("controller: panic: %v", p)
		}
	}()
	a.shim.Quiet(spool.OwnThreadPrefix + "ctl")
	a.control.Store(int64(unix.Gettid()))
	gone, last := false, time.Now()
	for {
		fd, ok := a.socket.accept(lookMillis)
		if !ok {
			_ = unix.Nanosleep(&unix.Timespec{Sec: lookMillis / 1000}, nil)
		}
		if fd >= 0 {
			a.serve(guest.Keep(fd))
		}
		if now := time.Now(); !gone && !a.armed.Load() && now.Sub(last) >= sampleEvery {
			last = now
			if gone = a.orphaned(); gone {
				leave()
			}
		}
	}
}

// serve answers one client.
func (a *Agent) serve(c guest.FD) {
	defer c.Close()
	peer, err := unix.GetsockoptUcred(c.N, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || int(peer.Uid) != unix.Geteuid() && peer.Uid != 0 {
		a.log.printf("control: refused %+v %v", peer, err)
		return
	}
	var q spool.Request
	line, ok := hear(c, time.Now().Add(talkTime))
	if ok {
		q, _ = spool.ParseRequest(line)
	}
	a.log.printf("control: %q from %d", q.Command, peer.Pid)
	r := a.command(q)
	b := r.Encode()
	if len(b) >= spool.MaxReply {
		return
	}
	say(c, append(b, '\n'), time.Now().Add(talkTime))
}

// command does what a client asks for.
func (a *Agent) command(q spool.Request) spool.Reply {
	code := OK
	deadline := time.Now().Add(commandTime)
	switch {
	case q.Command == spool.CommandStatus:
	case a.shim.Exiting():
		code = Inactive
	case q.Command == spool.CommandStart:
		code = a.ask(deadline, a.start)
	case q.Command == spool.CommandStop:
		code = a.ask(deadline, a.stop)
	case q.Command == spool.CommandSnapshot:
		code = a.ask(deadline, a.snapshot)
	default:
		code = -1
	}
	r := spool.Reply{OK: code == OK, PID: unix.Getpid(), Armed: a.armed.Load(), Window: a.windows.Load(), Size: a.written.size.Load()}
	if p := a.written.path.Load(); p != nil {
		r.Spool = *p
	}
	n := a.counters()
	r.Counters = &n
	switch {
	case a.state.Load() == failed:
		r.State = spool.StateFailed
	case a.shim.Exiting():
		r.State = spool.StateEnding
	case r.Armed:
		r.State = spool.StateRecording
	default:
		r.State = spool.StatePaused
	}
	if !r.OK {
		answer, known := answers[code]
		if !known {
			answer = answers[-1]
		}
		r.Code, r.Text = answer[0], answer[1]
	}
	return r
}

var answers = map[Code][2]string{
	-1:          {spool.CodeInvalid, "the request is not understood"},
	Inactive:    {spool.CodeInactive, "the process is ending, or nothing is recorded in it"},
	Unavailable: {spool.CodeUnavailable, "the recording has failed, see the diagnoses in its trace"},
	Failed:      {spool.CodeFailed, "the vendor's library refused, or the spool could not be written to; see the diagnoses in the trace"},
	Timeout:     {spool.CodeTimeout, "the vendor's library did not answer in time; the command may still be carried out"},
	Busy:        {spool.CodeBusy, "another command is under way"},
}

// await waits until the connection is ready, and reports whether it is and still
// is ours.
func await(c guest.FD, events int16, deadline time.Time) bool {
	for {
		left := time.Until(deadline)
		if left <= 0 || !c.Ours() {
			return false
		}
		set := []unix.PollFd{{Fd: int32(c.N), Events: events}}
		n, err := unix.Poll(set, int(left.Milliseconds())+1)
		if n > 0 && err == nil {
			return c.Ours()
		}
		if err != nil && err != unix.EINTR {
			return false
		}
	}
}

// hear reads a line.
func hear(c guest.FD, deadline time.Time) ([]byte, bool) {
	b := make([]byte, 0, spool.MaxRequest)
	for len(b) < cap(b) && await(c, unix.POLLIN, deadline) {
		n, err := unix.Read(c.N, b[len(b):cap(b)])
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		b = b[:len(b)+n]
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			return b[:i], true
		}
	}
	return nil, false
}

// say writes a line.
func say(c guest.FD, b []byte, deadline time.Time) {
	for len(b) > 0 && await(c, unix.POLLOUT, deadline) {
		// Without MSG_NOSIGNAL a client that has gone would leave a SIGPIPE here.
		n, err := unix.SendmsgN(c.N, b, nil, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}
