package chrome

import (
	"math"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// finish does what only the end of the document allows, and returns it.
func (b *builder) finish(bytes int64) *Document {
	if b.last != nil {
		b.counts[b.lastKey] += *b.last
		b.last = nil
	}
	b.pair()
	b.attachFlows()
	b.absolute()
	b.byProcess()
	b.visitLate()
	b.rows()
	b.t.Window = RecordedWindow(b.t)
	b.process()
	d := &Document{Trace: b.t, Findings: b.find.list, FindingCounts: b.find.counts, Counts: map[Class]uint64{}, Bytes: bytes}
	for k, n := range b.counts {
		d.Counts[Class{k.phase, b.t.Strings.At(k.category)}] += n
	}
	d.Producer = b.producer()
	return d
}

// absolute adds the base to all times.
func (b *builder) absolute() {
	base := b.src.Base
	if base == 0 {
		return
	}
	t := b.t
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		e.Start, e.End = clampedSum(e.Start, base), clampedSum(e.End, base)
	}
	for i := range t.Flows {
		t.Flows[i].TS = clampedSum(t.Flows[i].TS, base)
	}
}

// clampedSum adds and keeps within int64.
func clampedSum(x, y int64) int64 {
	switch sum := x + y; {
	case y > 0 && sum < x:
		return math.MaxInt64
	case y < 0 && sum > x:
		return math.MinInt64
	default:
		return sum
	}
}

// byProcess says what events without a category are, where a rule tells it by the
// name of their process.
func (b *builder) byProcess() {
	t := b.t
	rules := make([]processRule, len(t.Rows))
	any := false
	for i := range t.Rows {
		r := &t.Rows[i]
		if g, ok := b.groups[groupKey{r.PID, r.PIDText}]; ok && !r.EmptyPID {
			rules[i] = b.rules.processes[t.Groups[g].Name]
			any = any || rules[i].known
		}
	}
	if !any {
		return
	}
	l := lexer{rules: b.rules}
	for i := range uint32(t.Events.Len()) {
		e, s := t.Events.At(i), b.src.Events.At(i)
		rule := rules[e.Row]
		if !rule.known || e.Category != 0 || s.Phase != 0 || e.Flags&timeline.Instant != 0 {
			continue
		}
		e.Kind = rule.kind
		l.text = append(append(append(l.text[:0], ' ', '{'), b.lateArgs.At(s.Args)...), '}')
		l.limit, l.set = len(l.text), 0
		l.notes = l.notes[:0]
		var d details
		if l.arguments(l.text, 1) > 0 {
			l.detail(l.text, &d)
			if k, ok := b.rules.task(string(Lookup(l.text[1:], "Task Type").Text(nil))); ok && e.Kind.OnDevice() {
				e.Kind = k
			}
		}
		if k, ok := b.rules.task(t.Strings.At(e.Name)); ok && e.Kind.OnDevice() {
			e.Kind = k
		}
		own := *s
		b.detail(e, &own, &d)
		if own != *s {
			*b.src.Events.Own(i) = own
		}
		b.rowInfo[e.Row].see(e, t)
	}
}

// visitLate visits the events whose arguments were kept until now, and drops those that
// are not wanted any longer.
func (b *builder) visitLate() {
	t := b.t
	for _, i := range b.late {
		e, s := t.Events.At(i), b.src.Events.Own(i)
		args := b.lateArgs.At(s.Args)
		if b.visit != nil {
			b.visit(t, i, args)
		}
		if !b.dropArgs {
			continue
		}
		if s.Args = 0; b.kept(args) {
			s.Args = t.Args.Add(args)
		}
		switch e.Kind {
		case timeline.Host, timeline.Other:
			e.Detail = s.Args
		case timeline.Kernel:
			if c := &t.Kernels.At(e.Detail).Collective; *c != 0 {
				*c = s.Args
			}
		}
	}
	b.late, b.lateArgs = nil, nil
}

// kept reports whether arguments have one of the keys by which they are kept.
func (b *builder) kept(args []byte) bool {
	for m := WalkMembers(args); m.Next(); {
		if slices.Contains(b.keepKeys, string(m.Key)) {
			return true
		}
	}
	return false
}

// rows says what each row is.
func (b *builder) rows() {
	for i := range b.rowInfo {
		b.t.Rows[i].Kind = b.rowInfo[i].kind
		if k := b.rowInfo[i].kind; k == timeline.RowStream || k == timeline.RowSync {
			b.t.Rows[i].Stream = b.rowInfo[i].stream
		}
	}
}

// RecordedWindow is the window of a trace that was read: what its events say of it,
// or what they cover.
func RecordedWindow(t *timeline.Trace) timeline.Window {
	start, end := int64(math.MaxInt64), int64(math.MinInt64)
	span, spanEnd, last := int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64)
	hasSpan, hasLast := false, false
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if t.Source.Events.At(i).Phase == 'M' {
			continue
		}
		switch {
		case e.Category != 0 && t.Strings.At(e.Category) == catTraceSpan:
			span, spanEnd, hasSpan = min(span, e.Start), max(spanEnd, e.End), true
		case e.Flags&timeline.Instant != 0 && t.Strings.At(e.Name) == windowEnd:
			last, hasLast = max(last, e.Start), true // a merged trace has several
		}
		start, end = min(start, e.Start), max(end, e.End)
	}
	switch {
	case hasSpan:
		if hasLast && last >= span {
			spanEnd = last
		}
		return timeline.Window{Start: span, End: spanEnd}
	case start <= end:
		return timeline.Window{Start: start, End: end}
	}
	return timeline.Window{}
}

// process finds the process that was traced: the one labelled as the host's, or
// the first with a thread of its own.
func (b *builder) process() {
	t := b.t
	pid := int64(-1)
	for i := range t.Groups {
		if l := t.Groups[i].Label; t.Groups[i].PIDText == "" && (l == "CPU" || strings.HasPrefix(l, "CPU,")) {
			pid = t.Groups[i].PID
			break
		}
	}
	for i := range t.Rows {
		if r := &t.Rows[i]; pid < 0 && r.Kind == timeline.RowThread && r.PIDText == "" && !r.EmptyPID {
			pid = r.PID
		}
	}
	if pid < 0 || pid > math.MaxInt32 {
		return
	}
	t.Process.PID = int(pid)
	if g, ok := b.groups[groupKey{pid, ""}]; ok {
		t.Process.Name = t.Groups[g].Name
	}
	for i := range t.Metadata {
		if m := &t.Metadata[i]; m.Key == "host_name" {
			t.Process.Host = string(Value(m.Raw).Text(nil))
		}
	}
}
