package report

import (
	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/summary"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Kinds of device work; the first three are bits of a sweep.
const (
	compute uint8 = iota
	communication
	copying
	filling
	numKinds
)

var kindNames = [numKinds]string{summary.KindCompute, summary.KindCommunication, summary.KindCopy, summary.KindFill}

// kindsOf says what each piece of device work of a trace is, by the rules of package
// summary.
func kindsOf(x *calltree.Tree, rules *chrome.Rules) []uint8 {
	t := x.Trace()
	kinds := make([]uint8, x.NumWorks())
	names := map[uint32]bool{}
	for w := range x.Works() {
		e := x.WorkAt(w)
		switch e.Kind {
		case timeline.Memset:
			kinds[w] = filling
		case timeline.Kernel:
			is, ok := names[e.Name]
			if !ok {
				is = rules.Named("collective", t.Strings.At(e.Name))
				names[e.Name] = is
			}
			if is || t.Kernels.At(e.Detail).Collective != 0 {
				kinds[w] = communication
			}
		default:
			kinds[w] = copying
		}
	}
	return kinds
}
