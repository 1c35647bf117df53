package validate

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// kind is what an event is, whatever its producer calls it.
type kind uint8

const (
	kOther kind = iota
	kKernel
	kMemcpy
	kMemset
	kRuntime // a runtime API call
	kDriver  // a driver API call
	kOperator
	kAnnotation
	kDeviceAnnotation
	kPython
	kSync
	kOverhead
	kInstant
	kWindow // the span that shows what time was recorded
	kFlowDevice
	kFlowBackward
	kFlowOther
	kCollective
)

// finer are the categories, in lower case, that say more than what an event is in a
// timeline, or are none of a timeline's kinds. The others are chrome's rules.
var finer = map[string]kind{
	"cpu_op": kOperator, "operator": kOperator,
	"user_annotation":   kAnnotation,
	"python_function":   kPython,
	"cpu_instant_event": kInstant,
	"enqueue":           kOther, "dequeue": kOther, // of torch_npu's queue, no operators
	"trace":           kWindow,
	"collective_comm": kCollective,
	"hosttodevice":    kFlowDevice, "async_npu": kFlowDevice,
	"fwdbwd": kFlowBackward, "forward_backward": kFlowBackward,
	"async_task_queue": kFlowOther,
}

// kindsOf are the kinds of a timeline's.
var kindsOf = map[timeline.Kind]kind{
	timeline.Kernel: kKernel, timeline.Memcpy: kMemcpy, timeline.MemcpyPeer: kMemcpy, timeline.Memset: kMemset,
	timeline.Runtime: kRuntime, timeline.Driver: kDriver, timeline.Sync: kSync, timeline.Overhead: kOverhead,
	timeline.DeviceAnnotation: kDeviceAnnotation, timeline.Host: kOperator,
}

// kindOf says what an event of a category is, in any case.
func kindOf(category string, rules *chrome.Rules) kind {
	lower := strings.ToLower(category)
	for _, c := range []string{category, lower} {
		k, known := rules.Kind(c)
		if known && k != timeline.Host {
			return kindsOf[k]
		}
		if k, ok := finer[lower]; ok {
			return k
		}
		if known {
			return kOperator
		}
		if rules.IsDeviceFlow(c) {
			return kFlowDevice
		}
	}
	return kOther
}

// onDevice says whether a span of this kind is work of a device.
func (k kind) onDevice() bool { return k == kKernel || k == kMemcpy || k == kMemset }

func (k kind) isAPI() bool { return k == kRuntime || k == kDriver }

// nameFlag is what an event's name says.
type nameFlag uint16

const (
	nMangled nameFlag = 1 << iota
	nPlaceholder
	nLaunch   // launches one kernel
	nLaunchEx // launches it with attributes
	nGraphLaunch
	nCaptureBegin
	nCaptureEnd
	nEventRecord
	nCollective // a kernel of a collective library
	nComms      // the operator record_param_comms
	nBackward   // an operator that the autograd engine evaluates
)

func flagsOf(name string) (f nameFlag) {
	if strings.HasPrefix(name, "_Z") && len(name) > 3 && (name[2] == 'N' || name[2] == 'L' || name[2] == 'S' || name[2]-'0' <= 9) {
		f |= nMangled
	}
	switch {
	case name == "" || name == "INVALID" || name == "<unknown>" || strings.EqualFold(name, "unknown"),
		placeholder(name, "cbid"), placeholder(name, "runtime_api"), placeholder(name, "driver_api"), placeholder(name, "api"):
		f |= nPlaceholder
	}
	api := name
	for _, suffix := range []string{"_ptsz", "_ptds", "_spt"} {
		api = strings.TrimSuffix(api, suffix)
	}
	switch {
	case strings.HasSuffix(api, "LaunchKernel"), strings.HasSuffix(api, "LaunchKernelExC"), strings.HasSuffix(api, "LaunchKernelEx"),
		strings.HasSuffix(api, "LaunchCooperativeKernel"), api == "hipExtLaunchKernel", api == "hipExtModuleLaunchKernel":
		if !strings.Contains(api, "::") && !strings.Contains(api, " ") {
			f |= nLaunch
			if strings.HasSuffix(api, "KernelExC") || strings.HasSuffix(api, "KernelEx") {
				f |= nLaunchEx
			}
		}
	case strings.HasSuffix(api, "GraphLaunch"):
		f |= nGraphLaunch
	case strings.HasSuffix(api, "StreamBeginCapture"), strings.HasSuffix(api, "StreamBeginCaptureToGraph"):
		f |= nCaptureBegin
	case strings.HasSuffix(api, "StreamEndCapture"):
		f |= nCaptureEnd
	case strings.HasPrefix(api, "cudaEventRecord"), strings.HasPrefix(api, "cuEventRecord"):
		f |= nEventRecord
	}
	if strings.HasPrefix(name, "ncclDevKernel") || strings.HasPrefix(name, "ncclKernel") || strings.HasPrefix(name, "rcclDevKernel") ||
		strings.HasPrefix(name, "mcclDevKernel") || strings.HasPrefix(name, "mcclKernel") {
		f |= nCollective
	}
	if name == "record_param_comms" {
		f |= nComms
	}
	if strings.HasPrefix(name, "autograd::engine::evaluate_function: ") {
		f |= nBackward
	}
	return f
}

// placeholder says whether a name is only a prefix and a number, as in "cbid 211".
func placeholder(name, prefix string) bool {
	if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return false
	}
	rest := strings.TrimLeft(name[len(prefix):], " _-#:")
	return rest != "" && strings.Trim(rest, "0123456789") == ""
}
