package validate

import (
	"math"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// counts are what the rules ask about the whole document.
type counts struct {
	device, kernels, api, operators int
	launches, captures              int
	collectiveKernels               int
	comms                           bool // an operator has the arguments of a collective
	flows                           int
}

// each calls f with every record, in order.
func (t *trace) each(f func(i uint32, r *record)) {
	n := uint32(0)
	for _, page := range t.table.pages {
		for k := range page {
			if int(n) == t.table.n {
				return
			}
			f(n, &page[k])
			n++
		}
	}
}

// classify counts, finds the window and which rows are a device's, and gives the
// events of producers without categories their kind.
func (t *trace) classify(rules *chrome.Rules) {
	t.byProcess(rules)
	t.deviceRow = make([]bool, t.rows.len())
	t.spansOf = make([]uint32, t.rows.len())
	t.pointsOf = make([]uint32, t.rows.len())
	t.first = math.MaxInt64
	t.windowFrom, t.windowTo = math.MaxInt64, math.MinInt64
	n := &t.counts
	t.each(func(_ uint32, r *record) {
		if r.flags&hasTS == 0 {
			return
		}
		switch r.ph {
		case 'X':
		case 's', 'f':
			n.flows++
			t.pointsOf[r.row]++
			return
		case 'B', 'E':
			t.begins = true
			return
		default:
			return
		}
		t.spansOf[r.row]++
		if r.kind == kWindow {
			t.windowFrom, t.windowTo = min(t.windowFrom, r.ts), max(t.windowTo, r.end())
			return
		}
		if r.ts != 0 {
			t.first = min(t.first, r.ts)
		}
		switch {
		case r.kind.onDevice():
			n.device++
			t.deviceRow[r.row] = true
			if r.kind == kKernel {
				n.kernels++
				if t.flags[r.name]&nCollective != 0 {
					n.collectiveKernels++
				}
			}
		case r.kind == kDeviceAnnotation || r.kind == kSync:
			t.deviceRow[r.row] = true
		case r.kind.isAPI():
			n.api++
			f := t.flags[r.name]
			if f&(nLaunch|nGraphLaunch) != 0 {
				n.launches++
			}
			if f&(nCaptureBegin|nCaptureEnd) != 0 {
				n.captures++
			}
		case r.kind == kOperator || r.kind == kAnnotation:
			n.operators++
			if r.flags&hasComms != 0 {
				n.comms = true
			}
		}
	})
	if t.windowTo > t.windowFrom && t.hasWindowEnd {
		t.windowTo = max(t.windowTo, t.windowEnd)
	}
}

// byProcess gives spans without a category, as in torch_npu's trace_view.json, the kind that their process tells.
func (t *trace) byProcess(rules *chrome.Rules) {
	kinds := map[uint32]kind{}
	for pid, names := range t.processNames {
		for _, n := range names {
			if k, ok := rules.Process(n); ok {
				kinds[pid] = kindsOf[k]
			}
		}
	}
	if len(kinds) == 0 {
		return
	}
	t.each(func(_ uint32, r *record) {
		if r.ph == 'X' && r.kind == kOther {
			if k, ok := kinds[t.rowPID[r.row]]; ok {
				r.kind = k
			}
		}
	})
}
