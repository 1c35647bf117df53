package kernels

import (
	"fmt"
	"math"
	"strconv"
)

// row is a configuration as WriteJSON and WriteCSV have it. Shares are in percent
// of all kernels' time in the trace, occupancies in percent; nil is unknown.
type row struct {
	Name      string    `json:"name"`
	Device    *int64    `json:"device,omitempty"`
	On        string    `json:"device_name,omitempty"`
	Grid      *[3]int32 `json:"grid,omitempty"`
	Block     *[3]int32 `json:"block,omitempty"`
	Cluster   *[3]int32 `json:"cluster,omitempty"`
	Registers *int64    `json:"registers,omitempty"`
	SharedMem *int64    `json:"shared_memory,omitempty"`
	LocalMem  *int64    `json:"local_memory_per_thread,omitempty"`
	Calls     uint64    `json:"calls"`
	Untimed   uint64    `json:"calls_without_time,omitempty"`
	TimeNS    int64     `json:"time_ns"`
	Share     *float64  `json:"time_share_percent,omitempty"`

	*figuresRow
	Reason string     `json:"not_calculable,omitempty"`
	Stated *statedRow `json:"stated,omitempty"`
	Kineto *kinetoRow `json:"kineto,omitempty"`
	// BelowSMs stands where there are no figures; with them grid_too_small says more.
	BelowSMs bool `json:"fewer_blocks_than_sms,omitempty"`
}

type figuresRow struct {
	LostNS       int64    `json:"lost_ns"`
	LostShare    *float64 `json:"lost_share_percent,omitempty"`
	Theoretical  float64  `json:"theoretical_percent"`
	Achieved     float64  `json:"estimated_achieved_percent"`
	Resident     float64  `json:"resident_percent"`
	Limiting     string   `json:"limiting"`
	Active       int64    `json:"active_blocks_per_sm"`
	ActiveWarps  int64    `json:"active_warps_per_sm"`
	MaxWarps     int64    `json:"max_warps_per_sm"`
	ByWarps      *int64   `json:"by_warps,omitempty"`
	ByRegs       *int64   `json:"by_registers,omitempty"`
	BySharedMem  *int64   `json:"by_shared_memory,omitempty"`
	ByBlocks     *int64   `json:"by_blocks,omitempty"`
	BlocksPerSM  float64  `json:"blocks_per_sm"`
	WarpsPerSM   float64  `json:"warps_per_sm"`
	Blocks       int64    `json:"blocks"`
	Places       int64    `json:"blocks_per_wave"`
	Waves        float64  `json:"waves"`
	LastWave     float64  `json:"last_wave_percent"`
	Tail         float64  `json:"tail_percent"`
	GridTooSmall bool     `json:"grid_too_small"`
	Unfilled     float64  `json:"unfilled_percent"`
	UpperBound   bool     `json:"upper_bound,omitempty"`
}

type statedRow struct {
	BlocksPerSM string `json:"blocks_per_sm,omitempty"`
	WarpsPerSM  string `json:"warps_per_sm,omitempty"`
	Percent     string `json:"achieved_percent,omitempty"`
	Agrees      string `json:"agrees_with,omitempty"`
	Differs     bool   `json:"differs_between_calls,omitempty"`
}

type kinetoRow struct {
	BlocksPerSM float64 `json:"blocks_per_sm"`
	WarpsPerSM  float64 `json:"warps_per_sm"`
	Percent     float64 `json:"estimated_achieved_percent"`
}

func (r *Report) row(c *Configuration) row {
	out := row{
		Name: c.Name, On: c.DeviceName(), Calls: c.Calls, Untimed: c.Untimed, TimeNS: c.Time, Share: share(c.Time, r.Kernels.Time),
		Reason:  c.Reason,
		Grid:    dims(c, FactGrid, &c.Grid),
		Block:   dims(c, FactBlock, &c.Block),
		Cluster: dims(c, FactCluster, &c.Cluster),
		Device:  known(c, FactDevice, c.Device), Registers: known(c, FactRegisters, int64(c.Registers)),
		SharedMem: known(c, FactSharedMem, int64(c.SharedMem)), LocalMem: known(c, FactLocalMem, c.LocalMem),
		BelowSMs: c.BelowSMs && c.Figures == nil,
	}
	if s := &c.Stated; s.BlocksPerSM+s.WarpsPerSM+s.Percent != "" || c.StatedDiffers {
		out.Stated = &statedRow{s.BlocksPerSM, s.WarpsPerSM, s.Percent, c.Agreement.String(), c.StatedDiffers}
	}
	if k := c.Kineto; k != nil {
		out.Kineto = &kinetoRow{round(float64(k.BlocksPerSM)), round(float64(k.WarpsPerSM)), round(100 * float64(k.Achieved))}
	}
	if f := c.Figures; f != nil {
		out.figuresRow = &figuresRow{
			LostNS: f.Lost, LostShare: share(f.Lost, r.Lost),
			Theoretical: round(100 * f.Theoretical()), Achieved: round(100 * float64(f.Achieved)), Resident: round(100 * f.Resident),
			Limiting: f.Limiting.String(), Active: f.ActiveBlocksPerSM, ActiveWarps: f.ActiveBlocksPerSM * f.WarpsPerBlock, MaxWarps: f.MaxWarpsPerSM,
			ByWarps: limit(f.ByWarps), ByRegs: limit(f.ByRegs), BySharedMem: limit(f.BySharedMem), ByBlocks: limit(f.ByBlocks),
			BlocksPerSM: round(float64(f.BlocksPerSM)), WarpsPerSM: round(float64(f.WarpsPerSM)),
			Blocks: f.Blocks, Places: f.Places, Waves: round(f.Waves), LastWave: round(100 * f.LastWave),
			Tail: round(100 * f.Tail), GridTooSmall: f.GridTooSmall, Unfilled: round(100 * f.Unfilled), UpperBound: f.ClusterIgnored,
		}
	}
	return out
}

