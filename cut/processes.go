package cut

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

var rankLabel = regexp.MustCompile(`(?i)(?:^|[^[:alnum:]])rank[ _:=#]{0,2}([0-9]+)(?:[^[:alnum:].]|$)`)

// rankOf finds a rank in the label or the name of a process.
func rankOf(g *timeline.Group) (int64, bool) {
	for _, s := range []string{g.Label, g.Name} {
		if m := rankLabel.FindStringSubmatch(s); m != nil {
			n, err := strconv.ParseInt(m[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// ranks are those that the labels of processes tell.
func ranks(t *timeline.Trace) map[pid]int64 {
	list := map[pid]int64{}
	for i := range t.Groups {
		if n, ok := rankOf(&t.Groups[i]); ok {
			list[pidOfGroup(&t.Groups[i])] = n
		}
	}
	return list
}

// ownRank is the rank that the members of the trace of one rank tell.
func ownRank(members []timeline.Property) (int64, bool) {
	for i := range members {
		if members[i].Key == "distributedInfo" {
			return chrome.Lookup(members[i].Raw, "rank").Int()
		}
	}
	return 0, false
}

// merged finds the wanted ranks by the record of a merge. That of one is taken out
// of the merged trace, with ids and members of its own; of several the rows are
// noted. done: there is such a record.
func (c *cutter) merged() (done bool, err error) {
	infos := merge.Infos(c.t)
	if len(infos) == 0 {
		return false, nil
	}
	there := map[string]bool{}
	found := map[int64]bool{}
	var parts []int
	for i := range infos {
		n, ok := rankOf(&timeline.Group{Label: infos[i].Label})
		if !ok {
			if n, ok = ownRank(infos[i].Members); !ok {
				continue
			}
		}
		there[strconv.FormatInt(n, 10)] = true
		if slices.Contains(c.o.Ranks, n) {
			found[n] = true
			parts = append(parts, i)
		}
	}
	for _, want := range c.o.Ranks {
		if !found[want] {
			return true, fmt.Errorf("%w: rank %d; there are %s", ErrUnknown, want, listed(there))
		}
	}
	if len(parts) == 1 && c.t.Source != nil {
		pids := map[string]string{}
		for _, p := range infos[parts[0]].IDs {
			pids[pidText(p.Is.Number, p.Is.Text, p.Is.Empty)] = pidText(p.Was.Number, p.Was.Text, p.Was.Empty)
		}
		o := *c.o
		o.PIDs = nil
		for _, p := range c.o.PIDs {
			was, ok := pids[p]
			if !ok {
				return true, fmt.Errorf("%w: process %q of rank %d", ErrUnknown, p, c.o.Ranks[0])
			}
			o.PIDs = append(o.PIDs, was)
		}
		c.o = &o
		if c.t, err = merge.Extract(c.t, parts[0]); err != nil {
			return true, err
		}
		c.t.Window = chrome.RecordedWindow(c.t)
		return true, nil
	}
	c.ofRank = map[pid]bool{}
	for _, i := range parts {
		for _, p := range infos[i].IDs {
			c.ofRank[pid{p.Is.Number, p.Is.Text, p.Is.Empty}] = true
		}
	}
	return true, nil
}

func pidText(n int64, text string, empty bool) string {
	if text != "" || empty {
		return text
	}
	return strconv.FormatInt(n, 10)
}

// processes finds the rows of the wanted ranks and processes.
func (c *cutter) processes() error {
	byRecord := false
	if len(c.o.Ranks) > 0 {
		var err error
		if byRecord, err = c.merged(); err != nil {
			return err
		}
	}
	t := c.t
	c.rowIn = make([]bool, len(t.Rows))
	for i := range c.rowIn {
		c.rowIn[i] = c.ofRank == nil || c.ofRank[pidOf(&t.Rows[i])]
	}
	if len(c.o.Ranks) > 0 && !byRecord {
		if err := c.ranks(); err != nil {
			return err
		}
	}
	c.rankIn = slices.Clone(c.rowIn)
	if len(c.o.PIDs) == 0 {
		return nil
	}
	found := map[string]bool{}
	for i := range t.Rows {
		text := pidText(t.Rows[i].PID, t.Rows[i].PIDText, t.Rows[i].EmptyPID)
		found[text] = true
		c.rowIn[i] = c.rowIn[i] && slices.Contains(c.o.PIDs, text)
	}
	for _, want := range c.o.PIDs {
		if !found[want] {
			return fmt.Errorf("%w: process %q; there are %s", ErrUnknown, want, listed(found))
		}
	}
	return nil
}

// ranks takes out the rows of other ranks. Rows of no rank stay.
func (c *cutter) ranks() error {
	t := c.t
	labels := ranks(t)
	if len(labels) == 0 {
		own, ok := ownRank(t.Metadata)
		switch {
		case !ok:
			return fmt.Errorf("%w: rank %v: neither the labels of processes nor distributedInfo say whose the trace is", ErrUnknown, c.o.Ranks)
		case !slices.Contains(c.o.Ranks, own):
			return fmt.Errorf("%w: rank %v: the trace is of rank %d", ErrUnknown, c.o.Ranks, own)
		}
		return nil
	}
	found := map[string]bool{}
	for _, n := range labels {
		found[strconv.FormatInt(n, 10)] = true
	}
	for _, want := range c.o.Ranks {
		if !found[strconv.FormatInt(want, 10)] {
			return fmt.Errorf("%w: rank %d; there are %s", ErrUnknown, want, listed(found))
		}
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		if n, ok := labels[pidOf(r)]; ok {
			c.rowIn[i] = slices.Contains(c.o.Ranks, n)
		}
	}
	c.selected = c.o.Ranks
	return nil
}

// listed is a set as a text, cut to a readable length.
func listed(set map[string]bool) string {
	const most = 20
	list := make([]string, 0, len(set))
	for s := range set {
		list = append(list, strconv.Quote(s))
	}
	slices.SortFunc(list, func(a, b string) int {
		if len(a) != len(b) && a[1]-'0' <= 9 && b[1]-'0' <= 9 {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
