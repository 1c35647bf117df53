package kernels

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/occupancy"
)

// ErrNoKernels: the trace holds no kernel.
var ErrNoKernels = errors.New("kernels: no kernel in the trace")

// Bounds of what is held in memory. Kernels beyond them are counted in
// Report.Beyond.
const (
	maxConfigurations = 1 << 20
	maxName           = 1 << 17 // bytes of a kernel's name
	maxNames          = 1 << 28 // bytes of all names together
)

// Options choose what Read calculates. The zero value takes everything from the
// trace.
type Options struct {
	// Device stands in for the devices of which the trace has no properties; nil:
	// kernels on those are not calculable. DeviceName is what to call it.
	Device     *occupancy.Device
	DeviceName string
	// Kernel selects configurations by name; nil: all. Shares stay those of all
	// kernels' time.
	Kernel *regexp.Regexp
}

// Read streams through a trace. Errors are those of chrome.Scan, which name the
// offset, or wrap ErrNoKernels.
func Read(r io.Reader, o Options) (*Report, error) {
	c := collector{
		text:  make([]byte, 0, 4096),
		names: map[string]uint32{},
		index: map[launch]uint32{},
	}
	if err := chrome.Scan(r, &c); err != nil {
		return nil, err
	}
	if c.calls == 0 {
		if c.others > 0 {
			return nil, fmt.Errorf("%w: none is a complete event (phase X), %d are of other phases", ErrNoKernels, c.others)
		}
		return nil, ErrNoKernels
	}
	return c.report(o), nil
}

// collector implements chrome.Handler.
type collector struct {
	devices deviceTable
	verdict string

	names     map[string]uint32
	byName    []string
	nameBytes int
	index     map[launch]uint32
	keys      []launch
	groups    []group

	calls, others uint64
	time          int64 // of all kernels, ns
	beyond        Count
	untimed       uint64
	text          []byte
}

// group adds up the kernels of a configuration.
type group struct {
	Count
	untimed uint64
	stated  Stated
	differ  bool // not all kernels of the group state the same
}

// Member implements chrome.Handler.
func (c *collector) Member(key string, v chrome.Value) error {
	switch key {
	case "deviceProperties":
		c.devices.read(v)
	case chrome.KeyCompleteness:
		c.verdict = string(chrome.Lookup(v, "verdict").Text(nil))
	}
	return nil
}

// Event implements chrome.Handler.
func (c *collector) Event(e *chrome.Event) error {
	// "Kernel" is the category of 2021.
	if !e.Category.Is("kernel") && !e.Category.Is("Kernel") {
		return nil
	}
	if !e.Phase.Is("X") {
		c.others++
		return nil
	}
	c.calls++
	ns, err := e.Dur.Nanoseconds()
	timed := err == nil && ns >= 0
	if !timed {
		ns = 0
		c.untimed++
	}
	c.time = saturate(c.time, ns)

	var l launch
	var s statedText
	l.args(e.Args, &s)
	if (l.known|l.wrong)&FactDevice == 0 {
		// Kineto's row of a kernel is its device's.
		if pid, ok := e.PID.Int(); ok && pid >= 0 && pid <= math.MaxUint32 {
			l.device, l.known = pid, l.known|FactDevice
		}
	}
	g := c.group(&l, e.Name.Text(c.text))
	if g == nil {
		c.beyond.add(ns)
		return nil
	}
	if !timed {
		g.untimed++
	}
	if g.Calls == 0 {
		g.stated = s.keep()
	} else if !g.differ {
		g.differ = !g.stated.same(&s)
	}
	g.add(ns)
	return nil
}

