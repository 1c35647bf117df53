package main

import (
	"encoding/json"
	"io"

	"github.com/flagos-ai/flagos-trace/occupancy"
)

// occupancyJSON is the form of --json. What does not apply is not there.
type occupancyJSON struct {
	Device struct {
		Name       string `json:"name"`
		Title      string `json:"title"`
		Capability string `json:"capability,omitempty"`
		GFX        string `json:"gfx,omitempty"`
		SMs        int64  `json:"sms,omitempty"`
		CUs        int64  `json:"cus,omitempty"`
		Per        string `json:"per"`
		Basis      string `json:"basis"`
	} `json:"device"`
	Config     configJSON       `json:"config"`
	Launchable bool             `json:"launchable"`
	Breaks     []string         `json:"breaks,omitempty"`
	Result     resultJSON       `json:"result"`
	Limits     map[string]int64 `json:"limits"`
	MaxWarps   int64            `json:"max_warps"`
	Registers  int64            `json:"allocated_registers,omitempty"`
	Smem       int64            `json:"allocated_smem"`
	Cluster    *clusterJSON     `json:"cluster,omitempty"`
	Next       []stepJSON       `json:"next"`
	Sweep      *sweepJSON       `json:"sweep,omitempty"`
}

type configJSON struct {
	Block      int32 `json:"block"`
	Regs       int32 `json:"regs,omitempty"`
	SGPRs      int32 `json:"sgprs,omitempty"`
	StaticSmem int32 `json:"static_smem"`
	DynSmem    int32 `json:"dyn_smem"`
	Carveout   int32 `json:"carveout,omitempty"`
	Cluster    int32 `json:"cluster,omitempty"`
	Wave       int32 `json:"wave,omitempty"`
	CUMode     bool  `json:"cu_mode,omitempty"`
}

type resultJSON struct {
	Blocks    int64    `json:"blocks"`
	Warps     int64    `json:"warps"`
	Occupancy float64  `json:"occupancy"`
	Limiting  []string `json:"limiting"`
}

type clusterJSON struct {
	MaxActive   int32    `json:"max_active,omitempty"`
	BlocksPerSM *float64 `json:"blocks_per_sm,omitempty"`
}

type stepJSON struct {
	Config configJSON `json:"config"`
	Result resultJSON `json:"result"`
	Change string     `json:"change"`
}

type sweepJSON struct {
	Axis   string      `json:"axis"`
	Points []pointJSON `json:"points"`
}

type pointJSON struct {
	Value int64 `json:"value"`
	resultJSON
}

func configToJSON(c *occupancy.Config) configJSON {
	return configJSON{c.Block, c.Regs, c.ScalarRegs, c.StaticSmem, c.DynamicSmem, c.Carveout, c.ClusterBlocks, c.WaveSize, c.CUMode}
}

// limitKeys are the names in --json, the same for all vendors.
var limitKeys = map[occupancy.Limit]string{occupancy.LimitWarps: "warps", occupancy.LimitRegs: "regs", occupancy.LimitSharedMem: "smem",
	occupancy.LimitBlocks: "blocks", occupancy.LimitBarriers: "barriers", occupancy.LimitScalarRegs: "sgprs"}

func resultToJSON(a *occupancy.Answer) resultJSON {
	r := resultJSON{Blocks: a.Blocks, Warps: a.Blocks * a.WarpsPerBlock, Occupancy: a.Theoretical(), Limiting: []string{}}
	for _, l := range allLimits {
		if a.Limiting&l != 0 {
			r.Limiting = append(r.Limiting, limitKeys[l])
		}
	}
	return r
}

func (r *report) printJSON(w io.Writer) error {
	var j occupancyJSON
	a := &r.answer
	kind, units := entryKind(r.entry)
	j.Device.Name, j.Device.Title, j.Device.Per = r.entry.Name, r.entry.Title, r.entry.Words(r.config).SM
	if j.Device.Basis = string(r.entry.Basis()); r.entry.NVIDIA != nil {
		j.Device.Capability, j.Device.SMs = kind, units
	} else {
		j.Device.GFX, j.Device.CUs = kind, units
	}
	j.Config, j.Launchable, j.Breaks, j.Result = configToJSON(&r.config), a.Blocks > 0, a.Breaks, resultToJSON(a)
	j.MaxWarps, j.Registers, j.Smem, j.Limits, j.Next = a.MaxWarps, a.AllocatedRegs, a.AllocatedSmem, map[string]int64{}, []stepJSON{}
	for _, l := range allLimits {
		if by := a.By(l); by != occupancy.Unlimited {
			j.Limits[limitKeys[l]] = by
		}
	}
	if r.config.ClusterBlocks > 1 {
		j.Cluster = &clusterJSON{MaxActive: r.config.MaxActiveClusters}
		if a.ClusterBlocks >= 0 {
			j.Cluster.BlocksPerSM = &a.ClusterBlocks
		}
	}
	for i := range r.steps {
		s := &r.steps[i]
		j.Next = append(j.Next, stepJSON{configToJSON(&s.Config), resultToJSON(&s.Answer), r.stepText(s)})
	}
	if r.axis != "" {
		j.Sweep = &sweepJSON{Axis: string(r.axis)}
		for i := range r.points {
			j.Sweep.Points = append(j.Sweep.Points, pointJSON{r.points[i].Value, resultToJSON(&r.points[i].Answer)})
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(&j)
}
