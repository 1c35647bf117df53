package main

import (
	"github.com/flagos-ai/flagos-trace/agent"
	"github.com/flagos-ai/flagos-trace/tracer"
	ascend "github.com/flagos-ai/flagos-trace/tracer/ascend/bind"
	cupti "github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
	metax "github.com/flagos-ai/flagos-trace/tracer/metax/bind"
	musa "github.com/flagos-ai/flagos-trace/tracer/musa/bind"
	ppu "github.com/flagos-ai/flagos-trace/tracer/ppu/bind"
	roctracer "github.com/flagos-ai/flagos-trace/tracer/roctracer/bind"
)

// vendors are the tracers of this agent, a line each. Of two whose devices are as near
// the first is tried first.
var vendors = []agent.Candidate{
	// Before CUPTI, in whose name the PPU's library comes.
	{Name: ppu.Name, Detect: ppu.Detect, Open: opener(ppu.Open)},
	{Name: cupti.Name, Detect: cupti.Detect, Open: opener(cupti.Open)},
	{Name: ascend.Name, Detect: ascend.Detect, Open: opener(ascend.Open)},
	{Name: musa.Name, Detect: musa.Detect, Open: opener(musa.Open)},
	{Name: metax.Name, Detect: metax.Detect, Open: opener(metax.Open)},
	{Name: roctracer.Name, Detect: roctracer.Detect, Open: opener(roctracer.Open)},
}

// opener keeps a nil pointer from becoming an interface that is not nil.
func opener[B tracer.Binding](open func(func(string) string) (B, error)) func(func(string) string) (tracer.Binding, error) {
	return func(getenv func(string) string) (tracer.Binding, error) {
		b, err := open(getenv)
		if err != nil {
			return nil, err
		}
		return b, nil
	}
}
