package record

import (
	"cmp"
	"os"
	"slices"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
)

// member is a process with what its spool says of its place among the others.
type member struct {
	*spoolFile
	header spool.Header
	local  string // LOCAL_RANK
	told   bool   // the rank is the framework's word
	used   *bool  // whether it used the device, once that was looked up
}

// members are all processes of a recording.
type members []member

// readRanks fills in what spools are in a distributed program. Those that were
// dealt with before are told apart from them, too, and left as they are.
//
// The variables that tell a rank are inherited. So a process below one with the
// same number is a helper of that rank, such as a worker that loads data, and one
// without LOCAL_RANK whose children have one is a launcher, whatever RANK it was
// itself started with. The framework's own word, where the host side has it, settles
// it.
func readRanks(spools []spoolFile, earlier ...spoolFile) {
	earlier = slices.Clone(earlier)
	var all members
	take := func(s *spoolFile) {
		h, ok := readHeader(s.path)
		if !ok {
			return
		}
		s.rank, _ = rankOf(h.Env)
		rank, told := hostRank(s.path)
		if told {
			s.rank = rank
		}
		s.hasRank = s.rank >= 0
		all = append(all, member{spoolFile: s, header: h, local: h.Env["LOCAL_RANK"], told: told})
	}
	for i := range spools {
		spools[i].rank, spools[i].hasRank, spools[i].helper, spools[i].launcher = 0, false, false, false
		take(&spools[i])
	}
	for i := range earlier {
		take(&earlier[i])
	}
	all.launchers()
	var helpers []*member
	for i := range all {
		if m := &all[i]; m.hasRank && all.belowRank(m) {
			helpers = append(helpers, m)
		}
	}
	for _, m := range helpers {
		m.helper, m.hasRank = true, false
	}
	all.strangers()
}

// parent returns the process that started one, nil if it has no spool. Of two with
// its number the one that began last before it counts, and of the spools of one that
// replaced itself the newest, which comes first.
func (all members) parent(m *member) (found *member) {
	for i := range all {
		p := &all[i]
		if p.pid == m.header.PPID && p.pid != m.pid && p.pid != 0 && p.start <= m.start && (found == nil || p.start > found.start) {
			found = p
		}
	}
	return found
}

// launchers finds those that started ranks.
func (all members) launchers() {
	for i := range all {
		m := &all[i]
		p := all.parent(m)
		switch {
		case !m.hasRank || p == nil:
		case !p.hasRank:
			p.launcher = true
		case p.told:
		case p.local == "" && m.local != "", m.told:
			p.launcher, p.hasRank = true, false
		}
	}
}

// belowRank reports whether a process above this one, which used the device, has the
// same place among the ranks. One that did not is a wrapper around the rank.
func (all members) belowRank(m *member) bool {
	if m.told {
		return false
	}
	p := all.parent(m)
	for range all { // no way is longer, whatever the headers say
		if p == nil {
			return false
		}
		if p.hasRank && p.rank == m.rank && p.local == m.local && p.worked() {
			return true
		}
		p = all.parent(p)
	}
	return false
}

// worked reports whether a process left any records.
func (m *member) worked() bool {
	if m.used == nil {
		used := recordBytes(m.path) > 0
		m.used = &used
	}
	return *m.used
}

// strangers finds the helpers that a process without a spool started, such as a
// server that forks workers: of several processes with one number those that ran
// beside the one that began first, and neither had its parent nor a parent that
// another rank has as well. Ranks begun anew after a failure, and those of a second
// program, have such a parent.
func (all members) strangers() {
	byRank, parents := map[int][]*member{}, map[int]map[int]bool{}
	for i := range all {
		m := &all[i]
		if !m.hasRank {
			continue
		}
		byRank[m.rank] = append(byRank[m.rank], m)
		if parents[m.header.PPID] == nil {
			parents[m.header.PPID] = map[int]bool{}
		}
		parents[m.header.PPID][m.rank] = true
	}
	for _, list := range byRank {
		if len(list) < 2 {
			continue
		}
		slices.SortStableFunc(list, func(a, b *member) int { return cmp.Compare(a.start, b.start) })
		at := slices.IndexFunc(list, (*member).worked)
		if at < 0 {
			continue
		}
		first := list[at]
		until := first.lastWrite()
		for _, m := range list[at+1:] {
			if ppid := m.header.PPID; !m.told && ppid != 0 && ppid != first.header.PPID && m.pid != first.pid && len(parents[ppid]) < 2 &&
				m.start > first.start && m.header.StartNS < until {
				m.helper, m.hasRank = true, false
			}
		}
	}
}

// lastWrite returns when the agent last wrote to a spool, CLOCK_REALTIME ns; now if
// its process runs.
func (f spoolFile) lastWrite() int64 {
	if !f.alive() {
		if st, err := os.Stat(f.path); err == nil {
			return st.ModTime().UnixNano()
		}
	}
	return time.Now().UnixNano()
}
