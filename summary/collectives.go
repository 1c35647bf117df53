package summary

import (
	"cmp"
	"math"
	"strings"

	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/ranks"
)

// elementBytes are the sizes of torch's and NCCL's types of elements, by their names in
// lower case.
var elementBytes = map[string]int64{
	"float": 4, "float32": 4, "double": 8, "float64": 8, "half": 2, "float16": 2, "bfloat16": 2,
	"int": 4, "int32": 4, "uint32": 4, "long": 8, "int64": 8, "uint64": 8, "short": 2, "int16": 2, "uint16": 2,
	"char": 1, "byte": 1, "int8": 1, "uint8": 1, "bool": 1,
	"float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1,
	"fp32": 4, "fp16": 2, "bfp16": 2, "bf16": 2,
}

// busFactor is by how much more than its size an operation puts on each link of a ring
// of n ranks; ok is false for operations of which that is not known. The definitions are
// those of the performance tests of NCCL.
func busFactor(name string, n int) (factor float64, ok bool) {
	if n < 2 {
		return 0, false
	}
	part := float64(n-1) / float64(n)
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	switch {
	case strings.HasPrefix(name, "allreduce"):
		return 2 * part, true
	case strings.HasPrefix(name, "allgather"), strings.HasPrefix(name, "reducescatter"), strings.HasPrefix(name, "alltoall"):
		return part, true
	}
	switch ranks.KindOf(name) {
	case ranks.Rooted, ranks.Send, ranks.Recv:
		return 1, true
	}
	return 0, false
}

// collectiveRows are the rows, those that took most time first.
func (t *tables) collectiveRows() []Collective {
	for k, r := range t.collectives {
		r.Name, r.Dtype, r.Ranks = k.name, k.dtype, k.ranks
		if k.in >= 0 {
			r.In = &k.in
		}
		if k.out >= 0 {
			r.Out = &k.out
		}
		size, known := elementBytes[strings.ToLower(k.dtype)]
		elements := max(k.in, k.out)
		if !known || elements <= 0 || elements > measure.MaxBytes/size {
			continue
		}
		bytes := elements * size
		r.Bytes = &bytes
		ns := r.DeviceNS
		if r.WaitNS != nil {
			ns -= *r.WaitNS
		}
		if ns <= 0 {
			continue
		}
		r.AlgorithmBandwidth = rate(float64(bytes)*float64(r.Count), ns)
		if f, ok := busFactor(k.name, k.ranks); ok {
			v := math.Trunc(*r.AlgorithmBandwidth * f)
			r.BusBandwidth = &v
		}
	}
	return values(t.collectives, func(a, b *Collective) int {
		return cmp.Or(cmp.Compare(b.DeviceNS, a.DeviceNS), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Dtype, b.Dtype),
			comparePointers(a.In, b.In), comparePointers(a.Out, b.Out), cmp.Compare(a.Ranks, b.Ranks))
	})
}

func comparePointers(a, b *int64) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(btoi(a != nil), btoi(b != nil))
	}
	return cmp.Compare(*a, *b)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
