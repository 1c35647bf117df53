package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/occupancy"
)

// config reads the flags of a configuration.
func (o *occupancyFlags) config(e *occupancy.Entry) (c occupancy.Config, err error) {
	threads, err := parseDims("--block", o.block, "threads")
	if err != nil {
		return c, err
	}
	c.Block = threads
	if o.cluster != "" {
		if c.ClusterBlocks, err = parseDims("--cluster", o.cluster, "blocks"); err != nil {
			return c, err
		}
	}
	for _, s := range []struct {
		flag, text string
		dst        *int32
	}{{"--smem", o.smem, &c.StaticSmem}, {"--dyn-smem", o.dynSmem, &c.DynamicSmem}} {
		if *s.dst, err = parseShared(s.flag, s.text); err != nil {
			return c, err
		}
	}
	for _, n := range []struct {
		flag string
		v    int64
		dst  *int32
	}{{"--regs", o.regs, &c.Regs}, {"--sgprs", o.sgprs, &c.ScalarRegs}, {"--wave", o.wave, &c.WaveSize}, {"--max-active-clusters", o.maxClus, &c.MaxActiveClusters}} {
		if n.v < 0 || n.v > math.MaxUint16 {
			return c, fmt.Errorf("%s %d: give a number from 0 to %d", n.flag, n.v, math.MaxUint16)
		}
		*n.dst = int32(n.v)
	}
	c.CUMode = o.cuMode
	if c.MaxActiveClusters > 0 && c.ClusterBlocks < 2 {
		return c, errors.New("--max-active-clusters needs --cluster of 2 blocks or more")
	}
	c.Carveout, err = parseCarveout(o.carveout, e)
	return c, err
}

// parseDims reads a product such as 256, 16x16 or 8x8x4.
func parseDims(flag, text, what string) (int32, error) {
	n := int64(1)
	parts := strings.Split(text, "x")
	if len(parts) > 3 {
		return 0, fmt.Errorf("%s %s: three dimensions at most", flag, text)
	}
	for _, p := range parts {
		v, err := strconv.ParseInt(p, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return 0, fmt.Errorf("%s %s: more than %d %s", flag, text, math.MaxInt32, what)
		case err != nil:
			return 0, fmt.Errorf("%s %s: give a number of %s, such as 256 or 16x16", flag, text, what)
		case v < 1:
			return 0, fmt.Errorf("%s %s: a dimension must have 1 or more %s", flag, text, what)
		case v > math.MaxInt32/n:
			return 0, fmt.Errorf("%s %s: more than %d %s", flag, text, math.MaxInt32, what)
		}
		n *= v
	}
	return int32(n), nil
}

// parseShared reads a number of bytes, 0 included, with K or M behind it.
func parseShared(flag, text string) (int32, error) {
	digits := strings.TrimSuffix(strings.TrimSuffix(text, "B"), "i")
	unit := int64(1)
	if i := strings.IndexAny(digits, "kKM"); i >= 0 && i == len(digits)-1 {
		if unit = 1 << 10; digits[i] == 'M' {
			unit = 1 << 20
		}
		digits = digits[:i]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && n > math.MaxInt32/unit:
		return 0, fmt.Errorf("%s %s: more than %d bytes", flag, text, math.MaxInt32)
	case err != nil:
		return 0, fmt.Errorf("%s %s: give a number of bytes, such as 32768 or 32K", flag, text)
	case n < 0:
		return 0, fmt.Errorf("%s %s: it cannot be negative", flag, text)
	}
	return int32(n * unit), nil
}

// parseCarveout reads a size or a percentage of an SM's shared memory.
func parseCarveout(text string, e *occupancy.Entry) (int32, error) {
	if text == "" {
		return 0, nil
	}
	if e.NVIDIA == nil {
		return 0, fmt.Errorf("--carveout %s: carve-outs are of NVIDIA devices; %s is none", text, e.Name)
	}
	digits, percent := strings.CutSuffix(text, "%")
	if !percent {
		n, err := parseShared("--carveout", text)
		return max(n, 1), err // 0 is the smallest there is, as 1 byte
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 100 {
		return 0, fmt.Errorf("--carveout %s: give a percentage from 0%% to 100%%", text)
	}
	return int32(max(n*e.NVIDIA.SharedMemPerSM/100, 1)), nil
}
