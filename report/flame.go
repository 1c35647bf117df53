package report

import "github.com/flagos-ai/flagos-trace/calltree"

// Classes of frames beyond those of the call tree.
const (
	frameWork  = int64(calltree.NumClasses) + iota // plus the kind: a kernel, copy or fill
	frameOther = frameWork + int64(numKinds)       // frames too small to be shown, or work nobody called
)

// frameValues are the values of a frame for each side.
const frameValues = 3

const (
	flameDevice = iota
	flameCount
	flameCPU
)

// maxFrames is how many frames a page has, about.
const maxFrames = 6000

// frame is one frame while traces are added.
type frame struct {
	parent int32
	name   int32
	class  int64
	values [2 * frameValues]int64 // own, and later with those on it
}

type frameKey struct {
	parent, name int32
	class        int64
}

// flames adds up frames: of a trace, or of both sides.
type flames struct {
	names  *names
	frames []frame
	ids    map[frameKey]int32
}

func (f *flames) child(parent, name int32, class int64) int32 {
	k := frameKey{parent, name, class}
	if id, ok := f.ids[k]; ok {
		return id
	}
	if f.ids == nil {
		f.ids = map[frameKey]int32{}
	}
	id := int32(len(f.frames))
	f.frames = append(f.frames, frame{parent: parent, name: name, class: class})
	f.ids[k] = id
	return id
}

// label says how a span shows in a flame graph. Python functions do not: modules stand
// for them, and there are too many.
func label(c calltree.Class, name string) string {
	switch c {
	case calltree.Python:
		return ""
	case calltree.Step:
		return "ProfilerStep"
	}
	if name == "" {
		return "(no name)"
	}
	return name
}

// add adds the spans of a trace.
func (f *flames) add(v *view) {
	x := v.x
	paths := calltree.NewPaths(label)
	var at []int32 // by path: frame + 1
	var frameOf func(calltree.Path) int32
	frameOf = func(p calltree.Path) int32 {
		if p == calltree.Top {
			return -1
		}
		if int(p) >= len(at) {
			at = append(at, make([]int32, paths.Len()-len(at))...)
		}
		if at[p] == 0 {
			at[p] = 1 + f.child(frameOf(paths.Parent(p)), f.names.id(paths.Label(p)), int64(paths.Class(p)))
		}
		return at[p] - 1
	}
	of := paths.Add(x)
	for n := range x.Nodes() {
		self := x.SelfTime(n)
		if self <= 0 {
			continue
		}
		id := frameOf(of[n])
		if id < 0 {
			id = f.child(-1, f.names.id("(Python)"), frameOther)
		}
		f.frames[id].values[flameCPU] += self
	}
	for w := range x.Works() {
		parent := int32(-1)
		if c := x.Context(w); c != calltree.None {
			// A kernel stands on the operator: that every one has a call in between
			// tells nobody anything.
			p := of[c]
			for p != calltree.Top && paths.Class(p) == calltree.Call {
				p = paths.Parent(p)
			}
			parent = frameOf(p)
		}
		if parent < 0 {
			why := x.Why(w)
			if why == "" {
				why = "outside of all"
			}
			parent = f.child(-1, f.names.id("("+why+")"), frameOther)
		}
		e := x.WorkAt(w)
		id := f.child(parent, v.name(e.Name), frameWork+int64(v.kinds[w]))
		values := &f.frames[id].values
		values[flameDevice] += e.Duration()
		values[flameCount]++
	}
}

// join adds the frames of a trace to those of a side. name translates its names.
func (f *flames) join(o *flames, side int, name func(int32) int32) {
	to := make([]int32, len(o.frames)) // parents come first
	for i := range o.frames {
		v := &o.frames[i]
		parent := v.parent
		if parent >= 0 {
			parent = to[parent]
		}
		to[i] = f.child(parent, name(v.name), v.class)
		values := f.frames[to[i]].values[side*frameValues:]
		for k := range frameValues {
			values[k] += v.values[k]
		}
	}
}

// result adds up, leaves out what is too small to be seen, and puts the frames on one
// frame into the order of their names.
func (f *flames) result() Flame {
	var total [2 * frameValues]int64
	for i := len(f.frames) - 1; i >= 0; i-- {
		v := &f.frames[i]
		to := &total
		if v.parent >= 0 {
			to = &f.frames[v.parent].values
		}
		for k := range to {
			to[k] += v.values[k]
		}
	}
	keep := f.keep(&total)
	// Parents come first, so that a frame's new number is known before it is asked for.
	var list []frame
	number := make([]int32, len(f.frames))
	rest := map[int32]int32{} // by new parent: its frame of what is left out
	for i := range f.frames {
		v := f.frames[i]
		number[i] = -1
		if v.parent >= 0 {
			if number[v.parent] < 0 {
				continue // it is in what stands for its parent
			}
			v.parent = number[v.parent]
		}
		if keep[i] {
			number[i] = int32(len(list))
			list = append(list, v)
			continue
		}
		to, ok := rest[v.parent]
		if !ok {
			to = int32(len(list))
			rest[v.parent] = to
			list = append(list, frame{parent: v.parent, name: f.names.id("(smaller ones)"), class: frameOther})
		}
		for k := range v.values {
			list[to].values[k] += v.values[k]
		}
	}
	out := Flame{Frames: []int64{}}
	for c := range calltree.NumClasses {
		out.Classes = append(out.Classes, c.String())
	}
	out.Classes = append(append(out.Classes, kindNames[:]...), "smaller")
	for i := range list {
		v := &list[i]
		out.Frames = append(out.Frames, int64(v.parent), int64(v.name), v.class)
		out.Frames = append(out.Frames, v.values[:]...)
	}
	return out
}

// keep says which frames are large enough: each value may make one so.
func (f *flames) keep(total *[2 * frameValues]int64) []bool {
	keep := make([]bool, len(f.frames))
	for share := 1.0 / 20000; ; share *= 2 {
		n := 0
		for i := range f.frames {
			v := &f.frames[i]
			keep[i] = false
			for k := range v.values {
				if k%frameValues != flameCount && v.values[k] > 0 && float64(v.values[k]) >= share*float64(total[k]) {
					keep[i] = true
				}
			}
			if keep[i] {
				n++
			}
		}
		if n <= maxFrames || share > 1 {
			return keep
		}
	}
}

// FrameLen is the number of integers for a frame.
const FrameLen = 3 + 2*frameValues
