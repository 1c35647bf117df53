package merge

import (
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Numbers of what shows as a process. Kineto sorts devices behind host processes
// from sortDevices on and the overhead behind those.
const (
	sortDevices  = 5_000_000
	sortOverhead = 0x100000A
	overheadPID  = -1
	// otherHost is added to the number of another host's process that has one of
	// ours; no system has as many.
	otherHost = 1_000_000_000
)

// free returns a number for a group: the wanted one, or the next farther from
// zero that is free.
func (m *merger) free(want int64) int64 {
	step, n := int64(1), want
	if want < 0 {
		step = -1
	}
	if hint, ok := m.hints[want]; ok {
		n = hint
	}
	for m.used[n] {
		n += step
	}
	m.used[n], m.hints[want] = true, n
	return n
}

// rows adds a recorded trace's rows under numbers of their own and names their
// groups.
func (m *merger) rows(p Part, c *copying) {
	from := p.Trace
	c.rows = make([]uint32, len(from.Rows))
	type owner struct {
		pid  int64
		host bool // a host process, else a device or the overhead
	}
	numbers := map[owner]int64{}
	for i, r := range from.Rows {
		host := r.Kind == timeline.RowThread || r.Kind == timeline.RowOther && r.PIDText == ""
		o := owner{r.PID, host}
		n, ok := numbers[o]
		if !ok && r.PIDText == "" {
			n = m.number(p, r, host)
			numbers[o] = n
			c.info.add(ID{Number: r.PID}, ID{Number: n}, host)
		}
		r.PID = n
		c.rows[i] = m.t.Row(r)
	}
}

// number chooses what a process, a device or an overhead of a recorded part is
// shown as.
func (m *merger) number(p Part, r timeline.Row, host bool) int64 {
	g := timeline.Group{Name: p.Trace.Process.Name, SortIndex: int64(m.done) * 100}
	switch {
	case host:
		g.PID, g.Label = m.hostNumber(r.PID), p.label("CPU")
	case r.Kind == timeline.RowOverhead:
		g.PID, g.Name, g.Label = m.free(overheadPID), "CUPTI Overhead", p.label("")
		g.SortIndex += sortOverhead
	default:
		g.PID, g.Label = m.free(r.PID), p.label(fmt.Sprintf("GPU %d", r.PID))
		g.SortIndex += sortDevices + r.PID
	}
	m.t.Groups = append(m.t.Groups, g)
	return g.PID
}

// hostNumber keeps the number of a host process unless another has it.
func (m *merger) hostNumber(pid int64) int64 {
	if !m.hosts[pid] {
		m.hosts[pid], m.used[pid] = true, true
		return pid
	}
	return m.free(pid + otherHost)
}

// label joins what is known of a part: its own label, what it is, the process.
func (p Part) label(what string) string {
	var words []string
	for _, w := range []string{p.Label, what} {
		if w != "" {
			words = append(words, w)
		}
	}
	at := ""
	if pr := p.Trace.Process; pr.PID != 0 {
		at = fmt.Sprintf("pid %d", pr.PID)
		if pr.Host != "" {
			at = pr.Host + " " + at
		}
	}
	if at != "" {
		words = append(words, "("+at+")")
	}
	return strings.Join(words, " ")
}

// sourceRows adds the rows and groups of a trace that was read. A pid stays one
// pid, whatever stands on its rows, so that the document can be told from the
// merged one again; names and sort indices stay as they were, and labels get the
// part's before them.
func (m *merger) sourceRows(p Part, c *copying) {
	from := p.Trace
	ids := map[ID]ID{}
	shown := func(id ID) ID {
		is, ok := ids[id]
		if !ok {
			is = m.shown(p, id)
			ids[id] = is
			c.info.add(id, is, id.Text == "" && !id.Empty && id.Number == int64(from.Process.PID) && id.Number != 0)
		}
		return is
	}
	grouped := map[ID]bool{}
	for _, g := range from.Groups {
		id := ID{Number: g.PID, Text: g.PIDText}
		grouped[id] = true
		is := shown(id)
		g.PID, g.PIDText = is.Number, is.Text
		g.Label = withLabel(p.Label, g.Label)
		m.t.Groups = append(m.t.Groups, g)
	}
	c.rows = make([]uint32, len(from.Rows))
	for i, r := range from.Rows {
		id := ID{r.PID, r.PIDText, r.EmptyPID}
		is := shown(id)
		r.PID, r.PIDText, r.EmptyPID = is.Number, is.Text, is.Empty
		c.rows[i] = m.t.Row(r)
		if !grouped[id] && !is.Empty && p.Label != "" {
			grouped[id] = true
			m.t.Groups = append(m.t.Groups, timeline.Group{PID: is.Number, PIDText: is.Text, Label: p.Label, NoSortIndex: true})
		}
	}
}

func withLabel(part, label string) string {
	if part == "" || label == "" {
		return part + label
	}
	return part + " " + label
}

// shown chooses what a pid of a document is in the merged one.
func (m *merger) shown(p Part, id ID) ID {
	if id.Text == "" && !id.Empty {
		if id.Number != 0 && id.Number == int64(p.Trace.Process.PID) {
			return ID{Number: m.hostNumber(id.Number)}
		}
		return ID{Number: m.free(id.Number)}
	}
	key, suffix := id.Text, p.Label
	if suffix == "" {
		suffix = fmt.Sprintf("#%d", m.done)
	}
	for n := 2; m.texts[key]; n++ {
		key = strings.TrimSpace(id.Text + " " + suffix)
		if m.texts[key] {
			key += fmt.Sprintf(" #%d", n)
		}
	}
	m.texts[key] = true
	return ID{Text: key, Empty: key == ""}
}
