package chrome

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// KeyCompleteness is the top-level key of the completeness record, the JSON of
// timeline.Completeness.
const KeyCompleteness = "flagosTrace"

// reservedKeys are the members the writer makes itself; metadata of the same
// name is left out.
var reservedKeys = map[string]bool{
	"schemaVersion": true, "deviceProperties": true, KeyCompleteness: true, "displayTimeUnit": true,
	"baseTimeNanoseconds": true, "traceEvents": true, "traceName": true,
}

// deviceKeys are Kineto's deviceProperties in its order, after id and name. The
// last is ROCm's instead of the three before it.
var deviceKeys = []string{
	"totalGlobalMem", "computeMajor", "computeMinor", "maxThreadsPerBlock", "maxThreadsPerMultiprocessor",
	"regsPerBlock", "warpSize", "sharedMemPerBlock", "numSms",
	"regsPerMultiprocessor", "sharedMemPerBlockOptin", "sharedMemPerMultiprocessor",
	"maxSharedMemoryPerMultiProcessor",
}

// SortProperties puts a device's properties into Kineto's order; what Kineto does
// not have follows by name.
func SortProperties(p []timeline.DeviceProperty) {
	rank := func(key string) int {
		if i := slices.Index(deviceKeys, key); i >= 0 {
			return i
		}
		return len(deviceKeys)
	}
	slices.SortFunc(p, func(a, b timeline.DeviceProperty) int {
		return cmp.Or(cmp.Compare(rank(a.Key), rank(b.Key)), cmp.Compare(a.Key, b.Key))
	})
}

// head appends everything up to the first event.
func (r *renderer) head(dst []byte) []byte {
	dst = append(dst, "{\n\"schemaVersion\": 1,\n\"deviceProperties\": ["...)
	for i := range r.t.Devices {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '\n')
		dst = r.device(dst, &r.t.Devices[i])
	}
	dst = append(dst, "],\n"...)
	last := map[string]int{} // of keys set twice the last counts, as for readers
	for i, m := range r.t.Metadata {
		last[m.Key] = i
	}
	for i, m := range r.t.Metadata {
		if !reservedKeys[m.Key] && last[m.Key] == i {
			dst = r.member(dst, m.Key, m.Raw)
		}
	}
	if c := r.t.Completeness; c != nil {
		dst = r.member(dst, KeyCompleteness, completenessJSON(c))
	}
	dst = append(dst, "\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": "...)
	dst = strconv.AppendInt(dst, r.base, 10)
	return append(dst, ",\n\"traceEvents\": [\n"...)
}

func completenessJSON(c *timeline.Completeness) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		// Only a NaN or infinite clock figure can do this.
		b.Reset()
		enc.Encode(map[string]string{"error": err.Error()})
	}
	return b.Bytes()
}

func (r *renderer) member(dst []byte, key string, raw []byte) []byte {
	dst = r.text(dst, "\"", key)
	dst, ok := appendValue(append(dst, `": `...), raw)
	if !ok {
		r.stats.InvalidText++
	}
	return append(dst, ",\n"...)
}

// text appends a prefix and then s, escaped.
func (r *renderer) text(dst []byte, prefix, s string) []byte {
	dst, ok := appendText(append(dst, prefix...), s)
	if !ok {
		r.stats.InvalidText++
	}
	return dst
}

func (r *renderer) device(dst []byte, d *timeline.Device) []byte {
	dst = append(dst, `{"id": `...)
	dst = strconv.AppendUint(dst, uint64(d.ID), 10)
	if d.Name != "" {
		dst = r.text(dst, `, "name": "`, d.Name)
		dst = append(dst, '"')
	}
	written := map[string]bool{"id": true, "name": true}
	property := func(key string) {
		if v, ok := d.Property(key); ok && !written[key] {
			written[key] = true
			dst = r.text(dst, `, "`, key)
			dst = append(dst, `": `...)
			dst = strconv.AppendInt(dst, v, 10)
		}
	}
	for _, key := range deviceKeys {
		property(key)
	}
	if !r.compat { // the reserved shared memory, other vendors' properties
		for _, p := range d.Properties {
			property(p.Key)
		}
	}
	return append(dst, '}')
}

// tail appends the metadata events, the events that delimit the window, and the
// end of the document.
func (r *renderer) tail(dst []byte) []byte {
	dst = r.processes(dst)
	for _, id := range r.usedRows {
		dst = r.row(dst, &r.t.Rows[id], r.rows[id].ids)
	}

	dst = append(dst, `{"ph": "X", "cat": "`+catTraceSpan+`", "name": "`+spanName+`", "pid": "`+pidSpans+`", "tid": "`+tidProfiler+`", "ts": `...)
	dst = appendMicros(dst, r.start-r.base)
	dst = append(dst, `, "dur": `...)
	dst = appendMicros(dst, r.end-r.start)
	dst = append(dst, ", \"args\": {\"Op count\": 0}},\n"...)
	dst = r.meta(dst, "process_sort_index", `"pid": "`+pidSpans+`", "tid": 0`)
	dst = r.metaInt(dst, "sort_index", sortSpans)
	dst = r.instant(dst, iterationStart, pidTraces, tidTraces, r.start)
	dst = append(dst, ",\n"...)
	dst = r.instant(dst, windowEnd, "", "", r.end)
	r.stats.Events += 3
	dst = append(dst, "\n],\n\"traceName\": \""...)
	dst = r.text(dst, "", r.traceName)
	return append(dst, "\"\n}\n"...)
}

