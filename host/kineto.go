package host

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ReadKinetoFile reads a Kineto trace from a file, compressed or not; see
// ReadKineto. Errors name the file.
func ReadKinetoFile(path string) (*Host, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	defer f.Close()
	h, err := ReadKineto(f)
	if err != nil {
		err = fmt.Errorf("host: read %s: %w", path, err)
	}
	return h, err
}

// ReadKineto takes the host side out of a Kineto trace. Errors are those of
// chrome.Scan. What was read before an error is returned with it.
func ReadKineto(r io.Reader) (*Host, error) {
	k := reader{host: &Host{Skipped: map[string]uint64{}}, names: map[[2]int64][]string{}, processes: map[int64]string{}, text: make([]byte, 0, 4096)}
	err := chrome.Scan(r, &k)
	k.finish()
	return k.host, err
}

// deviceSide are the categories of events that are not the host program's: work
// of the device, API calls and the profiler's own. Source: Kineto's activity
// types; the capitals are of 2021.
var deviceSide = map[string]bool{
	"kernel": true, "gpu_memcpy": true, "gpu_memset": true, "gpu_user_annotation": true, "gpu_op": true,
	"cuda_runtime": true, "cuda_driver": true, "cuda_sync": true, "cuda_event": true, "cuda_profiler_range": true,
	"xpu_runtime": true, "xpu_driver": true, "xpu_sync": true, "xpu_scope_profiler": true,
	"musa_runtime": true, "musa_driver": true, "mtia_runtime": true, "mtia_ccp_events": true, "mtia_insight": true,
	"mtia_counters": true, "glow_runtime": true, "hpu_op": true, "collective_comm": true, "hardware_counters": true,
	"overhead": true, "Trace": true,
	"Kernel": true, "Memcpy": true, "Memset": true, "Runtime": true,
}

func isDeviceSide(category []byte) bool {
	return deviceSide[string(category)] || bytes.HasPrefix(category, []byte("privateuse1_")) ||
		bytes.HasPrefix(category, []byte("hip"))
}

// notMetadata are top-level members that are kept elsewhere or not at all: the
// writer of a document makes its own.
var notMetadata = map[string]bool{
	"schemaVersion": true, "displayTimeUnit": true, "traceName": true, "traceEvents": true, chrome.KeyCompleteness: true,
}

type reader struct {
	host      *Host
	names     map[[2]int64][]string // of threads, by pid and tid
	processes map[int64]string
	spanStart int64 // of the first "Trace" span, relative
	spanEnd   int64
	windowEnd int64
	hasSpan   bool
	hasEnd    bool
	scratch   []byte
	text      []byte // for decoding strings with escapes; longer ones allocate
}

// Member implements chrome.Handler.
func (k *reader) Member(key string, v chrome.Value) error {
	switch {
	case notMetadata[key]:
	case key == "baseTimeNanoseconds":
		n, ok := v.Int()
		if !ok {
			return fmt.Errorf("%w: %.40s is not a time in ns", chrome.ErrTime, v)
		}
		k.host.Base, k.host.HasBase = n, true
	case key == "deviceProperties":
		k.host.Devices = chrome.ReadDevices(v)
	default:
		k.host.Metadata = append(k.host.Metadata, timeline.Property{Key: string(chrome.Value(`"` + key + `"`).Text(nil)), Raw: bytes.Clone(v)})
	}
	return nil
}

// Event implements chrome.Handler.
func (k *reader) Event(e *chrome.Event) error {
	switch {
	case e.Phase.Is("M"):
		k.metadata(e)
		return nil
	case e.Phase.Is("X"), e.Phase.Is("i"), e.Phase.Is("I"):
		return k.span(e)
	case e.Phase.Is("s"), e.Phase.Is("f"):
		if e.Category.Is("fwdbwd") || e.Category.Is("forward_backward") {
			k.flow(e)
			return nil
		}
	}
	k.skip(e)
	return nil
}

func (k *reader) skip(e *chrome.Event) {
	if c := e.Category.Text(k.text); len(c) > 0 {
		k.host.Skipped[string(c)]++
		return
	}
	k.host.Skipped["phase "+string(e.Phase.Text(nil))]++
}

func (k *reader) span(e *chrome.Event) error {
	start, err := e.TS.Nanoseconds()
	var dur int64
	if err == nil && e.Dur != nil {
		dur, err = e.Dur.Nanoseconds()
	}
	if err != nil || start > math.MaxInt64-max(dur, 0) {
		k.host.Skipped["bad time"]++
		return nil
	}
	end := start + max(dur, 0)
	switch {
	case e.Category.Is("Trace"):
		if !k.hasSpan {
			k.spanStart, k.spanEnd, k.hasSpan = start, end, true
		}
		k.spanStart, k.spanEnd = min(k.spanStart, start), max(k.spanEnd, end)
		return nil
	case e.Category == nil && e.Name.Is("Record Window End"):
		k.windowEnd, k.hasEnd = start, true
		return nil
	case e.Category == nil && bytes.HasPrefix(e.Name, []byte(`"Iteration Start: `)):
		return nil
	}
	category := e.Category.Text(k.text)
	pid, okPID := e.PID.Int()
	tid, okTID := e.TID.Int()
	if !okPID || !okTID || len(category) == 0 || isDeviceSide(category) {
		k.skip(e)
		return nil
	}
	op := Op{
		Category: k.host.Strings.IDBytes(category),
		PID:      pid, TID: tid, Start: start, End: end,
	}
	op.Name = k.host.Strings.IDBytes(e.Name.Text(k.text))
	k.args(&op, e.Args)
	k.host.Ops = append(k.host.Ops, op)
	return nil
}

