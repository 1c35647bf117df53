package occupancy

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var (
	// ErrUnknownDevice: no device of that name is in the catalogue.
	ErrUnknownDevice = errors.New("occupancy: unknown device")
	// ErrDeviceFile: a file of devices that cannot be used.
	ErrDeviceFile = errors.New("occupancy: file of devices")
)

//go:embed devices.yaml
var builtinYAML []byte

// Entry is a device of the catalogue. Exactly one of NVIDIA and AMD is set.
type Entry struct {
	Name   string // as --device takes it
	Title  string // as the vendor writes it
	NVIDIA *Device
	AMD    *AMDDevice

	also []string
}

// Catalog is a set of devices by name. The zero value is empty.
type Catalog struct {
	entries      []*Entry
	byName       map[string]*Entry
	capabilities map[[2]int64]Device
}

var builtin = sync.OnceValue(func() *Catalog {
	c := &Catalog{byName: map[string]*Entry{}, capabilities: map[[2]int64]Device{}}
	var f fileYAML
	err := decodeYAML(builtinYAML, &f)
	for text, p := range f.Capabilities {
		major, minor, ok := ParseCapability(text)
		if !ok || err != nil {
			break
		}
		// What is the same for all of them; see the head of the file.
		d := Device{ComputeMajor: major, ComputeMinor: minor, MaxThreadsPerBlock: 1024, RegsPerSM: 65536, WarpSize: 32,
			SharedMemPerBlock: 49152, SharedMemPerBlockOptin: 49152}
		for _, f := range p.fields(&d) {
			if f.value != nil {
				*f.dst = *f.value
			}
		}
		d.FillReserved()
		err = d.Check(Options{})
		c.capabilities[[2]int64{major, minor}] = d
	}
	if err == nil {
		err = c.add(&f)
	}
	if err != nil {
		panic(err) // the embedded file is tested
	}
	return c
})

// Builtin is the catalogue that comes with the program, the caller's to extend.
func Builtin() *Catalog {
	b := builtin()
	return &Catalog{entries: slices.Clone(b.entries), byName: maps.Clone(b.byName), capabilities: b.capabilities}
}

// ForCapability is what every NVIDIA device of a compute capability has: all
// properties but NumSMs, which is of the product. ok is false where the
// properties are not known.
func ForCapability(major, minor int64) (d Device, ok bool) {
	d, ok = builtin().capabilities[[2]int64{major, minor}]
	return d, ok
}

// Capabilities lists those of ForCapability, ascending.
func Capabilities() [][2]int64 {
	return slices.SortedFunc(maps.Keys(builtin().capabilities), func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
}

// Names lists the names of the devices, sorted.
func (c *Catalog) Names() []string {
	names := make([]string, 0, len(c.entries))
	for _, e := range c.entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// Lookup finds a device by its name, by a name that the vendor's library gives it
// ("NVIDIA H100 80GB HBM3"), or by what it is ("9.0", "sm_90", "gfx942"), in which
// case its number of SMs is unknown. Case, spaces and hyphens do not matter. The
// error wraps ErrUnknownDevice and says what is missing.
func (c *Catalog) Lookup(name string) (*Entry, error) {
	key := canonical(name)
	if e := c.byName[key]; e != nil {
		return e, nil
	}
	if major, minor, ok := ParseCapability(key); ok {
		if d, ok := c.capabilities[[2]int64{major, minor}]; ok {
			return &Entry{Name: name, Title: fmt.Sprintf("any device of compute capability %d.%d", major, minor), NVIDIA: &d}, nil
		}
		return nil, fmt.Errorf("%w: capability %s: its properties are missing", ErrUnknownDevice, name)
	}
	if d := (&AMDDevice{GFX: key}); d.Check() == nil {
		return &Entry{Name: name, Title: "any " + key, AMD: d}, nil
	}
	var near []string
	for _, n := range c.Names() {
		if k := canonical(n); key != "" && (strings.Contains(k, key) || k[0] == key[0]) {
			near = append(near, n)
		}
	}
	like := ""
	if len(near) > 0 {
		like = fmt.Sprintf(" (known: %s)", strings.Join(near, ", "))
	}
	return nil, fmt.Errorf("%w: %q%s: its compute capability and number of SMs (NVIDIA), or its gfx architecture and number of compute units (AMD), are missing",
		ErrUnknownDevice, name, like)
}

// canonical makes names comparable: "NVIDIA GeForce RTX 4090" is "rtx-4090".
func canonical(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '\t' })
	for len(words) > 1 && slices.Contains([]string{"nvidia", "amd", "geforce", "tesla", "instinct", "radeon", "pro"}, words[0]) {
		words = words[1:]
	}
	return strings.Join(words, "-")
}

// ParseCapability reads "9.0", "sm_90" or "sm-90".
func ParseCapability(s string) (major, minor int64, ok bool) {
	if digits, sm := strings.CutPrefix(strings.ReplaceAll(s, "-", "_"), "sm_"); sm {
		if len(digits) < 2 {
			return 0, 0, false
		}
		s = digits[:len(digits)-1] + "." + digits[len(digits)-1:]
	}
	a, b, dot := strings.Cut(s, ".")
	x, errA := strconv.ParseUint(a, 10, 16)
	y, errB := strconv.ParseUint(b, 10, 16)
	return int64(x), int64(y), dot && errA == nil && errB == nil
}
