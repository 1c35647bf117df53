package baseline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrNoBaseline: there is no embedded baseline of that name.
var ErrNoBaseline = errors.New("baseline: no embedded baseline")

// Side is one of the two things that are compared.
type Side struct {
	Name  string
	Shape *shape.Shape
	// Seen is what was observed of a trace; nil for a baseline.
	Seen *shape.Observation
	// Vendor of the devices; "" if it is not known.
	Vendor string
}

// FromTrace makes a side of a trace.
func FromTrace(o *shape.Observation) *Side {
	return &Side{Name: o.Name, Shape: &o.Shape, Seen: o, Vendor: o.Producer.Vendor}
}

// FromFile makes a side of a baseline file's text. Errors wrap shape.ErrBaseline.
func FromFile(name string, text []byte) (*Side, error) {
	s, err := shape.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return fromShape(name, s), nil
}

func fromShape(name string, s *shape.Shape) *Side {
	x := &Side{Name: name, Shape: s}
	for i, src := range s.Sources {
		if i == 0 {
			x.Vendor = src.Vendor
		} else if src.Vendor != x.Vendor {
			x.Vendor = ""
		}
	}
	return x
}

// describe is the side as it stands in a result.
func (s *Side) describe() verdict.Side {
	d := verdict.Side{Name: s.Name, Kind: "baseline", Vendor: s.Vendor}
	if s.Seen == nil {
		producers := []string{}
		for _, src := range s.Shape.Sources {
			if src.Producer != "" && (len(producers) == 0 || producers[len(producers)-1] != src.Producer) {
				producers = append(producers, src.Producer)
			}
			for _, name := range src.Devices {
				if len(d.Devices) == 0 || d.Devices[len(d.Devices)-1] != name {
					d.Devices = append(d.Devices, name)
				}
			}
		}
		d.Producer = strings.Join(producers, ", ")
		return d
	}
	d.Kind, d.Producer, d.Devices, d.Events = "trace", s.Seen.Producer.String(), s.Seen.Devices, s.Seen.Events
	if c := s.Seen.Completeness; c != nil && len(s.Seen.Lost) == 0 {
		d.Completeness = string(c.Verdict) // of what can be read no longer it says nothing
	}
	return d
}

// unusable says what keeps a side from being compared.
func (s *Side) unusable(which string) (out []string) {
	if s.Seen == nil {
		for _, src := range s.Shape.Sources {
			if src.Completeness == string(timeline.Incomplete) {
				out = append(out, fmt.Sprintf("the %s was made of %s, which is incomplete: make it of a whole recording", which, src.File))
			}
		}
		return out
	}
	if len(s.Seen.Lost) > 0 {
		return append(out, fmt.Sprintf("a part of the %s, %s, cannot be read: %s; record again, or compare what flagos-trace cat makes of it", which, s.Name, strings.Join(s.Seen.Lost, ", and ")))
	}
	if c := s.Seen.Completeness; c != nil && c.Verdict == timeline.Incomplete {
		why := ""
		if len(c.Diagnoses) > 0 {
			why = ": " + c.Diagnoses[0]
		} else if len(c.Missing) > 0 {
			why = ": " + strings.Join(c.Missing, ", ")
		}
		out = append(out, fmt.Sprintf("the %s, %s, is incomplete by its own record%s", which, s.Name, why))
	}
	return out
}

// Unusable says why the side cannot be compared: it does not hold all that happened.
// It is empty where it can.
func (s *Side) Unusable() []string { return s.unusable("trace") }
