package shape

import (
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// limits are the range a figure can have at all, whatever the device.
type limits struct {
	min, max float64
	// product bounds the product of an array's elements; 0: it is no array.
	product float64
}

// plausible holds the limits by category and key. They are wide: a figure outside
// cannot have been measured.
var plausible = map[string]map[string]limits{
	"kernel": {
		"registers per thread":      {min: 1, max: 1024}, // CUDA: 255; AMD: 512 vector registers
		"blocks per SM":             {min: 1e-9, max: 1e10},
		"warps per SM":              {min: 1e-9, max: 1e12},
		"est. achieved occupancy %": {min: 0, max: 100},
		"shared memory":             {min: 0, max: 16 << 20},
		"queued":                    {min: 0, max: 1 << 63},
		"grid":                      {min: 1, max: 1<<31 - 1, product: 1 << 62},
		"block":                     {min: 1, max: 4096, product: 4096}, // 1024 threads a block on CUDA and AMD
		"device":                    {min: 0, max: 1 << 16},
		"stream":                    {min: 0, max: 1 << 32},
		"correlation":               {min: 0, max: 1 << 63},
	},
	"gpu_memcpy":   copyLimits,
	"gpu_memset":   copyLimits,
	"cuda_runtime": {"cbid": {min: 0, max: 1 << 20}, "correlation": {min: 0, max: 1 << 63}},
	"cuda_driver":  {"cbid": {min: 0, max: 1 << 20}, "correlation": {min: 0, max: 1 << 63}},
}

var copyLimits = map[string]limits{
	"bytes":                   {min: 0, max: 1 << 50},
	"memory bandwidth (GB/s)": {min: 0, max: 50000}, // several times the fastest memory there is
	"device":                  {min: 0, max: 1 << 16},
	"stream":                  {min: 0, max: 1 << 32},
	"correlation":             {min: 0, max: 1 << 63},
}

func limitsOf(category, key string) *limits {
	if l, ok := plausible[category][key]; ok {
		return &l
	}
	return nil
}

// holds reports whether a value lies in the range. Text that is no number, as
// Kineto writes where it has none, is not judged.
func (l *limits) holds(t typeSet, v chrome.Value) bool {
	if t == typeArray {
		if l.product == 0 {
			return true // another type: told elsewhere
		}
		product := 1.0
		for e := range chrome.Elements(v) {
			x, ok := number(e)
			if !ok || x < l.min || x > l.max {
				return false
			}
			product *= x
		}
		return product <= l.product
	}
	if t != typeInteger && t != typeNumber && t != typeString {
		return true
	}
	x, ok := number(v)
	return !ok || l.product != 0 || x >= l.min && x <= l.max
}

// String is the range in words.
func (l *limits) String() string {
	s := strconv.FormatFloat(l.min, 'g', 6, 64) + " to " + strconv.FormatFloat(l.max, 'g', 12, 64)
	if l.min == 1e-9 {
		s = "more than 0"
	}
	if l.product != 0 && l.product < 1<<40 {
		s += ", product up to " + strconv.FormatFloat(l.product, 'g', 12, 64)
	}
	return s
}
