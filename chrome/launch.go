package chrome

import (
	"strconv"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/occupancy"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// launchTexts holds, for each device and launch configuration that occur
// together, the arguments from "registers per thread" to "occupancy". The first
// maxLaunchTexts are kept; in a trace with more, the rest are rendered anew.
type launchTexts struct {
	opts    occupancy.Options
	compat  bool
	t       *timeline.Trace
	devices []*occupancy.Device // by the places' index; nil: properties unknown
	texts   [][]string          // by device and launch; "" is not kept
	kept    int
}

// maxLaunchTexts bounds the memory for launch texts to some 20 MB.
const maxLaunchTexts = 32 << 10

func (l *launchTexts) init(t *timeline.Trace, places []placeText, compat bool) {
	l.t, l.compat = t, compat
	if compat {
		l.opts.Mode = occupancy.Kineto
	}
	for _, p := range places {
		if p.index < len(l.devices) {
			continue
		}
		l.devices = append(l.devices, nil)
		l.texts = append(l.texts, nil)
		for i := range t.Devices {
			if t.Devices[i].ID == p.device {
				d := calculator(&t.Devices[i])
				l.devices[p.index] = &d
			}
		}
	}
}

// see renders the text of a launch on a device if it is new.
func (l *launchTexts) see(device int, launch uint32) {
	if l.t.Launches[launch].Has&event.NoLaunch != 0 {
		return
	}
	if l.texts[device] == nil {
		l.texts[device] = make([]string, len(l.t.Launches))
	}
	if at := &l.texts[device][launch]; *at == "" && l.kept < maxLaunchTexts {
		*at = string(l.render(nil, device, launch))
		l.kept++
	}
}

// append appends the text, which ends in a comma and a blank; nothing where the library
// did not tell how the kernel was launched.
func (l *launchTexts) append(dst []byte, device int, launch uint32) []byte {
	if l.t.Launches[launch].Has&event.NoLaunch != 0 {
		return dst
	}
	if s := l.texts[device][launch]; s != "" {
		return append(dst, s...)
	}
	return l.render(dst, device, launch)
}

func (l *launchTexts) render(dst []byte, device int, launch uint32) []byte {
	c := &l.t.Launches[launch]
	if c.Has&event.NoRegisters == 0 {
		dst = append(dst, `"registers per thread": `...)
		dst = strconv.AppendUint(dst, uint64(c.Registers), 10)
		dst = append(dst, ", "...)
	}
	if c.Has&event.NoShared == 0 {
		dst = append(dst, `"shared memory": `...)
		if l.compat {
			dst = strconv.AppendInt(dst, int64(c.Static+c.Dynamic), 10) // 32 bits, as Kineto adds
		} else {
			dst = strconv.AppendInt(dst, int64(c.Static)+int64(c.Dynamic), 10)
		}
		dst = append(dst, ", "...)
	}
	dev := l.devices[device]
	var numSMs, threadsPerSM int64
	if dev != nil {
		numSMs, threadsPerSM = dev.NumSMs, dev.MaxThreadsPerSM
	}
	blocks, blocksOK := occupancy.BlocksPerSM(numSMs, c.Grid, l.opts.Mode)
	if blocksOK {
		dst = append(dst, `"blocks per SM": `...)
		dst = occupancy.AppendPerSM(dst, blocks, l.opts.Format)
		if warps, ok := occupancy.WarpsPerSM(blocks, c.Block, l.opts.Mode); ok {
			dst = append(dst, `, "warps per SM": `...)
			dst = occupancy.AppendPerSM(dst, warps, l.opts.Format)
		}
		dst = append(dst, ", "...)
	}
	dst = appendDims(append(dst, `"grid": `...), c.Grid)
	dst = appendDims(append(dst, `, "block": `...), c.Block)
	if c.Has&(event.NoRegisters|event.NoShared) == 0 {
		dst = l.appendOccupancy(dst, dev, c, blocks, blocksOK, threadsPerSM)
	}
	return append(dst, ", "...)
}

func (l *launchTexts) appendOccupancy(dst []byte, dev *occupancy.Device, c *event.Launch, blocks float32, blocksOK bool, threadsPerSM int64) []byte {
	var r occupancy.Result
	err := occupancy.ErrMissing
	if dev != nil {
		k := occupancy.Kernel{
			Grid: c.Grid, Block: c.Block,
			RegsPerThread:   int32(c.Registers),
			StaticSharedMem: c.Static, DynamicSharedMem: c.Dynamic,
		}
		if c.Has&event.HasCluster != 0 {
			k.Cluster = c.Cluster
		}
		r, err = occupancy.Calculate(dev, &k, l.opts)
	}
	share, ok := occupancy.Failed, l.compat
	if err == nil && blocksOK {
		share, ok = occupancy.Achieved(r.ActiveBlocksPerSM, blocks, c.Block, threadsPerSM, l.opts.Mode)
	}
	if ok {
		dst = append(dst, `, "est. achieved occupancy %": `...)
		dst = strconv.AppendInt(dst, occupancy.Percent(share, l.opts.Format), 10)
	}
	if err != nil || l.compat {
		return dst
	}
	dst = append(dst, `, "occupancy": {"activeBlocksPerMultiprocessor": `...)
	dst = strconv.AppendInt(dst, r.ActiveBlocksPerSM, 10)
	dst = append(dst, `, "limitingFactors": "`...)
	dst = append(dst, r.Limiting.String()...)
	dst = append(dst, '"')
	for _, m := range [...]struct {
		key   string
		value int64
	}{
		{`, "blockLimitRegs": `, r.ByRegs},
		{`, "blockLimitSharedMem": `, r.BySharedMem},
		{`, "blockLimitWarps": `, r.ByWarps},
		{`, "blockLimitBlocks": `, r.ByBlocks},
		{`, "blockLimitBarriers": `, r.ByBarriers},
		{`, "allocatedRegistersPerBlock": `, r.AllocatedRegsPerBlock},
		{`, "allocatedSharedMemPerBlock": `, r.AllocatedSharedMemPerBlock},
	} {
		dst = append(dst, m.key...)
		dst = strconv.AppendInt(dst, m.value, 10)
	}
	return append(dst, '}')
}

func appendDims(dst []byte, d [3]int32) []byte {
	dst = strconv.AppendInt(append(dst, '['), int64(d[0]), 10)
	dst = strconv.AppendInt(append(dst, ", "...), int64(d[1]), 10)
	dst = strconv.AppendInt(append(dst, ", "...), int64(d[2]), 10)
	return append(dst, ']')
}

// calculator makes the properties of a device those that package occupancy
// takes.
func calculator(d *timeline.Device) occupancy.Device {
	get := func(key string) int64 { v, _ := d.Property(key); return v }
	out := occupancy.Device{
		ComputeMajor:              get("computeMajor"),
		ComputeMinor:              get("computeMinor"),
		NumSMs:                    get("numSms"),
		MaxThreadsPerBlock:        get("maxThreadsPerBlock"),
		MaxThreadsPerSM:           get("maxThreadsPerMultiprocessor"),
		RegsPerBlock:              get("regsPerBlock"),
		RegsPerSM:                 get("regsPerMultiprocessor"),
		WarpSize:                  get("warpSize"),
		SharedMemPerBlock:         get("sharedMemPerBlock"),
		SharedMemPerBlockOptin:    get("sharedMemPerBlockOptin"),
		SharedMemPerSM:            get("sharedMemPerMultiprocessor"),
		ReservedSharedMemPerBlock: get("reservedSharedMemPerBlock"),
	}
	out.FillReserved()
	return out
}
