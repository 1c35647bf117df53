package ranks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Kind says how the ranks of an operation wait for each other.
type Kind uint8

// Kinds of operations.
const (
	// Joint: no rank can end before the last one began, because each needs what
	// the others have: all-reduce, all-gather, reduce-scatter, all-to-all, barrier.
	Joint Kind = iota
	// Rooted: some wait for one rank: broadcast, reduce, gather, scatter. Which one
	// it is a trace does not say.
	Rooted
	Send
	Recv
	// Other: nothing is known of it.
	Other
)

// kinds are the operations by the beginnings of their names in torch, lower case and
// without underscores. The longer one counts.
var kinds = []struct {
	prefix string
	kind   Kind
}{
	{"allreduce", Joint}, {"allgather", Joint}, {"reducescatter", Joint}, {"alltoall", Joint}, {"barrier", Joint},
	{"broadcast", Rooted}, {"reduce", Rooted}, {"gather", Rooted}, {"scatter", Rooted},
	{"send", Send}, {"recv", Recv},
}

// KindOf tells the kind of an operation by its name: "_reduce_scatter_base".
func KindOf(name string) Kind {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	best, kind := 0, Other
	for _, k := range kinds {
		if len(k.prefix) > best && strings.HasPrefix(name, k.prefix) {
			best, kind = len(k.prefix), k.kind
		}
	}
	return kind
}

// args are the arguments of a kernel that say what it communicates.
func (c *collector) args(i uint32, e *timeline.Event) []byte {
	if d := c.t.Kernels.At(e.Detail); d.Collective != 0 {
		return c.t.Args.At(d.Collective)
	}
	return nil
}

// communicates reports whether a kernel is one of a communication library.
func (c *collector) communicates(i uint32, e *timeline.Event) bool {
	if c.args(i, e) != nil {
		return true
	}
	n := &c.names[e.Name]
	if *n&communicationAsked == 0 {
		*n |= communicationAsked
		if chrome.DefaultRules().Named("collective", c.t.Strings.At(e.Name)) {
			*n |= communication
		}
	}
	return *n&communication != 0
}

// what says what a kernel communicates; ok is false where the trace does not.
func (c *collector) what(i uint32, e *timeline.Event) (uint32, bool) {
	k := whatKey{in: -1, out: -1, peer: -1}
	name, ranks, peer := "", "", -1
	for m := chrome.WalkMembers(c.args(i, e)); m.Next(); {
		n, isInt := m.Value.Int()
		switch string(m.Key) {
		case "Collective name":
			k.name = c.text(m.Value)
		case "dtype":
			k.dtype = c.text(m.Value)
		case "In msg nelems":
			if isInt {
				k.in = n
			}
		case "Out msg nelems":
			if isInt {
				k.out = n
			}
		case "Group size":
			if isInt {
				k.size = int(n)
			}
		case "Process Group Name":
			name = c.text(m.Value)
		case "Process Group Ranks":
			ranks = c.text(m.Value)
		case "Dst Rank", "Src Rank":
			if isInt {
				peer = int(n)
			}
		}
	}
	if k.name == "" || name == "" && ranks == "" {
		return 0, false
	}
	k.group = c.intern(name + " " + ranks)
	kind := KindOf(k.name)
	if kind == Send || kind == Recv {
		k.peer = worldRank(ranks, peer, k.size)
	}
	if id, ok := c.whats[k]; ok {
		return id, true
	}
	id := uint32(len(c.r.Whats))
	c.whats[k] = id
	c.r.Whats = append(c.r.Whats, What{
		Name: k.name, Dtype: k.dtype, In: k.in, Out: k.out, Group: k.group, Size: k.size, Peer: k.peer, Kind: kind,
	})
	return id, true
}

func (c *collector) sequence(i uint32, e *timeline.Event) (uint64, bool) {
	v := chrome.Lookup(c.args(i, e), "Seq")
	n, err := strconv.ParseUint(string(v), 10, 64)
	return n, err == nil
}

func (c *collector) text(v chrome.Value) string {
	var buf [128]byte
	return c.intern(string(v.Text(buf[:0])))
}

func (c *collector) intern(s string) string {
	if t, ok := c.texts[s]; ok {
		return t
	}
	c.texts[s] = s
	return s
}

// members reads "[0, 1]"; nil where the list is cut short or none.
func members(ranks string) []int {
	ranks = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(ranks), "["), "]")
	if ranks == "" {
		return nil
	}
	var out []int
	for word := range strings.SplitSeq(ranks, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// worldRank is the number in the world of a peer. torch gives the number within the
// group; a number that no member of the group has is one of the world.
func worldRank(ranks string, peer, size int) int {
	list := members(ranks)
	switch {
	case peer < 0 || list == nil:
		return peer
	case peer < len(list):
		return list[peer]
	case slices.Contains(list, peer):
		return peer
	}
	return -1
}

// kindPrefix reports whether an operation's name begins so, as kinds are told.
func kindPrefix(name, prefix string) bool {
	return strings.HasPrefix(strings.ReplaceAll(strings.ToLower(name), "_", ""), prefix)
}