// args keeps an event's arguments, External id apart.
func (k *reader) args(op *Op, args chrome.Value) {
	if len(args) < 2 || args[0] != '{' {
		return
	}
	raw := bytes.TrimSpace(args[1 : len(args)-1])
	from, to := 0, 0
	for m := chrome.WalkMembers(raw); m.Next(); {
		switch string(m.Key) {
		case "External id", "external id":
			if n, ok := m.Value.Int(); ok && !op.HasExternal {
				op.External, op.HasExternal = n, true
				from, to = m.Start, m.End
			}
		case "finished":
			op.Unfinished = string(m.Value) == "false"
		}
	}
	if op.HasExternal {
		before, after := bytes.TrimSpace(raw[:from]), bytes.TrimSpace(raw[to:])
		if len(before) == 0 {
			raw = bytes.TrimSpace(bytes.TrimPrefix(after, []byte{','}))
		} else {
			k.scratch = append(append(k.scratch[:0], bytes.TrimSuffix(before, []byte{','})...), after...)
			raw = k.scratch
		}
	}
	if len(raw) > 0 {
		op.Args = k.host.args.At(k.host.args.Add(raw))
	}
}

func (k *reader) flow(e *chrome.Event) {
	ts, err := e.TS.Nanoseconds()
	if err != nil {
		k.host.Skipped["bad time"]++
		return
	}
	id, errID := strconv.ParseUint(string(e.ID.Text(nil)), 10, 64)
	pid, okPID := e.PID.Int()
	tid, okTID := e.TID.Int()
	if errID != nil || !okPID || !okTID {
		k.skip(e)
		return
	}
	k.host.Flows = append(k.host.Flows, Flow{
		ID: id, TS: ts, PID: pid, TID: tid,
		Name: k.host.Strings.IDBytes(e.Category.Text(nil)), Start: e.Phase.Is("s"),
	})
}

func (k *reader) metadata(e *chrome.Event) {
	pid, ok := e.PID.Int()
	if !ok {
		return
	}
	switch {
	case e.Name.Is("process_labels"):
		if chrome.Lookup(e.Args, "labels").Is("CPU") {
			k.host.Process.PID = int(pid)
		}
	case e.Name.Is("process_name"):
		k.processes[pid] = string(chrome.Lookup(e.Args, "name").Text(nil))
	case e.Name.Is("thread_name"):
		tid, ok := e.TID.Int()
		name := string(chrome.Lookup(e.Args, "name").Text(nil))
		if !ok || name == "" {
			return
		}
		key := [2]int64{pid, tid}
		k.names[key] = append(k.names[key], threadName(name, tid))
	}
}

// threadName takes the system's name out of Kineto's "thread 543 (name)".
func threadName(name string, tid int64) string {
	inner, ok := strings.CutPrefix(name, "thread "+strconv.FormatInt(tid, 10)+" (")
	if inner, closed := strings.CutSuffix(inner, ")"); ok && closed {
		return inner
	}
	return name
}

// finish makes times absolute, which only the end of the document allows, and
// fills in what follows from the whole.
func (k *reader) finish() {
	h := k.host
	for i := range h.Ops {
		h.Ops[i].Start = addTime(h.Ops[i].Start, h.Base)
		h.Ops[i].End = addTime(h.Ops[i].End, h.Base)
	}
	for i := range h.Flows {
		h.Flows[i].TS = addTime(h.Flows[i].TS, h.Base)
	}
	h.arrange(k.names)
	h.Process.Name = k.processes[int64(h.Process.PID)]
	if name := h.Property("host_name"); name != nil {
		h.Process.Host = string(chrome.Value(name).Text(nil))
	}
	if k.hasSpan {
		end := k.spanEnd
		if k.hasEnd {
			end = k.windowEnd
		}
		h.Window = timeline.Window{Start: addTime(k.spanStart, h.Base), End: addTime(max(end, k.spanStart), h.Base)}
		h.HasWindow = true
		return
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		if i == 0 {
			h.Window = timeline.Window{Start: op.Start, End: op.End}
		}
		h.Window.Start, h.Window.End = min(h.Window.Start, op.Start), max(h.Window.End, op.End)
	}
}

// addTime adds and keeps within int64, so that nonsense in a document does not
// turn an end into a time before its start.
func addTime(a, b int64) int64 {
	switch sum := a + b; {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	default:
		return sum
	}
}
