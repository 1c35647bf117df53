package cut

import (
	"encoding/json"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// KeyCuts is the top-level key of what is said about cuts in a document without a
// completeness record: a JSON array of timeline.Cut, the first cut first. A record
// would say that the trace was recorded by this tool.
const KeyCuts = "flagosTraceCuts"

// completeness says in the record of the part, or in the document, that it is one.
func (b *builder) completeness() {
	r := &b.c.result
	cut := timeline.Cut{By: b.c.o.String(), Kept: uint64(r.Events), Of: uint64(r.Of)}
	was := b.from.Completeness
	if was == nil {
		b.member(cut)
		return
	}
	if b.c.ofRank != nil || len(b.c.selected) > 0 {
		was = b.ofRanks(was)
	}
	now := *was
	if was.Written != nil {
		now.Written = map[string]uint64{}
	}
	for i := range uint32(b.to.Events.Len()) {
		if k := b.to.Events.At(i).Kind.String(); was.Written[k] > 0 {
			now.Written[k]++
		}
	}
	now.Cuts = append(slices.Clone(was.Cuts), cut)
	b.to.Completeness = &now
}

// ofRanks is the part of a merged trace's record that is about the ranks that were
// chosen: the record of the one, if it is one.
func (b *builder) ofRanks(was *timeline.Completeness) *timeline.Completeness {
	now := *was
	now.Processes = nil
	for _, p := range was.Processes {
		n, ok := rankOf(&timeline.Group{Label: p.Label})
		if !ok || slices.Contains(b.c.o.Ranks, n) {
			now.Processes = append(now.Processes, p)
		}
	}
	if len(now.Processes) == 1 && now.Processes[0].Completeness != nil {
		p := now.Processes[0]
		if b.to.Process.PID == 0 {
			b.to.Process = timeline.Process{PID: p.PID, Host: p.Host}
		}
		return p.Completeness
	}
	return &now
}

// member adds the cut to the document's members.
func (b *builder) member(cut timeline.Cut) {
	if s := b.from.Source; s != nil && s.Array {
		return // a bare array has none
	}
	var cuts []timeline.Cut
	at := slices.IndexFunc(b.to.Metadata, func(p timeline.Property) bool { return p.Key == KeyCuts })
	if at >= 0 {
		// What is there and is no list of cuts was not written here, and goes.
		_ = json.Unmarshal(b.to.Metadata[at].Raw, &cuts)
	}
	raw, err := json.Marshal(append(cuts, cut))
	if err != nil {
		return // numbers and text: cannot be
	}
	if at >= 0 {
		b.to.Metadata[at].Raw = raw
		return
	}
	b.to.Metadata = append(b.to.Metadata, timeline.Property{Key: KeyCuts, Raw: raw})
}
