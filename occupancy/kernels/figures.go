package kernels

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/occupancy"
)

// calculate fills in Figures or Reason, Kineto and Agreement. Reason may be set
// already, by what is wrong with the device.
func (c *Configuration) calculate() {
	if c.dev != nil && c.Known&FactGrid != 0 {
		// No product of positive numbers is below one of them.
		sms := c.dev.Properties.NumSMs
		xy := int64(c.Grid[0]) * int64(c.Grid[1])
		c.BelowSMs = xy < sms && int64(c.Grid[2]) < sms && xy*int64(c.Grid[2]) < sms
	}
	if lacking := needed &^ c.Known; lacking != 0 {
		var parts []string
		if absent := lacking &^ c.wrong; absent != 0 {
			parts = append(parts, "the trace does not carry: "+absent.names())
		}
		if wrong := lacking & c.wrong; wrong != 0 {
			parts = append(parts, "not a possible value: "+wrong.names())
		}
		// Why another vendor's device is out is the better explanation.
		if c.Reason == "" || !c.foreign {
			c.Reason = strings.Join(parts, "; ")
		}
		return
	}
	if c.dev == nil {
		return
	}
	k := occupancy.Kernel{Grid: c.Grid, Block: c.Block, Cluster: c.Cluster, RegsPerThread: c.Registers, DynamicSharedMem: c.SharedMem}
	if c.dev.Properties.NumSMs > 0 && !c.dev.foreign {
		c.Kineto = kineto(&c.dev.Properties, &k)
	}
	if c.Reason == "" {
		c.Figures, c.Reason = correct(&c.dev.Properties, &k, c.Time)
	}
	c.Agreement = c.compare()
}

func kineto(dev *occupancy.Device, k *occupancy.Kernel) *KinetoFigures {
	const mode = occupancy.Kineto
	var f KinetoFigures
	f.BlocksPerSM, _ = occupancy.BlocksPerSM(dev.NumSMs, k.Grid, mode)
	f.WarpsPerSM, _ = occupancy.WarpsPerSM(f.BlocksPerSM, k.Block, mode)
	f.Achieved = occupancy.Failed
	if r, err := occupancy.Calculate(dev, k, occupancy.Options{Mode: mode}); err == nil {
		f.Achieved, _ = occupancy.Achieved(r.ActiveBlocksPerSM, f.BlocksPerSM, k.Block, dev.MaxThreadsPerSM, mode)
	}
	return &f
}

// correct calculates the figures of a configuration that took time ns, or says why
// it cannot.
func correct(dev *occupancy.Device, k *occupancy.Kernel, time int64) (*Figures, string) {
	r, err := occupancy.Calculate(dev, k, occupancy.Options{})
	if err != nil {
		return nil, bare(err)
	}
	if r.ActiveBlocksPerSM == 0 {
		return nil, fmt.Sprintf("by the device's properties it could not have been launched (%s), yet it ran: a property must be wrong", r.Limiting)
	}
	xy := int64(k.Grid[0]) * int64(k.Grid[1])
	if xy > math.MaxInt64/int64(k.Grid[2]) {
		return nil, "the grid has more blocks than can be counted"
	}
	f := &Figures{Result: r, Blocks: xy * int64(k.Grid[2]), Places: dev.NumSMs * r.ActiveBlocksPerSM}
	var ok [3]bool
	f.BlocksPerSM, ok[0] = occupancy.BlocksPerSM(dev.NumSMs, k.Grid, occupancy.Correct)
	f.WarpsPerSM, ok[1] = occupancy.WarpsPerSM(f.BlocksPerSM, k.Block, occupancy.Correct)
	f.Achieved, ok[2] = occupancy.Achieved(r.ActiveBlocksPerSM, f.BlocksPerSM, k.Block, dev.MaxThreadsPerSM, occupancy.Correct)
	if ok != [3]bool{true, true, true} {
		return nil, "its figures are beyond what numbers can hold"
	}

	full, rest := f.Blocks/f.Places, f.Blocks%f.Places
	f.Waves = float64(f.Blocks) / float64(f.Places)
	f.LastWave = 1
	waves := float64(full)
	if rest > 0 {
		f.LastWave = float64(rest) / float64(f.Places)
		waves++
	}
	if full == 0 {
		f.GridTooSmall, f.Unfilled = true, 1-f.Waves
	} else {
		f.Tail = (1 - f.LastWave) / waves
	}
	f.Resident = f.Theoretical() * f.Waves / waves
	f.Lost = int64(math.Round(float64(time) * (1 - f.Resident)))
	return f, ""
}

// compare holds what the trace states against both arithmetics.
func (c *Configuration) compare() Agreement {
	s := &c.Stated
	if s.BlocksPerSM == "" && s.WarpsPerSM == "" && s.Percent == "" || c.Kineto == nil && c.Figures == nil {
		return StatesNothing
	}
	if c.StatedDiffers {
		return Disagrees
	}
	k := c.Kineto != nil && s.equal(c.Kineto.BlocksPerSM, c.Kineto.WarpsPerSM, c.Kineto.Achieved, nil)
	f := c.Figures != nil && s.equal(c.Figures.BlocksPerSM, c.Figures.WarpsPerSM, c.Figures.Achieved, &c.Figures.Result)
	switch {
	case k && f:
		return AgreesBoth
	case k:
		return AgreesKineto
	case f:
		return AgreesCorrect
	}
	return Disagrees
}

// equal reports whether every stated figure is the one calculated. The object that
// newer Kinetos add is held against r where there is one.
func (s *Stated) equal(blocks, warps, achieved float32, r *occupancy.Result) bool {
	if r != nil && s.object != nil {
		n, ok := chrome.Lookup(s.object, "activeBlocksPerMultiprocessor").Int()
		if !ok || n != r.ActiveBlocksPerSM {
			return false
		}
	}
	return perSM(s.BlocksPerSM, blocks) && perSM(s.WarpsPerSM, warps) && percent(s.Percent, achieved)
}

// perSM compares a stated "blocks per SM" as a number: Kineto has printed it with six
// decimals and with as many as a float32 needs, and tools that save a trace anew
// drop zeros.
func perSM(text string, v float32) bool {
	if text == "" {
		return true
	}
	if f := float64(v); math.IsInf(f, 0) || math.IsNaN(f) {
		return strings.TrimPrefix(text, "-") == strings.Trim(string(occupancy.AppendPerSM(nil, float32(math.Abs(f)), occupancy.Shortest)), `"`)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return false
	}
	fixed, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'f', 6, 64), 64)
	return float32(n) == v || err == nil && n == fixed
}

func percent(text string, achieved float32) bool {
	if text == "" {
		return true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && (n == occupancy.Percent(achieved, occupancy.Classic) || n == occupancy.Percent(achieved, occupancy.Shortest))
}
