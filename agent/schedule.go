package agent

import "time"

// idleWait is how long a thread sleeps that has nothing to do until it is woken.
const idleWait = time.Hour

// schedule is when recording is to start and stop by itself. It belongs to the
// flusher.
type schedule struct {
	startAt, stopAt time.Time // zero is never
	duration        time.Duration
}

// begins sets what the configuration asks for, counted from the injection.
func (s *schedule) begins(now time.Time, c *config) {
	s.duration = c.duration
	switch {
	case c.delay > 0:
		s.startAt = now.Add(c.delay)
	case !c.paused:
		s.started(now)
	}
}

// started and stopped are told of every start and stop: one that was asked for
// replaces the one that was to come.
func (s *schedule) started(now time.Time) {
	s.startAt, s.stopAt = time.Time{}, time.Time{}
	if s.duration > 0 {
		s.stopAt = now.Add(s.duration)
	}
}

func (s *schedule) stopped() { s.startAt, s.stopAt = time.Time{}, time.Time{} }

// due is the next time at which something is to be done, zero for none.
func (s *schedule) due() time.Time {
	if !s.startAt.IsZero() {
		return s.startAt
	}
	return s.stopAt
}

// nap is how long the flusher may sleep: while nothing is armed until something
// is due, else for the period given at most.
func (a *Agent) nap(period time.Duration) time.Duration {
	d := a.rest(period)
	if at := a.due(); !at.IsZero() {
		d = min(d, max(time.Until(at), 0))
	}
	return d
}

// rest is how long the writer may.
func (a *Agent) rest(period time.Duration) time.Duration {
	if a.armed.Load() {
		return period
	}
	return idleWait
}

// timed does what has become due.
func (a *Agent) timed() {
	at := a.due()
	if at.IsZero() || time.Now().Before(at) {
		return
	}
	do := a.stop
	if at.Equal(a.startAt) {
		do = a.start
	}
	a.startAt, a.stopAt = time.Time{}, time.Time{} // once, also if it fails
	a.run(&command{do: do, own: true})
}
