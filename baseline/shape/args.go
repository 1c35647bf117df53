package shape

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// typeSet is a set of JSON types.
type typeSet uint8

const (
	typeInteger typeSet = 1 << iota
	typeNumber
	typeString
	typeBoolean
	typeNull
	typeArray
	typeObject
)

var typeNames = [...]string{"integer", "number", "string", "boolean", "null", "array", "object"}

// names lists the types, in the order of the alphabet.
func (t typeSet) names() (out []string) {
	for t := uint(t); t != 0; t &= t - 1 {
		out = append(out, typeNames[bits.TrailingZeros(t)])
	}
	return union(out, nil)
}

func typeOf(v chrome.Value) typeSet {
	switch v[0] {
	case '"':
		return typeString
	case '[':
		return typeArray
	case '{':
		return typeObject
	case 't', 'f':
		return typeBoolean
	case 'n':
		return typeNull
	}
	for _, c := range v {
		if c != '-' && c-'0' > 9 {
			return typeNumber
		}
	}
	return typeInteger
}

// class gathers the events of one category.
type class struct {
	name      string
	tracer    bool // written by the device's tracer
	spellings []string
	n, ns     int64
	first     uint32
	duration  int64 // of the first; -1 when others differ
	keys      []argKey
	index     map[string]int
	begin     [2]int // guesses at the first key of an event
	seen      []bool // by string: the name occurred
	names     int

	pairs   []pair
	figures []int               // keys of figures
	ordered [2]int              // keys of what joins forward and backward operators, and one
	named   map[uint32][]string // by name: the values on its first event, by key
}

type argKey struct {
	key     string
	n       int64
	types   typeSet
	first   []byte
	varies  bool
	values  []string // the first ManyValues, or their beginnings
	forms   forms    // of arrays
	example uint32
	limits  *limits
	value   chrome.Value // of the event that is looked at
	at      int64        // which event value is of
	figure  figureKey
	leads   [2][]byte // what stands before its value, as the first of an event and as a further one
	next    [2]int    // guesses at the key behind it: the last two
}

// pair are two keys whose values are compared.
type pair struct {
	a, b     int
	n, equal int64
}

// copies are pairs of arguments that do not hold the same by nature.
var copies = [][2]string{
	{"External id", "correlation"}, {"blocks per SM", "warps per SM"}, {"registers per thread", "shared memory"},
	{"grid", "block"}, {"bytes", "correlation"}, {"cbid", "correlation"}, {"queued", "correlation"},
}

// keyAliases are other spellings of arguments of device work and API calls, by older
// versions of torch and by torch_npu.
var keyAliases = map[string]string{
	"external id": "External id", "Correlation": "correlation", "connection_id": "correlation", "Device Id": "device", "Context Id": "context",
	"Stream Id": "stream", "streamId": "stream", "Bytes": "bytes", "size(B)": "bytes",
}

func newClass(name string) *class {
	return &class{name: name, tracer: slices.Contains(canonical[:], name), index: map[string]int{}, duration: -2}
}

func (c *class) key(name []byte) int {
	i, ok := c.index[string(name)]
	if !ok {
		key := string(name)
		if to, alias := keyAliases[key]; alias && c.tracer {
			if i, ok = c.index[to]; ok {
				c.index[key] = i
				return i
			}
			c.index[key], key = len(c.keys), to
		}
		i = len(c.keys)
		c.index[key] = i
		k := argKey{key: key, limits: limitsOf(c.name, key), at: -1}
		if f := slices.Index(figureNames[:], key); f > 0 {
			k.figure = figureKey(f)
			c.figures = append(c.figures, i)
		}
		if o := slices.Index(orderKeys[:], key); o >= 0 && c.name == "cpu_op" {
			c.ordered[o] = i + 1
		}
		c.keys = append(c.keys, k)
		for _, p := range copies {
			a, okA := c.index[p[0]]
			b, okB := c.index[p[1]]
			if okA && okB && (p[0] == key || p[1] == key) {
				c.pairs = append(c.pairs, pair{a: a, b: b})
			}
		}
	}
	return i
}

// maxFirst bounds what is kept of a first value: of a longer one nobody says that
// it is constant.
const maxFirst = 64