func (r *renderer) instant(dst []byte, name, pid, tid string, at int64) []byte {
	dst = append(dst, `{"name": "`+name+`", "ph": "i", "s": "g", "pid": "`+pid+`", "tid": "`+tid+`", "ts": `...)
	dst = appendMicros(dst, at-r.base)
	return append(dst, '}')
}

func (r *renderer) processes(dst []byte) []byte {
	if r.t.Groups != nil {
		for _, g := range r.t.Groups {
			dst = r.process(dst, g.Name, g.Label, g.PID, g.SortIndex)
		}
		return dst
	}
	p := r.t.Process
	if p.PID != 0 {
		label := "CPU"
		// In a container the process may have the number of a device.
		for _, d := range r.devices {
			if int(d) == p.PID {
				label = "CPU, " + r.dialect.device + " " + utoa(d)
			}
		}
		dst = r.process(dst, p.Name, label, int64(p.PID), int64(p.PID))
	}
	for _, d := range r.devices {
		if int(d) != p.PID || p.PID == 0 {
			dst = r.process(dst, p.Name, r.dialect.device+" "+utoa(d), int64(d), sortDevices+int64(d))
		}
	}
	seen := map[int64]bool{}
	for _, id := range r.usedRows {
		if row := &r.t.Rows[id]; row.Kind == timeline.RowOverhead && !seen[row.PID] {
			seen[row.PID] = true
			dst = r.process(dst, r.dialect.overheadProcess, "", row.PID, sortOverhead)
		}
	}
	return dst
}

// process appends the events that name, label and place a process; without a
// name or a label, the event that would tell it is left out.
func (r *renderer) process(dst []byte, name, label string, pid, sort int64) []byte {
	ids := `"pid": ` + strconv.FormatInt(pid, 10) + `, "tid": 0`
	if name != "" {
		dst = r.metaText(r.meta(dst, "process_name", ids), "name", name)
	}
	if label != "" {
		dst = r.metaText(r.meta(dst, "process_labels", ids), "labels", label)
	}
	return r.metaInt(r.meta(dst, "process_sort_index", ids), "sort_index", sort)
}

// row appends the events that name and place a row.
func (r *renderer) row(dst []byte, row *timeline.Row, ids string) []byte {
	if name := r.rowName(row); name != "" {
		dst = r.metaText(r.meta(dst, "thread_name", ids), "name", name)
	}
	index := row.SortIndex
	if !row.HasSortIndex {
		switch row.Kind {
		case timeline.RowStream, timeline.RowSync:
			index = int64(row.Stream)
		case timeline.RowThread, timeline.RowOverhead, timeline.RowContextSync:
			index = row.TID
		default:
			return dst
		}
	}
	return r.metaInt(r.meta(dst, "thread_sort_index", ids), "sort_index", index)
}

// rowName is the name of a row as Kineto writes it, blank at the end of streams'
// included. A name the row has itself stands in a thread's parentheses, and for
// what it is elsewhere.
func (r *renderer) rowName(row *timeline.Row) string {
	switch row.Kind {
	case timeline.RowThread:
		name := "thread " + rowID(row.TID, row.TIDText)
		if row.Name != "" {
			name += " (" + row.Name + ")"
		}
		return name
	case timeline.RowStream, timeline.RowSync:
		if row.Name != "" {
			return row.Name
		}
		name := "stream " + utoa(row.Stream)
		if row.Kind == timeline.RowSync {
			return name + " (sync)" + lane(row)
		}
		return name + lane(row) + " "
	case timeline.RowContextSync:
		return "context (sync)" + lane(row)
	case timeline.RowOverhead:
		if row.Name == "" {
			return r.dialect.overheadProcess
		}
	}
	return row.Name
}

// lane tells the further rows of a row apart.
func lane(row *timeline.Row) string {
	if row.Lane == 0 {
		return ""
	}
	return " (" + strconv.Itoa(int(row.Lane)+1) + ")"
}

// meta begins a metadata event, up to its arguments.
func (r *renderer) meta(dst []byte, name, ids string) []byte {
	r.stats.Events++
	dst = append(dst, `{"name": "`+name+`", "ph": "M", "ts": `...)
	dst = r.micros(dst, r.start-r.base)
	dst = append(dst, `, `...)
	dst = append(dst, ids...)
	return append(dst, `, "args": {"`...)
}

func (r *renderer) metaText(dst []byte, key, value string) []byte {
	dst = append(append(dst, key...), `": "`...)
	return append(r.text(dst, "", value), "\"}},\n"...)
}

func (r *renderer) metaInt(dst []byte, key string, value int64) []byte {
	dst = append(append(dst, key...), `": `...)
	return append(strconv.AppendInt(dst, value, 10), "}},\n"...)
}
