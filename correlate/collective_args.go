package correlate

import (
	"bytes"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// CollectiveOp is the name of the operator whose arguments describe a collective
// operation.
const CollectiveOp = "record_param_comms"

// collectiveGroups are the arguments of a collective operator that its kernels
// carry too, in the order of Kineto. Those of a group that is whole come all
// together or not at all.
var collectiveGroups = []struct {
	whole bool
	keys  []string
}{
	{true, []string{"Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype"}},
	{false, []string{"Input Tensors start", "Output Tensors start"}},
	{true, []string{"In split size", "Out split size"}},
	{false, []string{"Process Group Name", "Process Group Description", "Process Group Ranks"}},
	{false, []string{"Dst Rank", "Src Rank"}},
	{false, []string{"Seq", "Comms Id"}},
}

// CollectiveArgs returns the members to put behind the arguments of the kernels
// that a CollectiveOp launched: its own values, raw (some exceed what a float64
// holds), in Kineto's order. Nil if there are none. args is Op.Args.
func CollectiveArgs(args []byte) []byte {
	values := map[string]chrome.Value{}
	for m := chrome.WalkMembers(args); m.Next(); {
		values[string(m.Key)] = m.Value
	}
	var out []byte
	for _, g := range collectiveGroups {
		complete := true
		for _, key := range g.keys {
			complete = complete && values[key] != nil
		}
		for _, key := range g.keys {
			v := values[key]
			if v == nil || g.whole && !complete {
				continue
			}
			if len(out) > 0 {
				out = append(out, ", "...)
			}
			out = append(append(append(out, '"'), key...), `": `...)
			out = append(out, bytes.TrimSpace(v)...)
		}
	}
	return out
}