func known(c *Configuration, f Facts, v int64) *int64 {
	if c.Known&f == 0 {
		return nil
	}
	return &v
}

func dims(c *Configuration, f Facts, d *[3]int32) *[3]int32 {
	if c.Known&f == 0 {
		return nil
	}
	return d
}

// limit is a limit in blocks, nil for a resource of which the kernel uses nothing.
func limit(n int64) *int64 {
	if n == math.MaxInt32 {
		return nil
	}
	return &n
}

// share is a part in percent, nil of nothing.
func share(part, whole int64) *float64 {
	if whole <= 0 {
		return nil
	}
	v := round(100 * float64(part) / float64(whole))
	return &v
}

// round keeps four decimals, so that documents are the same on every machine.
func round(v float64) float64 {
	if math.Abs(v) >= 1e12 {
		return v
	}
	return math.Round(v*1e4) / 1e4
}

// csvColumns are the columns of WriteCSV, in order; an empty cell is unknown.
var csvColumns = []struct {
	name  string
	value func(*row) string
}{
	{"name", func(r *row) string { return r.Name }},
	{"device", func(r *row) string { return optional(r.Device) }},
	{"device_name", func(r *row) string { return r.On }},
	{"grid", func(r *row) string { return dimText(r.Grid) }},
	{"block", func(r *row) string { return dimText(r.Block) }},
	{"registers", func(r *row) string { return optional(r.Registers) }},
	{"shared_memory", func(r *row) string { return optional(r.SharedMem) }},
	{"local_memory_per_thread", func(r *row) string { return optional(r.LocalMem) }},
	{"calls", func(r *row) string { return strconv.FormatUint(r.Calls, 10) }},
	{"time_ns", func(r *row) string { return strconv.FormatInt(r.TimeNS, 10) }},
	{"time_share_percent", func(r *row) string { return optionalFloat(r.Share) }},
	{"lost_ns", figure(func(f *figuresRow) string { return strconv.FormatInt(f.LostNS, 10) })},
	{"theoretical_percent", figure(func(f *figuresRow) string { return float(f.Theoretical) })},
	{"estimated_achieved_percent", figure(func(f *figuresRow) string { return float(f.Achieved) })},
	{"resident_percent", figure(func(f *figuresRow) string { return float(f.Resident) })},
	{"stated_percent", func(r *row) string {
		if r.Stated == nil {
			return ""
		}
		return r.Stated.Percent
	}},
	{"stated_agrees_with", func(r *row) string {
		if r.Stated == nil {
			return ""
		}
		return r.Stated.Agrees
	}},
	{"limiting", figure(func(f *figuresRow) string { return f.Limiting })},
	{"active_blocks_per_sm", figure(func(f *figuresRow) string { return strconv.FormatInt(f.Active, 10) })},
	{"by_warps", figure(func(f *figuresRow) string { return optional(f.ByWarps) })},
	{"by_registers", figure(func(f *figuresRow) string { return optional(f.ByRegs) })},
	{"by_shared_memory", figure(func(f *figuresRow) string { return optional(f.BySharedMem) })},
	{"by_blocks", figure(func(f *figuresRow) string { return optional(f.ByBlocks) })},
	{"waves", figure(func(f *figuresRow) string { return float(f.Waves) })},
	{"tail_percent", figure(func(f *figuresRow) string { return float(f.Tail) })},
	{"grid_too_small", figure(func(f *figuresRow) string { return strconv.FormatBool(f.GridTooSmall) })},
	{"not_calculable", func(r *row) string { return r.Reason }},
}

func figure(text func(*figuresRow) string) func(*row) string {
	return func(r *row) string {
		if r.figuresRow == nil {
			return ""
		}
		return text(r.figuresRow)
	}
}

func float(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func optional(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}

func optionalFloat(v *float64) string {
	if v == nil {
		return ""
	}
	return float(*v)
}

func dimText(d *[3]int32) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2])
}
