package validate

import (
	"bytes"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Family is what wrote a trace, as far as rules differ.
type Family string

// The families.
const (
	Generic      Family = "chrome"    // a Chrome trace of something else
	CPUOnly      Family = "torch-cpu" // torch.profiler without a device
	CUDA         Family = "torch-cuda"
	ROCm         Family = "torch-rocm"
	XPU          Family = "torch-xpu"
	MTIA         Family = "torch-mtia"
	MUSA         Family = "torch-musa"
	MLU          Family = "torch-mlu"
	PrivateUse1  Family = "torch-privateuse1" // a device plugged into torch that is none of the others
	TorchFL      Family = "torch-fl"
	NPUTraceView Family = "torch-npu-trace-view"
	NPUMSPTI     Family = "torch-npu-mspti"
	Flagos       Family = "flagos-trace"
)

// Producer says what wrote a trace.
type Producer struct {
	Family Family
	Name   string // for people
	// Since is the oldest version of the producer that writes such a document, as
	// far as the document shows; empty if it does not.
	Since string

	required    map[kind]uint64 // arguments that it always writes
	undelivered []NotApplicable // and those that the vendor's library does not give it
}

// recognize finds the producer from members, categories, and the names of
// processes and API calls.
func (t *trace) recognize() Producer {
	has := func(keys ...string) bool {
		for _, k := range keys {
			if _, ok := t.members[k]; ok {
				return true
			}
		}
		return false
	}
	category := map[string]bool{}
	for i := range t.cats.len() {
		category[strings.ToLower(string(t.cats.text(uint32(i))))] = true
	}
	anyCategory := func(prefixes ...string) bool {
		for c := range category {
			for _, p := range prefixes {
				if strings.HasPrefix(c, p) {
					return true
				}
			}
		}
		return false
	}
	process := func(name string) bool {
		for _, names := range t.processNames {
			for _, n := range names {
				if n == name {
					return true
				}
			}
		}
		return false
	}
	label := func(prefix string) bool {
		for _, names := range t.labels {
			for _, n := range names {
				if strings.HasPrefix(n, prefix) {
					return true
				}
			}
		}
		return false
	}
	api := t.apiPrefix()
	cuda := map[kind]uint64{
		kKernel: bit(aDevice) | bit(aContext) | bit(aStream) | bit(aCorrelation) | bit(aRegs) | bit(aSmem) | bit(aGrid) | bit(aBlock) |
			bit(aBlocks) | bit(aWarps) | bit(aOcc),
		kMemcpy:  bit(aContext) | bit(aStream) | bit(aCorrelation) | bit(aBytes),
		kMemset:  bit(aDevice) | bit(aContext) | bit(aStream) | bit(aCorrelation) | bit(aBytes),
		kRuntime: bit(aCorrelation) | bit(aCbid),
		kDriver:  bit(aCorrelation) | bit(aCbid),
	}
	switch {
	case has("flagosTrace") && !t.repairedByUs():
		// Figures are left out where they are not known.
		own := map[kind]uint64{}
		for k, m := range cuda {
			own[k] = m &^ (bit(aBlocks) | bit(aWarps) | bit(aOcc) | bit(aBandwidth))
		}
		return Producer{Family: Flagos, Name: "flagos-trace", required: own, undelivered: t.deliverable(own)}
	case process("Ascend Hardware") || process("CANN"):
		return Producer{Family: NPUTraceView, Name: "torch_npu (trace_view.json)"}
	case category["collective_comm"] && category["privateuse1_runtime"]:
		return Producer{Family: NPUMSPTI, Name: "torch_npu (MSPTI)"}
	case label("flagos:"):
		return Producer{Family: TorchFL, Name: "Torch-FL", required: cuda}
	case has("roctracer_version", "hip_runtime_version", "rocprofiler_version", "hip_driver_version") || api == "hip":
		p := Producer{Family: ROCm, Name: "torch.profiler for ROCm", required: map[kind]uint64{
			kKernel: bit(aDevice) | bit(aStream) | bit(aCorrelation) | bit(aKind), kMemcpy: bit(aDevice) | bit(aStream) | bit(aCorrelation) | bit(aKind),
			kRuntime: bit(aCorrelation) | bit(aCid),
		}}
		p.Since = t.kinetoSince()
		return p
	case anyCategory("mlu_"):
		return Producer{Family: MLU, Name: "torch_mlu", required: map[kind]uint64{kKernel: bit(aCorrelation), kRuntime: bit(aCorrelation)}}
	case anyCategory("musa_") || api == "musa":
		return Producer{Family: MUSA, Name: "torch_musa", required: map[kind]uint64{kKernel: bit(aCorrelation), kRuntime: bit(aCorrelation)}}
	case has("xpupti_version") || anyCategory("xpu_"):
		return Producer{Family: XPU, Name: "torch.profiler for XPU", required: map[kind]uint64{kRuntime: bit(aCorrelation)}}
	case anyCategory("mtia_"):
		return Producer{Family: MTIA, Name: "torch.profiler for MTIA"}
	case anyCategory("privateuse1_"):
		return Producer{Family: PrivateUse1, Name: "torch.profiler for a plugged-in device", required: map[kind]uint64{kRuntime: bit(aCorrelation)}}
	case anyCategory("cuda_", "runtime") || api == "cuda" || t.counts.device > 0:
		return Producer{Family: CUDA, Name: "torch.profiler for CUDA", Since: t.kinetoSince(), required: cuda}
	case has("schemaVersion") || category["cpu_op"] || category["user_annotation"]:
		return Producer{Family: CPUOnly, Name: "torch.profiler without a device", Since: t.kinetoSince()}
	}
	return Producer{Family: Generic, Name: "a Chrome trace of an unknown writer"}
}

// kinetoSince dates a Kineto document by what it has. Source: the changes of
// Kineto's output. Which Kineto a torch has is told by torch alone, and the document
// does not say it, so that no release is named.
func (t *trace) kinetoSince() string {
	_, base := t.members["baseTimeNanoseconds"]
	if chrome.Lookup(t.repaired(), timeline.RepairedAbsoluteTimes) != nil {
		base = false // it was not there before the repair
	}
	_, host := t.members["host_name"]
	switch {
	case host && base && t.members["cuda_runtime_version"] != nil:
		return "Kineto of March 2026 (host_name)"
	case base:
		return "Kineto of May 2024 (baseTimeNanoseconds)"
	case t.fraction:
		return "Kineto of March 2024 (times with decimals)"
	}
	return ""
}

// repaired is what a repair of this project counted in the document.
func (t *trace) repaired() chrome.Value {
	return chrome.Lookup(t.member(chrome.KeyCompleteness), "repaired")
}

// repairedByUs says whether the document's record is that of a repair only: of
// another producer's trace.
func (t *trace) repairedByUs() bool {
	own := t.member(chrome.KeyCompleteness)
	return chrome.Lookup(own, "repaired_by") != nil && chrome.Lookup(own, "tool") == nil
}

func (t *trace) hasCategory(name string) bool {
	for i := range t.cats.len() {
		if string(t.cats.text(uint32(i))) == name {
			return true
		}
	}
	return false
}

// apiPrefix is the vendor's prefix of most API calls.
func (t *trace) apiPrefix() string {
	votes := map[string]int{}
	seen := make([]bool, t.names.len())
	t.each(func(_ uint32, r *record) {
		if !r.kind.isAPI() || seen[r.name] {
			return
		}
		seen[r.name] = true
		name := t.names.text(r.name)
		for _, p := range []string{"cuda", "hip", "musa", "cn", "xpu"} {
			if bytes.HasPrefix(name, []byte(p)) {
				votes[p]++
			}
		}
	})
	best := ""
	for _, p := range []string{"cuda", "hip", "musa", "cn", "xpu"} {
		if votes[p] > votes[best] {
			best = p
		}
	}
	return best
}

// relative says whether times are told from the trace's own beginning, so that 0
// is a time like any other.
func (t *trace) relative() bool { return t.first < 1_000_000_000 }

func (t *trace) cuptiVersion() int64 {
	v, _ := t.member("cupti_version").Int()
	return v
}

func (t *trace) hasWindow() bool { return t.windowTo > t.windowFrom }

// readGPUs reads deviceProperties.
func (t *trace) readGPUs() {
	text := t.member("deviceProperties")
	if len(text) == 0 {
		return
	}
	for e := range chrome.Elements(text) {
		g := &gpu{}
		id := int64(-1)
		num := func(key string) int64 { n, _ := chrome.Lookup(e, key).Int(); return n }
		if n, ok := chrome.Lookup(e, "id").Int(); ok {
			id = n
			t.described[n] = true
		}
		d := &g.dev
		d.ComputeMajor, d.ComputeMinor, d.NumSMs = num("computeMajor"), num("computeMinor"), num("numSms")
		d.MaxThreadsPerBlock, d.MaxThreadsPerSM, d.RegsPerBlock = num("maxThreadsPerBlock"), num("maxThreadsPerMultiprocessor"), num("regsPerBlock")
		d.RegsPerSM, d.WarpSize, d.SharedMemPerBlock = num("regsPerMultiprocessor"), num("warpSize"), num("sharedMemPerBlock")
		d.SharedMemPerBlockOptin, d.SharedMemPerSM = num("sharedMemPerBlockOptin"), num("sharedMemPerMultiprocessor")
		if id < 0 || d.NumSMs == 0 {
			continue
		}
		d.FillReserved()
		g.kineto = d.Check(kinetoMode) == nil
		g.correct = d.Check(correctMode) == nil
		t.gpus[id] = g
	}
}