// take looks at the arguments of the event number c.n of the class.
func (c *class) take(event uint32, args []byte, bad func(key string, v chrome.Value, l *limits)) {
	for i, last := 0, -1; ; {
		k, v := c.next(args, i, last)
		if k < 0 {
			break
		}
		last = k
		end := valueEnd(args, v)
		if end <= v {
			break
		}
		value := chrome.Value(args[v:end])
		i = end
		a := &c.keys[k]
		if a.at == c.n { // named twice
			continue
		}
		a.at, a.value = c.n, value
		t := typeOf(value)
		a.types |= t
		switch {
		case a.n == 0:
			a.example = event
			if len(value) <= maxFirst {
				a.first = append(a.first, value...)
			} else {
				a.varies = true
			}
		case !a.varies && !bytes.Equal(a.first, value):
			a.varies = true
		}
		if len(a.values) < ManyValues {
			a.keep(value)
		}
		a.n++
		if t == typeArray && c.tracer {
			a.forms.add(value)
		}
		if a.limits != nil && !a.limits.holds(t, value) {
			bad(a.key, value, a.limits)
		}
	}
	for i := range c.pairs {
		p := &c.pairs[i]
		a, b := &c.keys[p.a], &c.keys[p.b]
		if a.at == c.n && b.at == c.n {
			p.n++
			if bytes.Equal(a.value, b.value) {
				p.equal++
			}
		}
	}
}

// ManyValues is how many values an argument has that takes many.
const ManyValues = 6

// keep keeps a value that is new.
func (a *argKey) keep(v chrome.Value) {
	v = v[:min(len(v), maxFirst)]
	for _, have := range a.values {
		if string(v) == have {
			return
		}
	}
	a.values = append(a.values, string(v))
}

// maxNamed bounds for how many names first values are kept.
const maxNamed = 1 << 12

// firstOf keeps the values of the event last taken if it is the first of its name.
func (c *class) firstOf(name uint32) {
	if _, ok := c.named[name]; ok || len(c.named) >= maxNamed {
		return
	}
	if c.named == nil {
		c.named = map[uint32][]string{}
	}
	values := make([]string, len(c.keys))
	for i := range c.keys {
		if a := &c.keys[i]; a.at == c.n && len(a.value) <= maxFirst {
			values[i] = string(a.value)
		}
	}
	c.named[name] = values
}

// next finds the key of the member at args[i], behind another or -1, and where its
// value begins; the key is -1 where there is none. Events of a category mostly have
// the same keys in the same order and spacing as those before: then a comparison
// tells.
func (c *class) next(args []byte, i, last int) (key, value int) {
	guesses, further := &c.begin, 0
	if last >= 0 {
		guesses, further = &c.keys[last].next, 1
	}
	for _, k := range guesses {
		if k < len(c.keys) {
			if lead := c.keys[k].leads[further]; len(lead) > 0 && bytes.HasPrefix(args[i:], lead) {
				return c.within(args, k, skipBlank(args, i+len(lead)))
			}
		}
	}
	at := skipBlank(args, i)
	if at < len(args) && args[at] == ',' && last >= 0 {
		at = skipBlank(args, at+1)
	}
	if at >= len(args) || args[at] != '"' {
		return -1, 0
	}
	end := stringEnd(args, at)
	if end < 0 {
		return -1, 0
	}
	colon := skipBlank(args, end)
	if colon >= len(args) || args[colon] != ':' {
		return -1, 0
	}
	key, value = c.key(args[at+1:end-1]), skipBlank(args, colon+1)
	if last >= 0 {
		guesses = &c.keys[last].next // may have moved
	}
	guesses[0], guesses[1] = key, guesses[0]
	lead := &c.keys[key].leads[further]
	*lead = append((*lead)[:0], args[i:value]...)
	return c.within(args, key, value)
}

// within returns -1 for a value that is behind the end.
func (c *class) within(args []byte, key, value int) (int, int) {
	if value >= len(args) {
		return -1, 0
	}
	return key, value
}

func skipBlank(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' {
		i++
	}
	return i
}

// stringEnd is the end of the string that begins at b[i], -1 if it has none.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueEnd is the end of the value that begins at b[i], in text that was read as
// JSON; -1 if it has none.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '[', '{':
		for depth := 0; i < len(b); i++ {
			switch b[i] {
			case '[', '{':
				depth++
			case ']', '}':
				if depth--; depth == 0 {
					return i + 1
				}
			case '"':
				if i = stringEnd(b, i) - 1; i < 0 {
					return -1
				}
			}
		}
		return -1
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

// number reads a number, quoted or not.
func number(v chrome.Value) (float64, bool) {
	if len(v) > 1 && v[0] == '"' {
		v = v[1 : len(v)-1]
	}
	// The usual form: up to 15 digits with a point.
	var n int64
	i, scale := 0, 1.0
	neg := len(v) > 0 && v[0] == '-'
	if neg {
		i = 1
	}
	digits, point := 0, false
	for ; i < len(v) && digits < 16; i++ {
		switch ch := v[i]; {
		case ch-'0' <= 9:
			n = n*10 + int64(ch-'0')
			digits++
			if point {
				scale *= 10
			}
		case ch == '.' && !point:
			point = true
		default:
			digits = 99
		}
	}
	if i == len(v) && digits > 0 && digits < 16 {
		x := float64(n) / scale
		if neg {
			x = -x
		}
		return x, true
	}
	x, err := strconv.ParseFloat(string(v), 64)
	return x, err == nil && !math.IsNaN(x) && !math.IsInf(x, 0)
}
