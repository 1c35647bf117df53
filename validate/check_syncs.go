package validate

import (
	"cmp"
	"slices"
)

// checkSyncs checks synchronizations: what they wait for, and that they do not
// begin over running work of their row.
func checkSyncs(t *trace, c *collector) {
	t.syncsApart = true
	if t.syncs.n == 0 {
		return
	}
	// Device work of the rows that have synchronizations of streams.
	work := map[uint32][]span{}
	t.each(func(_ uint32, r *record) {
		if r.ph == 'X' && t.isStreamSync(r) {
			work[r.row] = nil
		}
	})
	if len(work) > 0 {
		t.each(func(i uint32, r *record) {
			if r.ph != 'X' || !r.kind.onDevice() || r.flags&(hasTS|hasDur) != hasTS|hasDur {
				return
			}
			if list, ok := work[r.row]; ok {
				work[r.row] = append(list, span{r.ts, r.end(), i})
				t.syncsApart = false
			}
		})
		for _, list := range work {
			slices.SortFunc(list, bySpan)
		}
	}
	t.each(func(i uint32, r *record) {
		if r.ph != 'X' || r.kind != kSync || r.side == 0 {
			return
		}
		s := t.syncs.at(r.side - 1)
		switch s.kind {
		case syncStreamWait, syncEvent:
			if s.mask&bit(aWaitCorr) == 0 || s.waits < 0 {
				c.event(rSyncRecord, i, "%s does not say which record it waits for", t.name(r))
			} else if s.kind == syncStreamWait {
				t.recordBefore(c, i, r, s.waits)
			}
		case syncStream:
			list := work[r.row]
			k, _ := slices.BinarySearchFunc(list, r.ts, func(k span, ts int64) int { return cmp.Compare(k.ts, ts) })
			// Work of a stream follows one another; a few may run at once.
			for n := k - 1; n >= 0 && n >= k-8; n-- {
				if list[n].end > r.ts+t.tolerance() {
					busy := t.table.at(list[n].rec)
					c.event(rSyncOverlap, i, "it begins %s before %s (event %d) ends", micro(list[n].end-r.ts), t.name(busy), busy.index)
					break
				}
			}
		}
	})
}

// recordBefore checks that the record that is waited for was made before.
func (t *trace) recordBefore(c *collector, i uint32, r *record, id int64) {
	var record *record
	t.joins.of(id, func(call uint32) {
		if a := t.table.at(t.joins.calls[call]); t.flags[a.name]&nEventRecord != 0 {
			record = a
		}
	})
	switch {
	case record == nil:
		c.event(rSyncOrder, i, "the cudaEventRecord with correlation id %d is not in the document", id)
	case record.ts > r.ts:
		c.event(rSyncOrder, i, "its cudaEventRecord (event %d) is %s later", record.index, micro(record.ts-r.ts))
	}
}
