package baseline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// varying are arguments that cannot be one value over several different kernels or
// copies.
var varying = map[string][]string{
	"kernel":       {"registers per thread", "shared memory", "blocks per SM", "warps per SM", "est. achieved occupancy %", "grid", "block", "correlation", "External id"},
	"gpu_memcpy":   {"bytes", "memory bandwidth (GB/s)", "correlation", "External id"},
	"gpu_memset":   {"memory bandwidth (GB/s)", "correlation", "External id"},
	"cuda_runtime": {"cbid", "correlation", "External id"},
	"cuda_driver":  {"correlation", "External id"},
}

// Fewer events or names than these say nothing about a value that does not vary.
const (
	enoughEvents = 8
	enoughNames  = 3
)

func (d *differ) constant() {
	if d.now.Seen == nil {
		return
	}
	d.oneOfMany()
	d.tooCommon()
	for _, category := range sorted(varying) {
		c, base := d.now.Seen.Classes[category], d.base.Shape.Categories[category]
		if c == nil || base == nil || c.N < enoughEvents || category == "kernel" && c.Names < enoughNames {
			continue
		}
		for _, key := range varying[category] {
			a, b := c.Args[key], base.Args[key]
			// Torch-FL's file says nothing of values: those of different kernels do vary.
			if a == nil || a.N < enoughEvents || b == nil || !b.Varies && !(d.base.Shape.Partial() && category == "kernel" && key != "shared memory") {
				continue
			}
			if d.base.Seen == nil && mayBeConstant(c, key) {
				continue
			}
			d.checked++
			d.judged = true
			if a.Varies || d.constantInBase(category, key, a) {
				continue
			}
			d.broken++
			d.find(verdict.Finding{Subject: "constant:" + category + "/" + key, Severity: verdict.Error, Where: d.first(category, key), Count: a.N, Of: c.N,
				What:     fmt.Sprintf("%q is %s on all %d events of category %s, of %s", key, a.First, a.N, category, count(c.Names, "name")),
				Expected: "values that differ, as in the base", Got: a.First + " everywhere", Fix: "write what was measured; leave the argument out where nothing was"})
		}
	}
}

// constantInBase reports whether an argument has one value in the base, too, on the
// kernels that the new side also runs: then it is others that made it vary there.
func (d *differ) constantInBase(category, key string, now *shape.ArgStat) bool {
	if d.base.Seen == nil || d.base.Seen.Classes[category] == nil {
		return false
	}
	base := d.base.Seen.Classes[category].Args[key]
	if base == nil {
		return false
	}
	values := map[string]bool{}
	names := 0
	for name := range now.ByName {
		if v, ok := base.ByName[name]; ok {
			values[v] = true
			names++
		}
	}
	return names >= enoughNames && len(values) == 1
}

// mayBeConstant reports whether some program has one value for an argument: what a
// baseline file says of it may be of another program. Small kernels are launched
// alike, and their figures follow from that.
func mayBeConstant(c *shape.Class, key string) bool {
	varies := func(key string) bool { return c.Args[key] != nil && c.Args[key].Varies }
	switch key {
	case "grid", "block", "bytes", "External id", "shared memory":
		return true
	case "blocks per SM", "warps per SM", "est. achieved occupancy %":
		return !varies("grid") && !varies("block")
	case "cbid":
		return c.Names < enoughNames
	}
	return false
}

func (d *differ) plausible() {
	d.measured(shape.Plausible, verdict.Error, verdict.Finding{What: "figures are outside the range they can have",
		Fix: "check the record's layout: a field read at a wrong offset looks like this"})
}

func (d *differ) derived() {
	d.measured(shape.Derived, verdict.Error, verdict.Finding{What: "figures do not follow from those they are made of",
		Fix: "blocks per SM are the grid's blocks over numSms, warps per SM that times the block's warps, a bandwidth bytes over ns"})
}

func (d *differ) copied() {
	if d.now.Seen == nil {
		return
	}
	for _, category := range sorted(d.now.Seen.Classes) {
		c := d.now.Seen.Classes[category]
		if argSeverity(category) != verdict.Error {
			continue
		}
		if c.N >= enoughEvents {
			d.judged = true
			d.checked++
		}
		for _, x := range c.Copied {
			if x.N < enoughEvents || !c.Args[x.A].Varies {
				continue // one value: told elsewhere
			}
			if b := d.base.Seen; b != nil && b.Classes[category] != nil && slices.ContainsFunc(b.Classes[category].Copied, func(y shape.Copied) bool { return y.A == x.A && y.B == x.B }) {
				d.same = true
				continue
			}
			d.broken++
			d.find(verdict.Finding{Subject: "copied:" + category + "/" + x.A + "=" + x.B, Severity: verdict.Error, Where: d.first(category, x.B), Count: x.N, Of: c.N,
				What:     fmt.Sprintf("%q and %q are the same on all %d events of category %s", x.A, x.B, x.N, category),
				Expected: "two figures", Got: "one, twice", Fix: "write each from its own source"})
		}
	}
}

