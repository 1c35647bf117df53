package pprofile

import (
	"errors"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// ErrEmpty: the traces hold nothing that a sample could be made of.
var ErrEmpty = errors.New("neither device work nor spans of host threads are in the trace")

// firstTime is the beginning of the year 2000, ns since the Unix epoch: a trace that
// begins before that counts from another zero, and says nothing of when it was made.
const firstTime = 946684800 * 1e9

// Comment adds a line that pprof prints with -comments.
func (b *Builder) Comment(text string) { b.comments = append(b.comments, text) }

// Profile makes the profile. It has passed CheckValid. Errors wrap ErrEmpty.
func (b *Builder) Profile() (*profile.Profile, error) {
	if len(b.order) == 0 {
		return nil, ErrEmpty
	}
	p := &profile.Profile{
		DefaultSampleType: b.Main(),
		TimeNanos:         b.start,
		DurationNanos:     b.length,
		Comments:          b.comments,
	}
	if b.start < firstTime {
		p.TimeNanos = 0
	}
	for i, name := range Values {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: name, Unit: units[i]})
	}
	for i, name := range mappingNames {
		p.Mapping = append(p.Mapping, &profile.Mapping{
			ID: uint64(i + 1), File: name,
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
		})
	}
	m := locations{b: b, p: p, host: map[frame]*profile.Location{}, work: map[uint32]*profile.Location{}}
	for i := range b.order {
		k := &b.order[i]
		s := &profile.Sample{Value: b.samples[*k][:], Location: m.stack(k)}
		b.label(s, k)
		p.Sample = append(p.Sample, s)
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("the profile would not be valid: %w", err)
	}
	return p, nil
}

type frame struct {
	class calltree.Class
	label string
}

// locations makes the locations of a profile, one for each function.
type locations struct {
	b    *Builder
	p    *profile.Profile
	host map[frame]*profile.Location
	work map[uint32]*profile.Location
}

// stack returns the locations of a sample, the innermost first, as pprof has them.
func (m *locations) stack(k *sample) (stack []*profile.Location) {
	if k.work != 0 {
		l := m.work[k.work]
		if l == nil {
			l = m.add(workFunction(m.b.texts.At(k.work)), onDevice)
			m.work[k.work] = l
		}
		stack = append(stack, l)
	}
	for id := k.path; id > calltree.Top; id = m.b.paths.Parent(id) {
		stack = append(stack, m.at(frame{m.b.paths.Class(id), m.b.paths.Label(id)}))
	}
	if len(stack) == 0 { // everything around was left out
		stack = append(stack, m.at(frame{calltree.Other, hostFrame}))
	}
	return stack
}

func (m *locations) at(f frame) *profile.Location {
	l := m.host[f]
	if l == nil {
		l = m.add(function(f.class, f.label))
		m.host[f] = l
	}
	return l
}

func (m *locations) add(f *profile.Function, mapping int) *profile.Location {
	f.ID = uint64(len(m.p.Function) + 1)
	m.p.Function = append(m.p.Function, f)
	l := &profile.Location{
		ID: uint64(len(m.p.Location) + 1), Mapping: m.p.Mapping[mapping],
		Line: []profile.Line{{Function: f, Line: f.StartLine}},
	}
	m.p.Location = append(m.p.Location, l)
	return l
}
