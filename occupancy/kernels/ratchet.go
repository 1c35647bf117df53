package kernels

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Ratchet holds, for each kernel by its normalized name and the name of the device,
// what must not get worse: registers, local memory (where compilers spill to) and
// theoretical occupancy, the worst of its configurations each. None of them depends
// on the size of the problem but through the choice of block and tile.
type Ratchet struct {
	Entries []Entry // sorted by name and device, no two alike
}

// Entry is a kernel in a ratchet. Nil is unknown.
type Entry struct {
	Name      string `json:"name"` // normalized
	Device    string `json:"device,omitempty"`
	Registers *int64 `json:"registers,omitempty"`               // of a thread, the most
	LocalMem  *int64 `json:"local_memory_per_thread,omitempty"` // bytes, the most
	// Occupancy is ActiveWarps of MaxWarps, those of an SM: the lowest. Both or
	// neither are there.
	ActiveWarps *int64 `json:"active_warps,omitempty"`
	MaxWarps    *int64 `json:"max_warps,omitempty"`

	reason string // why there is no occupancy
}

// occupancy is in percent; ok false where it is not known.
func (e *Entry) occupancy() (percent float64, ok bool) {
	if e.ActiveWarps == nil {
		return 0, false
	}
	return 100 * float64(*e.ActiveWarps) / float64(*e.MaxWarps), true
}

func (e *Entry) key(o *Entry) int {
	return cmp.Or(cmp.Compare(e.Name, o.Name), cmp.Compare(e.Device, o.Device))
}

// label is the kernel for people.
func (e *Entry) label() string {
	if e.Device == "" {
		return printable(e.Name)
	}
	return fmt.Sprintf("%s (%s)", printable(e.Name), printable(e.Device))
}

// lower reports whether the occupancy of e is below that of o; both are known.
// Products, so that no rounding decides.
func (e *Entry) lower(o *Entry) bool {
	return *e.ActiveWarps**o.MaxWarps < *o.ActiveWarps**e.MaxWarps
}

// Ratchet is the report's kernels as a ratchet holds them.
func (r *Report) Ratchet() *Ratchet {
	type key struct{ name, device string }
	index := map[key]int{}
	normal := map[string]string{}
	out := &Ratchet{}
	for i := range r.Configurations {
		c := &r.Configurations[i]
		name, ok := normal[c.Name]
		if !ok {
			name = Normalize(c.Name)
			normal[c.Name] = name
		}
		k := key{name, toValid(c.DeviceName())}
		at, ok := index[k]
		if !ok {
			at = len(out.Entries)
			index[k] = at
			out.Entries = append(out.Entries, Entry{Name: k.name, Device: k.device})
		}
		e := &out.Entries[at]
		e.Registers = most(e.Registers, known(c, FactRegisters, int64(c.Registers)))
		e.LocalMem = most(e.LocalMem, known(c, FactLocalMem, c.LocalMem))
		if c.Figures == nil {
			e.reason = c.Reason
			continue
		}
		active, places := c.Figures.ActiveBlocksPerSM*c.Figures.WarpsPerBlock, c.Figures.MaxWarpsPerSM
		one := Entry{ActiveWarps: &active, MaxWarps: &places}
		if e.ActiveWarps == nil || one.lower(e) {
			e.ActiveWarps, e.MaxWarps = one.ActiveWarps, one.MaxWarps
		}
	}
	slices.SortFunc(out.Entries, func(a, b Entry) int { return a.key(&b) })
	return out
}

func most(a, b *int64) *int64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// Comparison is what has changed since a ratchet was made. Each line names a
// kernel and by how much it changed.
type Comparison struct {
	Worse, Better, New, Gone []string
}

// Compare holds kernels against the ratchet. A kernel whose occupancy or registers
// were known and are not any more is worse: a gate that cannot see does not pass.
// Gone are kernels of devices that now occurs among the kernels, which are not there any more.
func (r *Ratchet) Compare(now *Ratchet) Comparison {
	var out Comparison
	devices := now.devices()
	i, j := 0, 0
	for i < len(r.Entries) || j < len(now.Entries) {
		order := 0
		switch {
		case i == len(r.Entries):
			order = 1
		case j == len(now.Entries):
			order = -1
		default:
			order = r.Entries[i].key(&now.Entries[j])
		}
		switch {
		case order < 0:
			if e := &r.Entries[i]; devices[e.Device] {
				out.Gone = append(out.Gone, e.label())
			}
			i++
		case order > 0:
			e := &now.Entries[j]
			out.New = append(out.New, e.label()+": "+e.describe())
			j++
		default:
			out.entry(&r.Entries[i], &now.Entries[j])
			i++
			j++
		}
	}
	return out
}

