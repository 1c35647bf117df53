package validate

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/occupancy"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// checkDevices checks the arguments of device work and of API calls.
func checkDevices(t *trace, c *collector) {
	figures := map[figuresKey]*figures{}
	t.merged = t.mergedPIDs()
	t.each(func(i uint32, r *record) {
		if r.ph != 'X' {
			return
		}
		if r.kind.isAPI() {
			t.missing(c, i, r, apiMask(r), 0)
			return
		}
		if !r.kind.onDevice() || r.side == 0 {
			return
		}
		d := t.devices.at(r.side - 1)
		t.missing(c, i, r, d.mask, deviceOptional(r, d))
		if d.bad != 0 {
			c.event(rArgType, i, "%s: %s", t.name(r), "the type of "+argList(d.bad))
		}
		good := d.mask &^ d.bad
		t.rowArgs(c, i, r, d, good)
		if good&bit(aDevice) != 0 && !t.described[d.device] {
			c.event(rDeviceUnknown, i, "device is %d, which deviceProperties do not describe", d.device)
		}
		switch r.kind {
		case kKernel:
			t.kernelFigures(c, i, r, d, good, figures)
			t.kernelScalars(c, i, r, d, good)
			if t.flags[r.name]&nCollective != 0 && r.flags&hasComms == 0 {
				c.event(rCollectiveKernel, i, "%s lacks the arguments of its collective", t.name(r))
			}
		default:
			bandwidth(t, c, i, r, d, good)
		}
	})
}

func apiMask(r *record) (m uint64) {
	if r.flags&hasID != 0 {
		m |= bit(aCorrelation)
	}
	if r.flags&hasCbid != 0 {
		m |= bit(aCbid)
	}
	if r.flags&hasCid != 0 {
		m |= bit(aCid)
	}
	return m
}

// deviceOptional are arguments that this event need not have.
func deviceOptional(r *record, d *device) (m uint64) {
	if d.mask&(bit(aFromDevice)|bit(aToDevice)) != 0 {
		m |= bit(aDevice) | bit(aContext) // a copy between two devices has two of each
	}
	return m
}

func (t *trace) missing(c *collector, i uint32, r *record, has, optional uint64) {
	if lacks := t.producer.required[r.kind] &^ has &^ optional; lacks != 0 {
		c.event(rArgMissing, i, "%s lacks %s", t.name(r), argList(lacks))
	}
}

func argList(mask uint64) string {
	var names []string
	for a := arg(1); a < numArgs; a++ {
		if mask&bit(a) != 0 {
			names = append(names, argNames[a])
		}
	}
	return strings.Join(names, ", ")
}

// rowArgs holds device and stream against pid and tid.
func (t *trace) rowArgs(c *collector, i uint32, r *record, d *device, good uint64) {
	row := t.rows.text(r.row)
	differs := func(a arg, v int64, text []byte) bool {
		if good&bit(a) == 0 {
			return false
		}
		n, err := strconv.ParseInt(string(text), 10, 64)
		if was, ok := t.merged[n]; ok && a == aDevice {
			n = was
		}
		// 2021 wrote tids as "stream 7".
		return err == nil && n != v && !(a == aStream && timeline.OfStream(n, v))
	}
	switch {
	case differs(aDevice, d.device, pidOf(row)):
		c.event(rRowArgs, i, "device is %d, the row's pid %s", d.device, pidOf(row))
	case differs(aStream, d.stream, tidOf(row)):
		c.event(rRowArgs, i, "stream is %d, the row's tid %s", d.stream, tidOf(row))
	}
}

// figuresKey is what a kernel's figures follow from.
type figuresKey struct {
	device      int64
	grid, block [3]int32
	regs, smem  int32
}

// figures are what the arguments of a kernel may be.
type figures struct {
	blocks, warps         float64
	kineto, correct       int64 // percent
	kinetoAlt, correctAlt int64 // the same, rounded as the other format does
	hasKineto, hasCorrect bool
}

// maxFigures bounds how many configurations are remembered.
const maxFigures = 1 << 16

