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
	// Lines from from on and before to are this spool's; those without a time belong
	// to the last that had one. others are the slices of the rest.
	from, to int64
	outside  bool
	others   map[int]bool
}

// foreign reports whether a line is about what the process ran before it replaced
// itself by exec, or after.
func (s *hostStatus) foreign(l *statusLine) bool {
	switch {
	case l.What == "python": // written before the spool is there
		s.outside = l.NS >= s.to
	case l.NS != 0 && l.What != "reason":
		s.outside = l.NS < s.from || l.NS >= s.to
		if s.outside && l.N > 0 && l.N <= maxSlice {
			if s.others == nil {
				s.others = map[int]bool{}
			}
			s.others[l.N] = true
		}
	}
	return s.outside
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

// maxReasons bounds what a status file can say.
const maxReasons = 20

// readStatus reads a status file. Lines that cannot be understood, such as the
// last one of a process that was killed, are counted; those of a later version
// are passed over, and those of another spool of the process, outside the times
// given (ns, to excluded).
func readStatus(r io.Reader, from, to int64) (*hostStatus, error) {
	s := &hostStatus{from: from, to: to}
	b := bufio.NewReaderSize(io.LimitReader(r, maxStatus), maxStatusLine)
	for {
		text, err := b.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if err != nil && err != io.EOF {
			return s, err
		}
		var l statusLine
		switch {
		case long:
			s.garbage++
		case len(strings.TrimSpace(string(text))) == 0:
		case json.Unmarshal(text, &l) != nil:
			s.garbage++
		case s.foreign(&l):
		case !s.take(&l):
			s.garbage++
		}
		if err == io.EOF {
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
