package correlate

import (
	"encoding/json"
	"strconv"

	"github.com/flagos-ai/flagos-trace/event"
)

// maxTasks bounds the tasks of which it is known where their arguments are: most
// programs have few, but for the numbers of elements.
const maxTasks = 1 << 16

// task stores what the library told of a kernel's task as arguments and returns their
// index, 0 for none. The keys are those of torch_npu's traces, where those have them.
func (b *Builder) task(e *event.Event) uint32 {
	if e.Has&event.HasTask == 0 {
		return 0
	}
	t := e.Task
	id, ok := b.taskArgs[t]
	if ok {
		return id
	}
	var out []byte
	key := func(k string) {
		if len(out) > 0 {
			out = append(out, ", "...)
		}
		out = append(append(append(out, '"'), k...), `": `...)
	}
	text := func(k string, name uint32) {
		if s := b.t.Strings.At(name); s != "" {
			if v, err := json.Marshal(s); err == nil {
				key(k)
				out = append(out, v...)
			}
		}
	}
	text("type", t.Type)
	text("commName", t.Communicator)
	text("algType", t.Algorithm)
	text("dataType", t.DataType)
	if t.Count != 0 {
		key("count")
		out = strconv.AppendUint(out, t.Count, 10)
	}
	if t.Bandwidth != 0 {
		key("bandwidth (GB/s)")
		out = strconv.AppendFloat(out, t.Bandwidth, 'g', -1, 64)
	}
	id = b.t.Args.Add(out)
	if len(b.taskArgs) < maxTasks {
		b.taskArgs[t] = id
	}
	return id
}
