package record

import (
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// Arrows of the host side are kept whole or not at all: one beginning, at least
// one end. Ids are counted for each kind of arrow.
func TestHostArrows(t *testing.T) {
	h := &host.Host{}
	forward, other := h.Strings.ID("fwdbwd"), h.Strings.ID("other")
	h.Ops = []host.Op{{Name: h.Strings.ID("aten::mm"), Category: h.Strings.ID("cpu_op"), PID: 1, TID: 2, Start: 10, End: 20}}
	for _, f := range []struct {
		id    uint64
		name  uint32
		start bool
	}{
		{1, forward, true}, {1, forward, false}, // whole
		{2, forward, true},                       // no end
		{3, forward, false}, {3, forward, false}, // no beginning
		{4, forward, true}, {4, forward, true}, {4, forward, false}, // two beginnings
		{5, forward, false}, {5, forward, true}, {5, forward, false}, // two ends
		{2, other, false}, {2, other, true}, // whole, of another kind
	} {
		h.Flows = append(h.Flows, host.Flow{ID: f.id, TS: 15, PID: 1, TID: 2, Name: f.name, Start: f.start})
	}
	c := newCollector("test")
	c.addHost(h)
	if err := c.open(tracer.BindingInfo{Tracer: "cupti", APIVersion: recordsAPI}, tracer.Config{}); err != nil {
		t.Fatal(err)
	}
	if err := c.finish(correlate.Options{}); err != nil {
		t.Fatal(err)
	}
	var ids []uint64
	for _, f := range c.trace.Flows {
		ids = append(ids, f.ID)
	}
	if want := []uint64{1, 1, 5, 5, 5, 2, 2}; !slices.Equal(ids, want) || c.rec.Noted[orphanArrows] != 6 {
		t.Errorf("arrows %v, want %v; noted %v", ids, want, c.rec.Noted)
	}
}