// group finds the group of a launch, nil where there are too many.
func (c *collector) group(l *launch, name []byte) *group {
	id, ok := c.names[string(name)]
	if !ok {
		if len(name) > maxName || c.nameBytes+len(name) > maxNames || len(c.keys) >= maxConfigurations {
			return nil
		}
		id = uint32(len(c.byName))
		kept := string(name)
		c.byName = append(c.byName, kept)
		c.names[kept] = id
		c.nameBytes += len(name)
	}
	l.name = id
	at, ok := c.index[*l]
	if !ok {
		if len(c.keys) >= maxConfigurations {
			return nil
		}
		at = uint32(len(c.keys))
		c.index[*l] = at
		c.keys = append(c.keys, *l)
		c.groups = append(c.groups, group{})
	}
	return &c.groups[at]
}

// report calculates what the groups' figures are.
func (c *collector) report(o Options) *Report {
	r := &Report{
		Verdict: c.verdict, Kernels: Count{c.calls, c.time}, Beyond: c.beyond, Untimed: c.untimed, OtherPhases: c.others,
		BadDevices: c.devices.bad,
	}
	given := givenDevice(&o)
	used := map[*Device]bool{}
	for i := range c.keys {
		l, g := &c.keys[i], &c.groups[i]
		name := c.byName[l.name]
		cfg := Configuration{
			Name: name, Grid: l.grid, Block: l.block, Cluster: l.cluster, Registers: l.registers, SharedMem: l.sharedMem,
			Device: l.device, LocalMem: l.localMem, Known: l.known, wrong: l.wrong,
			Count: g.Count, Untimed: g.untimed, Stated: g.stated, StatedDiffers: g.differ,
		}
		cfg.dev, cfg.Reason, cfg.foreign = c.devices.find(l, given)
		used[cfg.dev] = true
		cfg.calculate()
		r.Distinct++
		if cfg.Figures != nil {
			r.Calculable.Calls += cfg.Calls
			r.Calculable.Time = saturate(r.Calculable.Time, cfg.Time)
			r.Lost = saturate(r.Lost, cfg.Figures.Lost)
		}
		r.Agreement[cfg.Agreement]++
		if o.Kernel == nil || o.Kernel.MatchString(name) {
			r.Configurations = append(r.Configurations, cfg)
		}
	}
	for _, d := range append(c.devices.list, given) {
		if used[d] && d != nil {
			r.Devices = append(r.Devices, d)
		}
	}
	slices.SortFunc(r.Configurations, byLoss)
	return r
}

// byLoss orders configurations: most time lost first, then those without figures
// by time; equal ones by what they are, so that the order does not depend on the
// trace's.
func byLoss(a, b Configuration) int {
	var lostA, lostB int64 = -1, -1
	if a.Figures != nil {
		lostA = a.Figures.Lost
	}
	if b.Figures != nil {
		lostB = b.Figures.Lost
	}
	return cmp.Or(
		cmp.Compare(lostB, lostA), cmp.Compare(b.Time, a.Time), cmp.Compare(b.Calls, a.Calls),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Device, b.Device),
		slices.Compare(a.Grid[:], b.Grid[:]), slices.Compare(a.Block[:], b.Block[:]), slices.Compare(a.Cluster[:], b.Cluster[:]),
		cmp.Compare(a.Registers, b.Registers), cmp.Compare(a.SharedMem, b.SharedMem), cmp.Compare(a.LocalMem, b.LocalMem),
		cmp.Compare(a.Known, b.Known), cmp.Compare(a.wrong, b.wrong),
	)
}

// saturate adds two numbers that are not negative.
func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (s *statedText) keep() Stated {
	return Stated{
		BlocksPerSM: string(s.blocksPerSM.Text(nil)), WarpsPerSM: string(s.warpsPerSM.Text(nil)),
		Percent: string(s.percent.Text(nil)), object: bytes.Clone(s.object),
	}
}

func (s *Stated) same(t *statedText) bool {
	return s.BlocksPerSM == string(t.blocksPerSM.Text(nil)) && s.WarpsPerSM == string(t.warpsPerSM.Text(nil)) &&
		s.Percent == string(t.percent.Text(nil)) && bytes.Equal(s.object, t.object)
}