func (d *differ) durations() {
	what := "device work takes no time"
	if d.now.Seen != nil {
		if n := d.now.Seen.BadDurations; n > 0 {
			what = fmt.Sprintf("device work takes no time, where a negative or missing dur is taken as 0, of which the document has %d", n)
		}
	}
	d.measured(shape.TakesTime, verdict.Error, verdict.Finding{What: what, Fix: "leave out work whose end is not known, or synchronize before recording stops"})
	if d.now.Seen == nil {
		return
	}
	if m := d.now.Seen.Measures[shape.InTurn]; m != nil && m.Checked > 0 {
		d.measured(shape.InTurn, verdict.Error, verdict.Finding{What: "streams have more work at once than they can",
			Fix: "check the unit of dur, which is microseconds as that of ts, and that both ends are of one clock"})
	}
	for _, category := range []string{"kernel", "gpu_memcpy", "cuda_runtime", "cpu_op"} {
		c := d.now.Seen.Classes[category]
		if c == nil || c.N < enoughEvents || !c.SameTime || d.o.Scope == Device && hostSide[category] {
			continue
		}
		if b := d.base.Seen; b != nil && b.Classes[category] != nil && b.Classes[category].SameTime {
			d.same = true
			continue
		}
		d.broken++
		d.judged = true
		how := "equally long"
		if c.NS == 0 {
			how = "no time"
		}
		d.find(verdict.Finding{Subject: "duration:" + category, Severity: verdict.Error, Where: d.first(category, ""), Count: c.N, Of: c.N,
			What:     fmt.Sprintf("all %d events of category %s last %s", c.N, category, how),
			Expected: "lengths that differ", Got: strconv.FormatFloat(float64(c.NS)/float64(c.N)/1000, 'f', 3, 64) + " us each", Fix: "write the times that were measured"})
	}
}

func (d *differ) rows() {
	d.measured(shape.RowsNamed, verdict.Warning, verdict.Finding{What: "rows with device work have no name", Expected: "stream 7", Fix: "write thread_name for each row"})
	d.measured(shape.ProcessesLabeled, verdict.Warning, verdict.Finding{What: "processes that show a device have no label", Expected: "GPU 0", Fix: "write process_labels for each device"})
	for _, kind := range sorted(d.base.Shape.Rows) {
		if d.o.Scope == Device && (kind == "thread" || kind == "host label") {
			continue
		}
		base, now := d.base.Shape.Rows[kind], d.now.Shape.Rows[kind]
		if len(now) == 0 {
			continue // without names at all: told above
		}
		d.checked++
		d.judged = true
		var other []string
		for _, name := range sorted(now) {
			// Further rows of a stream: "stream # (2)", "stream # (sync)".
			head, _, _ := strings.Cut(name, " (")
			if base[name] == "" && base[head] == "" {
				other = append(other, name)
			}
		}
		if len(other) == 0 {
			continue
		}
		d.broken++
		severity := verdict.Warning
		if strings.HasSuffix(kind, "label") && !d.sameVendor() {
			severity = verdict.Note
		}
		d.find(verdict.Finding{Subject: "row:" + kind, Severity: severity, Where: verdict.Nowhere, What: kindText(kind) + " are named otherwise than in the base",
			Expected: strings.Join(sorted(base), ", "), Got: some(other) + " (# is a number)", Fix: "name rows as torch.profiler does: scripts look for them"})
	}
}

func kindText(kind string) string {
	switch kind {
	case "stream":
		return "rows of streams"
	case "thread":
		return "rows of threads"
	case "device label":
		return "devices, as processes,"
	}
	return "processes of the host"
}

func (d *differ) metadata() {
	if m := d.some(shape.Facts); m != nil {
		what := "the document says what can be"
		if m.Broken > 0 {
			what = fmt.Sprintf("%s of %s cannot be what the document says", m.Examples[0].Key, m.Examples[0].Name)
		}
		d.measured(shape.Facts, verdict.Error, verdict.Finding{What: what, Fix: "write what the driver and the framework say, or leave it out"})
	}
	for _, key := range sorted(d.base.Shape.Metadata) {
		base, now := d.base.Shape.Metadata[key], d.now.Shape.Metadata[key]
		if !base.Required || base.Type == "empty array" {
			continue
		}
		d.checked++
		d.judged = true
		switch {
		case now == nil:
			d.broken++
			d.find(verdict.Finding{Subject: "member:" + key, Severity: verdict.Warning, Where: verdict.Place{Key: key, Event: -1, Offset: -1},
				What: fmt.Sprintf("the document has no member %q", key), Expected: "a value of type " + base.Type, Got: "nothing", Fix: "write it at the top of the document"})
		case base.Type != "" && now.Type != base.Type:
			d.broken++
			d.find(verdict.Finding{Subject: "member:" + key, Severity: verdict.Warning, Where: verdict.Place{Key: key, Event: -1, Offset: -1},
				What: fmt.Sprintf("member %q of the document is of another type", key), Expected: base.Type, Got: now.Type, Fix: "write it as the base does"})
		}
	}
	if len(d.now.Shape.DeviceProperties) == 0 && len(d.base.Shape.DeviceProperties) > 0 && d.now.Shape.Metadata["deviceProperties"] == nil {
		return // told above
	}
	var gone []string
	for _, key := range sorted(d.base.Shape.DeviceProperties) {
		if d.base.Shape.DeviceProperties[key] == shape.Always && d.now.Shape.DeviceProperties[key] == "" {
			gone = append(gone, key)
		}
	}
	for _, key := range gone {
		d.judged = true
		d.broken++
		severity := verdict.Warning
		if !d.sameVendor() || Default().Shape.DeviceProperties[key] == "" {
			severity = verdict.Note // drivers tell different things, and torch.profiler less than others
		}
		d.find(verdict.Finding{Subject: "device:" + key, Severity: severity, Where: verdict.Place{Key: "deviceProperties", Event: -1, Offset: -1},
			What: fmt.Sprintf("deviceProperties do not tell %s", key), Expected: key, Got: "nothing", Fix: "write what the device's driver says of it"})
	}
}
