package validate

import (
	"cmp"
	"slices"
)

// joins finds API calls by their correlation id.
type joins struct {
	calls []uint32 // records of API calls with an id
	next  []uint32 // by call: the next call of the same id, plus one
	used  []bool   // by call: it has device work
	heads *idTable
}

func (t *trace) join() *joins {
	j := &joins{heads: newIDTable(t.counts.api)}
	j.calls = make([]uint32, 0, t.counts.api)
	t.each(func(i uint32, r *record) {
		if r.ph != 'X' || !r.kind.isAPI() || r.flags&(hasID|hasTS) != hasID|hasTS {
			return
		}
		slot := j.heads.slot(r.id)
		j.calls = append(j.calls, i)
		j.next = append(j.next, *slot)
		*slot = uint32(len(j.calls))
	})
	j.used = make([]bool, len(j.calls))
	return j
}

// of yields the calls with an id, the last in the document first.
func (j *joins) of(id int64, f func(call uint32)) {
	v, ok := j.heads.get(id)
	for n := v + 1; ok && n != 0; n = j.next[n-1] {
		f(n - 1)
	}
}

// checkJoins holds device work against the calls that launched it.
func checkJoins(t *trace, c *collector) {
	j := t.join()
	t.joins = j
	tolerance := t.tolerance()
	t.each(func(i uint32, r *record) {
		if r.ph != 'X' || !r.kind.onDevice() || r.flags&(hasID|hasTS) != hasID|hasTS || r.id == 0 {
			return
		}
		found, fits := false, false
		var late *record
		j.of(r.id, func(call uint32) {
			found = true
			j.used[call] = true
			if api := t.table.at(j.calls[call]); api.ts <= r.ts+tolerance {
				fits = true
			} else if late == nil || api.ts < late.ts {
				late = api
			}
		})
		switch {
		case !found:
			c.event(rNoAPI, i, "%s has correlation id %d, which no API call has", t.name(r), r.id)
		case !fits && r.ts != 0:
			c.event(rBeforeLaunch, i, "%s starts %s before its launch %s (event %d)", t.name(r), micro(late.ts-r.ts), t.name(late), late.index)
		}
	})
	t.sharedIDs(c, j)
	t.launches(c, j)
}

// sharedIDs reports correlation ids of several calls: of one process, or of
// several.
func (t *trace) sharedIDs(c *collector, j *joins) {
	type pair struct{ a, b uint32 }
	var processes map[pair]int
	for call := range j.calls {
		n := j.next[call]
		if n == 0 {
			continue
		}
		r, other := t.table.at(j.calls[call]), t.table.at(j.calls[n-1])
		a, b := t.rowPID[r.row], t.rowPID[other.row]
		if a == b {
			// A driver call inside a runtime call may share its id.
			if r.kind == other.kind {
				c.event(rCorrelationReused, j.calls[call], "%s has correlation id %d, as %s (event %d) has", t.name(r), r.id, t.name(other), other.index)
			}
			continue
		}
		if processes == nil {
			processes = map[pair]int{}
		}
		if len(processes) < 1000 {
			p := pair{min(a, b), max(a, b)}
			if processes[p]++; processes[p] == 1 {
				c.event(rRanks, j.calls[call], "processes %s and %s both have correlation id %d", t.pids.text(a), t.pids.text(b), r.id)
			}
		}
	}
}

// launches reports launches without device work.
func (t *trace) launches(c *collector, j *joins) {
	if t.counts.launches > 0 && t.counts.device == 0 {
		c.at(rNoDeviceWork, 0, "%d launches and no device work", t.counts.launches)
		return
	}
	captures := t.captureIntervals(j)
	var without []uint32
	lastUsed := int64(-1 << 62)
	for call, rec := range j.calls {
		r := t.table.at(rec)
		if t.flags[r.name]&(nLaunch|nGraphLaunch) == 0 {
			continue
		}
		if j.used[call] {
			lastUsed = max(lastUsed, r.ts)
			continue
		}
		if within(captures[r.row], r.ts) {
			continue
		}
		without = append(without, rec)
		c.event(rLaunchAlone, rec, "%s with correlation id %d has no device work", t.name(r), r.id)
	}
	// Launches that follow the last one with device work, one and all.
	tail := 0
	var first *record
	for _, rec := range without {
		if r := t.table.at(rec); r.ts > lastUsed {
			tail++
			if first == nil || r.ts < first.ts {
				first = r
			}
		}
	}
	if tail >= 3 {
		c.at(rDropped, first.offset, "none of the last %d launches has device work: the device's records end before the host's", tail)
	}
}

// captureIntervals finds, by row, when a stream was being captured.
func (t *trace) captureIntervals(j *joins) map[uint32][]span {
	if t.counts.captures == 0 {
		return nil
	}
	var calls []uint32
	for _, rec := range j.calls {
		if t.flags[t.table.at(rec).name]&(nCaptureBegin|nCaptureEnd) != 0 {
			calls = append(calls, rec)
		}
	}
	slices.SortStableFunc(calls, func(a, b uint32) int { return cmp.Compare(t.table.at(a).ts, t.table.at(b).ts) })
	intervals := map[uint32][]span{}
	for _, rec := range calls {
		r := t.table.at(rec)
		list := intervals[r.row]
		if t.flags[r.name]&nCaptureBegin != 0 {
			intervals[r.row] = append(list, span{r.ts, 1<<63 - 1, rec})
		} else if n := len(list); n > 0 {
			list[n-1].end = r.end()
		} else {
			intervals[r.row] = append(list, span{-1 << 63, r.end(), rec}) // it began before the window
		}
	}
	return intervals
}

func within(intervals []span, ts int64) bool {
	k, _ := slices.BinarySearchFunc(intervals, ts, func(s span, ts int64) int { return cmp.Compare(s.ts, ts+1) })
	return k > 0 && ts <= intervals[k-1].end
}