func (c *Comparison) entry(was, is *Entry) {
	label := is.label()
	note := func(list *[]string, format string, args ...any) {
		*list = append(*list, label+": "+fmt.Sprintf(format, args...))
	}
	number := func(what string, was, is *int64) {
		switch {
		case was == nil:
		case is == nil:
			note(&c.Worse, "%s not known any more, was %d", what, *was)
		case *is > *was:
			note(&c.Worse, "%s %d, was %d (%d more)", what, *is, *was, *is-*was)
		case *is < *was:
			note(&c.Better, "%s %d, was %d (%d fewer)", what, *is, *was, *was-*is)
		}
	}
	number("registers", was.Registers, is.Registers)
	number("bytes of local memory per thread", was.LocalMem, is.LocalMem)
	before, knew := was.occupancy()
	after, know := is.occupancy()
	switch {
	case !knew:
	case !know:
		note(&c.Worse, "theoretical occupancy not calculable any more (%s), was %.1f %%", printable(is.reason), before)
	case is.lower(was):
		note(&c.Worse, "theoretical occupancy %.1f %% (%d of %d warps), was %.1f %% (%.1f points less)", after, *is.ActiveWarps, *is.MaxWarps, before, before-after)
	case was.lower(is):
		note(&c.Better, "theoretical occupancy %.1f %%, was %.1f %% (%.1f points more)", after, before, after-before)
	}
}

// describe says what an entry holds.
func (e *Entry) describe() string {
	var out string
	add := func(format string, args ...any) {
		if out != "" {
			out += ", "
		}
		out += fmt.Sprintf(format, args...)
	}
	if e.Registers != nil {
		add("%d registers", *e.Registers)
	}
	if e.LocalMem != nil {
		add("%d bytes of local memory per thread", *e.LocalMem)
	}
	if p, ok := e.occupancy(); ok {
		add("theoretical occupancy %.1f %%", p)
	} else {
		add("occupancy not calculable")
	}
	return out
}

func (r *Ratchet) devices() map[string]bool {
	out := map[string]bool{}
	for i := range r.Entries {
		out[r.Entries[i].Device] = true
	}
	return out
}

// Update is the ratchet with the kernels of now in the place of its own. Kernels
// that are not among them stay if partial is set (now is a selection) or if their
// device does not occur in now; else they go.
func (r *Ratchet) Update(now *Ratchet, partial bool) *Ratchet {
	out := &Ratchet{Entries: slices.Clone(now.Entries)}
	devices := now.devices()
	for _, e := range r.Entries {
		_, there := slices.BinarySearchFunc(now.Entries, e, func(a, b Entry) int { return a.key(&b) })
		if !there && (partial || !devices[e.Device]) {
			out.Entries = append(out.Entries, e)
		}
	}
	slices.SortFunc(out.Entries, func(a, b Entry) int { return a.key(&b) })
	return out
}

// maxRatchetNumber bounds the numbers of a ratchet, so that products of two hold.
const maxRatchetNumber = math.MaxInt32

// Holds reports whether anything is known of any kernel.
func (r *Ratchet) Holds() bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return e.Registers != nil || e.LocalMem != nil || e.ActiveWarps != nil
	})
}

// Meets reports whether a kernel of now is in the ratchet: whether a comparison
// compares anything.
func (r *Ratchet) Meets(now *Ratchet) bool {
	return slices.ContainsFunc(now.Entries, func(e Entry) bool {
		_, ok := slices.BinarySearchFunc(r.Entries, e, func(a, b Entry) int { return a.key(&b) })
		return ok
	})
}

// DeviceNames lists the devices for a message.
func (r *Ratchet) DeviceNames() string {
	names := slices.Sorted(maps.Keys(r.devices()))
	for i, n := range names {
		names[i] = cmp.Or(printable(n), "a device without a name")
	}
	return cmp.Or(strings.Join(names, ", "), "no device")
}
