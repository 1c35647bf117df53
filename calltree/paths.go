package calltree

import (
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
)

// maxDepth bounds the labels of a path: a path of n labels is n long wherever it is
// written, and a hostile trace has as many as it has spans. Half of what Python allows.
const maxDepth = 512

// deeper is the last label of paths that have no room for more.
const deeper = "(deeper)"

// Path is the number of a place in the call tree: a label below a path.
type Path int32

// Top is the path of what has nothing above it.
const Top Path = 0

// Paths numbers call paths. Equal paths of several trees have one number. Its zero
// value is not ready: use NewPaths.
type Paths struct {
	label  func(Class, string) string
	labels map[string]int32
	names  []string
	paths  []pathEntry
	depth  []int32 // by path
	ids    map[pathEntry]Path
	recent [1 << 10]struct { // some of ids
		pathEntry
		id Path // Top: none
	}
}

type pathEntry struct {
	parent Path
	label  int32
	class  Class
}

// NewPaths returns an empty set of paths. label says how a node of a class and name
// shows in a path: "" leaves it out, so that what is inside it stands below what is
// around it. It is asked once for each class and name of a tree.
func NewPaths(label func(Class, string) string) *Paths {
	return &Paths{
		label: label, labels: map[string]int32{},
		paths: []pathEntry{{parent: -1}}, depth: []int32{0}, ids: map[pathEntry]Path{},
	}
}

// Add returns the path of every node of a tree: that of a node without a label is
// the path of what is around it. Nodes below 512 labels share the path of one more,
// "(deeper)".
func (p *Paths) Add(x *Tree) []Path {
	of := hugepage.Make[Path](x.Len())
	var known [NumClasses][]int32 // by name: label + 2, 1 for none, 0 where it was not asked for yet
	for n := range Node(x.Len()) {
		above := Top
		if up := x.parent[n]; up != None {
			above = of[up]
		}
		name, class := x.At(n).Name, x.class[n]
		if known[class] == nil {
			known[class] = make([]int32, x.t.Strings.Len())
		}
		l := known[class][name]
		if l == 0 {
			l = 1
			if text := p.label(class, x.t.Strings.At(name)); text != "" {
				l = p.labelID(text) + 2
			}
			known[class][name] = l
		}
		switch {
		case l == 1 || p.depth[above] > maxDepth:
			of[n] = above
			continue
		case p.depth[above] == maxDepth:
			of[n] = p.child(pathEntry{above, p.labelID(deeper), Other})
			continue
		}
		of[n] = p.child(pathEntry{above, l - 2, class})
	}
	return of
}

func (p *Paths) labelID(text string) int32 {
	id, ok := p.labels[text]
	if !ok {
		id = int32(len(p.names))
		p.names = append(p.names, text)
		p.labels[text] = id
	}
	return id
}

func (p *Paths) child(e pathEntry) Path {
	// Loops make the same few paths again and again.
	at := &p.recent[(uint32(e.parent)*0x9e3779b9^uint32(e.label)*0x85ebca6b^uint32(e.class))>>22]
	if at.id != Top && at.pathEntry == e {
		return at.id
	}
	id, ok := p.ids[e]
	if !ok {
		id = Path(len(p.paths))
		p.paths = append(p.paths, e)
		p.depth = append(p.depth, p.depth[e.parent]+1)
		p.ids[e] = id
	}
	at.pathEntry, at.id = e, id
	return id
}

// Len returns the number of paths, Top included. A path has a greater number than
// the one it is below.
func (p *Paths) Len() int { return len(p.paths) }

// Parent returns the path that another is right below, -1 for Top.
func (p *Paths) Parent(id Path) Path { return p.paths[id].parent }

// Label returns the last label of a path, "" for Top.
func (p *Paths) Label(id Path) string {
	if id == Top {
		return ""
	}
	return p.names[p.paths[id].label]
}

// Class returns the class of the node that the last label stands for.
func (p *Paths) Class(id Path) Class { return p.paths[id].class }

// Labels returns the labels of a path from the top.
func (p *Paths) Labels(id Path) []string {
	var all []string
	for ; id > Top; id = p.paths[id].parent {
		all = append(all, p.Label(id))
	}
	slices.Reverse(all)
	return all
}

// String returns a path as text.
func (p *Paths) String(id Path) string { return strings.Join(p.Labels(id), " > ") }
