package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// maxStatusLine bounds a line of the host side's status file, and maxStatus the
// file, bytes.
const (
	maxStatusLine = 64 << 10
	maxStatus     = 256 << 20
)

// maxSlice bounds the numbers of slices.
const maxSlice = 1 << 24

// statusLine is a line that the bootstrap wrote. NS is CLOCK_REALTIME.
type statusLine struct {
	What    string `json:"what"`
	N       int    `json:"n"`
	NS      int64  `json:"ns"`
	Version string `json:"version"`
	Torch   string `json:"torch"`
	Program bool   `json:"program"`
	On      bool   `json:"on"`
	Step    int64  `json:"step"`
	Code    string `json:"code"`
	Text    string `json:"text"`
}

// sessionLines is what the status file says of one session.
type sessionLines struct {
	open, close int64 // ns; 0 if it was not said
	program     bool
}

// programLines is a session of the program's own profiler.
type programLines struct {
	n        int // of its slice
	on, off  int64
	finished bool
}

// hostStatus is what the status file says.
type hostStatus struct {
	python, torch string
	sessions      map[int]*sessionLines
	programs      []programLines
	// Steps that began, the first and the last; that at which the window was closed
	// counts as having begun.
	firstStep, lastStep int64
	anyStep             bool
	codes               []string // of reasons, each once
	texts               []string
	garbage             uint64 // lines that cannot be understood
	image               image
}

func (s *hostStatus) session(n int) *sessionLines {
	if s.sessions == nil {
		s.sessions = map[int]*sessionLines{}
	}
	l := s.sessions[n]
	if l == nil {
		l = &sessionLines{}
		s.sessions[n] = l
	}
	return l
}

// image is what a process runs between two execs. One that replaces itself by exec
// begins another spool, while the host side goes on with its files: the lines of a
// spool are those from from on and before to, ns. Those without a time, and the
// "python" line, which may be older than the spool, belong to what follows.
type image struct {
	from, to int64
	others   map[int]bool // slices of other images
	outside  bool         // the last line with a time was of another image
	first    *statusLine  // a "python" line that no line with a time has followed yet
	held     []statusLine // lines behind it
	settled  bool         // the image's own "python" line is known
}

// maxHeld bounds what waits for a line with a time.
const maxHeld = 100

// sort takes a line, or leaves it to another image, and reports whether it makes
// sense.
func (s *hostStatus) sort(l *statusLine) bool {
	m := &s.image
	switch {
	case l.What == "python":
		s.unfollowed()
		m.first = l
		return true
	case l.NS == 0 || l.What == "reason":
		if m.first != nil && len(m.held) < maxHeld {
			m.held = append(m.held, *l)
			return true
		}
		return m.outside || s.take(l)
	}
	if m.outside = l.NS < m.from || l.NS >= m.to; m.outside {
		if l.N > 0 && l.N <= maxSlice {
			if m.others == nil {
				m.others = map[int]bool{}
			}
			m.others[l.N] = true
		}
		m.first, m.held = nil, nil
		return true
	}
	s.adopt()
	return s.take(l)
}

// adopt takes the "python" line and what was held with it.
func (s *hostStatus) adopt() {
	m := &s.image
	if m.first == nil {
		return
	}
	s.take(m.first)
	for i := range m.held {
		if !s.take(&m.held[i]) {
			s.garbage++
		}
	}
	m.first, m.held, m.settled = nil, nil, true
}

// unfollowed decides on a "python" line that nothing with a time follows: it is of
// the last spool that began before it, or of the next one.
func (s *hostStatus) unfollowed() {
	m := &s.image
	if m.first == nil || m.settled || m.first.NS >= m.to {
		m.first, m.held = nil, nil
		return
	}
	mine := m.first.NS >= m.from
	s.codes, s.texts = nil, nil // of an image before
	s.adopt()
	m.settled = mine
}

// maxReasons bounds what a status file can say.
const maxReasons = 20

// readStatus reads a status file. Lines that cannot be understood, such as the
// last one of a process that was killed, are counted; those of a later version
// are passed over, and those of another spool of the process, outside the times
// given (ns, to excluded).
func readStatus(r io.Reader, from, to int64) (*hostStatus, error) {
	s := &hostStatus{image: image{from: from, to: to}}
	b := bufio.NewReaderSize(io.LimitReader(r, maxStatus), maxStatusLine)
	for {
		var l statusLine
		text, err := b.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return s, err
		}
		switch {
		case long:
			s.garbage++
		case len(strings.TrimSpace(string(text))) == 0:
		case json.Unmarshal(text, &l) != nil:
			s.garbage++
		case !s.sort(&l):
			s.garbage++
		}
		if err == io.EOF {
			s.unfollowed()
			return s, nil
		}
	}
}

// take takes one line, and reports whether it makes sense.
func (s *hostStatus) take(l *statusLine) bool {
	timed := l.NS >= earliest && l.NS <= latest
	numbered := l.N > 0 && l.N <= maxSlice
	switch l.What {
	case "python":
		s.python, s.torch = l.Version, l.Torch
	case "open":
		if !timed || !numbered {
			return false
		}
		s.session(l.N).open = l.NS
	case "close":
		if !timed || !numbered {
			return false
		}
		one := s.session(l.N)
		one.close, one.program = l.NS, l.Program
	case "program":
		if !timed {
			return false
		}
		if l.On {
			s.programs = append(s.programs, programLines{n: l.N, on: l.NS})
			break
		}
		if i := len(s.programs) - 1; i >= 0 && !s.programs[i].finished && l.NS >= s.programs[i].on {
			s.programs[i].off, s.programs[i].finished = l.NS, true
			break
		}
		return false
	case "step":
		if l.Step < 0 || l.Step > maxSteps {
			return false
		}
		if !s.anyStep || l.Step < s.firstStep {
			s.firstStep = l.Step
		}
		if !s.anyStep || l.Step > s.lastStep {
			s.lastStep = l.Step
		}
		s.anyStep = true
	case "reason":
		if l.Code == "" || len(l.Code) > 100 {
			return false
		}
		for _, c := range s.codes {
			if c == l.Code {
				return true
			}
		}
		if len(s.codes) < maxReasons {
			s.codes, s.texts = append(s.codes, l.Code), append(s.texts, l.Text)
		}
	case "":
		return false
	}
	return true
}
