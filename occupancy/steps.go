package occupancy

import "sort"

// Step is a change of a configuration that raises its occupancy.
type Step struct {
	Config Config
	Answer Answer
	// Changed is the set of what differs: LimitRegs, LimitScalarRegs and
	// LimitSharedMem, or LimitWarps for the size of the block.
	Changed Limit
}

// Steps says what the next step up would need: at the same size of the block one more
// resident block, with the most registers and shared memory that allow it, where
// fewer of them are enough; then the nearest other size of the block, and the one with
// the highest occupancy, that do better with the same registers of a thread and the
// same shared memory of a block. It is empty where the SM is full, or where nothing of
// this helps.
func (e *Entry) Steps(c Config) ([]Step, error) {
	base, err := e.Occupancy(c)
	if err != nil || base.Blocks > 0 && base.Blocks*base.WarpsPerBlock == base.MaxWarps {
		return nil, err
	}
	var out []Step
	if s, ok := e.lighter(c, &base); ok {
		out = append(out, s)
	}
	threads, _, _, _, _ := e.maxima(base.WarpSize)
	var near, best *Step
	for block := base.WarpSize; block <= threads; block += base.WarpSize {
		try := c
		try.Block = clampInt32(block)
		a, err := e.Occupancy(try)
		if err != nil {
			return nil, err
		}
		if a.Theoretical() <= base.Theoretical() || a.Blocks == 0 {
			continue
		}
		s := &Step{Config: try, Answer: a, Changed: LimitWarps}
		if near == nil || distance(block, c.Block) < distance(int64(near.Config.Block), c.Block) {
			near = s
		}
		if best == nil || a.Theoretical() > best.Answer.Theoretical() ||
			a.Theoretical() == best.Answer.Theoretical() && distance(block, c.Block) < distance(int64(best.Config.Block), c.Block) {
			best = s
		}
	}
	if near != nil {
		out = append(out, *near)
		if best.Config.Block != near.Config.Block && best.Answer.Theoretical() > near.Answer.Theoretical() {
			out = append(out, *best)
		}
	}
	return out, nil
}

func distance(a int64, b int32) int64 {
	if d := a - int64(b); d >= 0 {
		return d
	}
	return int64(b) - a
}

// lighter looks for one more block by fewer registers and less shared memory.
func (e *Entry) lighter(c Config, base *Answer) (Step, bool) {
	need := base.Blocks + 1
	s := Step{Config: c}
	for _, r := range []struct {
		limit Limit
		has   int64
		set   func(c *Config, v int64)
	}{
		{LimitRegs, int64(c.Regs), func(c *Config, v int64) { c.Regs = int32(v) }},
		{LimitScalarRegs, int64(c.ScalarRegs), func(c *Config, v int64) { c.ScalarRegs = int32(v) }},
		{LimitSharedMem, c.Shared(), func(c *Config, v int64) {
			// What is dynamic goes first: it is the caller's to choose.
			c.DynamicSmem = int32(max(0, v-int64(c.StaticSmem)))
			c.StaticSmem = int32(min(v, int64(c.StaticSmem)))
		}},
	} {
		if base.By(r.limit) >= need {
			continue
		}
		low := int64(1)
		if r.limit == LimitSharedMem {
			low = 0
		}
		// Blocks never rise with what each of them takes.
		n := sort.Search(int(max(r.has-low, 0)), func(i int) bool {
			try := c
			r.set(&try, low+int64(i))
			a, err := e.Occupancy(try)
			return err != nil || a.By(r.limit) < need
		})
		if n == 0 {
			return s, false
		}
		r.set(&s.Config, low+int64(n)-1)
		s.Changed |= r.limit
	}
	if s.Changed == 0 {
		return s, false
	}
	var err error
	s.Answer, err = e.Occupancy(s.Config)
	return s, err == nil && s.Answer.Blocks >= need
}
