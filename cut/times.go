package cut

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/timeline"
)

var units = map[string]int64{"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}

// ParseWindow reads the two ends of a window in a trace. Each is one of
//
//   - "start", "end": those of the recorded window, which is what an empty text means
//   - "1.5ms": behind the start; units are ns, us, ms, s, m
//   - "-10ms": before the end
//   - "+10ms", only as the second: behind the first
//   - "ts:5098236808295.833": a ts as it stands in the document, microseconds
//   - "2026-01-02T15:04:05.123456789Z": a time of day with a time zone
//
// Errors wrap ErrTime.
func ParseWindow(t *timeline.Trace, from, to string) (w timeline.Window, err error) {
	if w.Start, err = parseTime(t, from, t.Window.Start, nil); err != nil {
		return w, err
	}
	if w.End, err = parseTime(t, to, t.Window.End, &w.Start); err != nil {
		return w, err
	}
	if to == "" || to == "end" {
		// The end of a window is not part of it, and an event may begin there.
		w.End = clampedAdd(w.End, 1)
	}
	if w.End <= w.Start {
		return w, fmt.Errorf("%w: the window from %s to %s ends before it begins; the trace lasts %s", ErrTime, cmp.Or(from, "start"), cmp.Or(to, "end"), duration(t.Window.End-t.Window.Start))
	}
	return w, nil
}

func parseTime(t *timeline.Trace, s string, none int64, from *int64) (int64, error) {
	base := t.Window.Start
	switch {
	case s == "":
		return none, nil
	case s == "start":
		return t.Window.Start, nil
	case s == "end":
		return t.Window.End, nil
	case strings.HasPrefix(s, "ts:"):
		n, ok := decimal(s[3:], 1e3)
		if !ok {
			return 0, fmt.Errorf("%w: %q: ts: and microseconds are expected", ErrTime, s)
		}
		if t.Source != nil {
			n = clampedAdd(n, t.Source.Base)
		}
		return n, nil
	case len(s) > 10 && s[4] == '-' && s[10] == 'T':
		at, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return 0, fmt.Errorf("%w: %q: a time such as 2026-01-02T15:04:05.123Z is expected", ErrTime, s)
		}
		return at.UnixNano(), nil
	case s[0] == '+':
		if from == nil {
			return 0, fmt.Errorf("%w: %q: only the end can be told from the beginning of the window", ErrTime, s)
		}
		base = *from
	case s[0] == '-':
		base = t.Window.End
	}
	number := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzµμ")
	scale, ok := units[s[len(number):]]
	if number == "0" && len(number) == len(s) {
		scale, ok = 1, true
	}
	n, good := decimal(strings.TrimPrefix(number, "+"), scale)
	if !ok || !good {
		return 0, fmt.Errorf("%w: %q: a number with a unit (ns, us, ms, s, m) such as 1.5ms is expected; or start, end, ts:MICROSECONDS, or a time of day in RFC 3339", ErrTime, s)
	}
	return clampedAdd(base, n), nil
}

// decimal reads a decimal number of units of scale ns as ns, exactly; digits beyond
// the nanosecond are cut off.
func decimal(s string, scale int64) (int64, bool) {
	negative := strings.HasPrefix(s, "-")
	whole, fraction, dot := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if dot && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > math.MaxInt64/max(scale, 1)-1 {
		return 0, false
	}
	n *= scale
	for place := scale; len(fraction) > 0; fraction = fraction[1:] {
		// A minute is 60 e9 ns: its tenths are whole numbers too, down to ns.
		place /= 10
		n += int64(fraction[0]-'0') * place
	}
	if negative {
		n = -n
	}
	return n, true
}

func clampedAdd(x, y int64) int64 {
	switch sum := x + y; {
	case y > 0 && sum < x:
		return math.MaxInt64
	case y < 0 && sum > x:
		return math.MinInt64
	default:
		return sum
	}
}

func duration(ns int64) string { return time.Duration(ns).String() }

// ParseSteps reads "5", "3:6" (3 to 6, both included), "3:" or ":6". Errors wrap
// ErrTime.
func ParseSteps(s string) (*Steps, error) {
	first, last, ranged := strings.Cut(s, ":")
	r := Steps{math.MinInt64, math.MaxInt64}
	var err error
	if first != "" {
		r.First, err = strconv.ParseInt(first, 10, 64)
	}
	if err == nil && last != "" {
		r.Last, err = strconv.ParseInt(last, 10, 64)
	}
	if !ranged {
		r.Last = r.First
	}
	if err != nil || s == "" || s == ":" || r.First > r.Last {
		return nil, fmt.Errorf("%w: steps %q: 5, 3:6, 3: or :6 is expected", ErrTime, s)
	}
	return &r, nil
}

// String is what ParseSteps reads.
func (s *Steps) String() string {
	text := func(n int64) string {
		if n == math.MinInt64 || n == math.MaxInt64 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	if s.First == s.Last {
		return text(s.First)
	}
	return text(s.First) + ":" + text(s.Last)
}
