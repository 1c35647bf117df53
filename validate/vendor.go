package validate

import (
	"github.com/flagos-ai/flagos-trace/capability"
	"github.com/flagos-ai/flagos-trace/chrome"
)

// categoryOf are the categories of kinds as the table of capabilities has them.
var categoryOf = map[kind]string{kKernel: "kernel", kMemcpy: "gpu_memcpy", kMemset: "gpu_memset", kRuntime: "cuda_runtime", kDriver: "cuda_driver"}

// wordOf are the kinds in words: what a trace calls calls of the runtime is the vendor's.
var wordOf = map[kind]string{kKernel: "kernels", kMemcpy: "copies", kMemset: "fills", kRuntime: "calls of the runtime", kDriver: "calls of the driver"}

// deliverable takes off required what the library of the vendor whose tracer recorded a
// trace of ours cannot deliver, or not on every event, and says why.
func (t *trace) deliverable(required map[kind]uint64) (not []NotApplicable) {
	vendor := string(chrome.Lookup(t.member(chrome.KeyCompleteness), "tracer").Text(nil))
	table := capability.Default()
	for _, k := range []kind{kKernel, kMemcpy, kMemset, kRuntime, kDriver} {
		var reasons []string
		lacks := map[string]uint64{}
		for a := arg(1); a < numArgs; a++ {
			if required[k]&bit(a) == 0 {
				continue
			}
			subject := categoryOf[k] + "/" + argNames[a]
			m := table.Why(vendor, "arg-keys", "arg:"+subject)
			if m == nil {
				m = table.Why(vendor, "arg-coverage", "coverage:"+subject)
			}
			if m == nil {
				continue
			}
			required[k] &^= bit(a)
			if lacks[m.Reason] == 0 {
				reasons = append(reasons, m.Reason)
			}
			lacks[m.Reason] |= bit(a)
		}
		for _, why := range reasons {
			not = append(not, NotApplicable{rules[rArgMissing].ID, table.Vendor(vendor) + ", " + wordOf[k] + ": " + argList(lacks[why]) + ": " + why})
		}
	}
	return not
}