func (t *trace) kernelFigures(c *collector, i uint32, r *record, d *device, good uint64, known map[figuresKey]*figures) {
	if good&bit(aOcc) != 0 && (d.occ < 0 || d.occ > 100) {
		c.event(rOccupancyNone, i, "est. achieved occupancy is %d %%", d.occ)
	}
	const launch = 1<<aDevice | 1<<aGrid | 1<<aBlock
	if good&launch != launch {
		return
	}
	g := t.gpus[d.device]
	if g == nil {
		return
	}
	key := figuresKey{d.device, d.grid, d.block, d.regs, d.smem}
	f := known[key]
	if f == nil {
		if len(known) >= maxFigures {
			clear(known)
		}
		f = g.figures(&key)
		known[key] = f
	}
	if good&bit(aBlocks) != 0 && !near(d.blocks, f.blocks) {
		c.event(rLaunchFigures, i, "blocks per SM is %g; grid %v on %d SMs gives %.6g", d.blocks, d.grid, g.dev.NumSMs, f.blocks)
	} else if good&bit(aWarps) != 0 && !near(d.warps, f.warps) {
		c.event(rLaunchFigures, i, "warps per SM is %g; grid %v and block %v on %d SMs give %.6g", d.warps, d.grid, d.block, g.dev.NumSMs, f.warps)
	}
	const occ = 1<<aOcc | 1<<aRegs | 1<<aSmem
	if good&occ != occ || !f.hasKineto && !f.hasCorrect || d.occ < 0 {
		return
	}
	v := int64(d.occ)
	if f.hasKineto && (v == f.kineto || v == f.kinetoAlt) || f.hasCorrect && (v == f.correct || v == f.correctAlt) {
		if v == 0 && f.hasCorrect && f.correct > 0 {
			c.event(rOccupancyZero, i, "occupancy is 0 %% with %d bytes of shared memory; with the opt-in limit it is %d %%", d.smem, f.correct)
		}
		return
	}
	text := fmt.Sprintf("occupancy is %d %%; grid %v, block %v, %d registers and %d bytes of shared memory give", v, d.grid, d.block, d.regs, d.smem)
	if f.hasKineto {
		text += fmt.Sprintf(" %d %% as Kineto calculates", f.kineto)
	}
	if f.hasCorrect && (!f.hasKineto || f.correct != f.kineto) {
		text += fmt.Sprintf(" %d %% with opt-in shared memory", f.correct)
	}
	c.event(rOccupancy, i, "%s", text)
}

func (g *gpu) figures(key *figuresKey) *figures {
	f := &figures{}
	blocks, _ := occupancy.BlocksPerSM(g.dev.NumSMs, key.grid, occupancy.Kineto)
	warps, _ := occupancy.WarpsPerSM(blocks, key.block, occupancy.Kineto)
	f.blocks, f.warps = float64(blocks), float64(warps)
	k := occupancy.Kernel{Grid: key.grid, Block: key.block, RegsPerThread: key.regs, DynamicSharedMem: key.smem}
	percent := func(opts occupancy.Options) (a, b int64, ok bool) {
		r, err := occupancy.Calculate(&g.dev, &k, opts)
		if err != nil {
			return 0, 0, false
		}
		blocks, ok := occupancy.BlocksPerSM(g.dev.NumSMs, key.grid, opts.Mode)
		if !ok {
			return 0, 0, false
		}
		occ, ok := occupancy.Achieved(r.ActiveBlocksPerSM, blocks, key.block, g.dev.MaxThreadsPerSM, opts.Mode)
		return occupancy.Percent(occ, occupancy.Classic), occupancy.Percent(occ, occupancy.Shortest), ok
	}
	if g.kineto {
		f.kineto, f.kinetoAlt, f.hasKineto = percent(kinetoMode)
	}
	if g.correct {
		f.correct, f.correctAlt, f.hasCorrect = percent(correctMode)
	}
	return f
}

// near compares a figure with how it was printed, which is with six decimals or
// with eight digits and more.
func near(got, want float64) bool {
	if math.IsNaN(got) || math.IsInf(got, 0) || math.IsNaN(want) || math.IsInf(want, 0) {
		return true
	}
	return math.Abs(got-want) <= 1e-6+1e-6*math.Abs(want)
}

func (t *trace) kernelScalars(c *collector, i uint32, r *record, d *device, good uint64) {
	if good&bit(aQueued) != 0 && (d.queued < 0 || d.queued > 0 && !t.plausibleQueued(r, d.queued)) {
		c.event(rQueued, i, "queued is %d", d.queued)
	}
	// CUDA's priorities go from -5 to 0, AMD's from -1 to 1; no vendor has more
	// than a byte's worth.
	if good&bit(aPriority) != 0 && (d.priority < -128 || d.priority > 127) {
		c.event(rPriority, i, "priority is %d", d.priority)
	}
}

// plausibleQueued says whether a value of queued can be a time before the start:
// in ns of the trace's clock with its base, or on a clock that cannot be told.
func (t *trace) plausibleQueued(r *record, queued int64) bool {
	base, _ := t.member("baseTimeNanoseconds").Int()
	start := r.ts + base
	return queued <= start || queued > 2*start
}

// bandwidth holds memory bandwidth against bytes and duration.
func bandwidth(t *trace, c *collector, i uint32, r *record, d *device, good uint64) {
	if good&bit(aBandwidth) == 0 || good&bit(aBytes) == 0 || r.flags&hasDur == 0 || math.IsNaN(d.bandwidth) {
		return
	}
	if r.dur <= 0 {
		if d.bandwidth != 0 && t.fraction {
			c.event(rBandwidth, i, "bandwidth is %g GB/s without a duration", d.bandwidth)
		}
		return
	}
	want := float64(d.bytes) / float64(r.dur)
	// The figure may know digits that were cut from the duration.
	slack := 1 / float64(r.dur)
	if !t.fraction {
		slack = 1000 / float64(r.dur)
	}
	if math.Abs(d.bandwidth-want) > 1e-9+slack*math.Max(want, d.bandwidth)+1e-6*want {
		c.event(rBandwidth, i, "bandwidth is %g GB/s; %d bytes in %s are %.6g GB/s", d.bandwidth, d.bytes, micro(r.dur), want)
	}
}
