package validate

import "strings"

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

// categories maps the categories that producers write, in lower case: Kineto's own
// since 2021, and those of its forks for other devices.
var categories = map[string]kind{
	"kernel": kKernel, "mtia_ccp_events": kKernel, "hpu_op": kKernel,
	"gpu_memcpy": kMemcpy, "memcpy": kMemcpy, "mlu_memcpy": kMemcpy, "gcu_memcpy": kMemcpy,
	"gpu_memset": kMemset, "memset": kMemset, "mlu_memset": kMemset, "gcu_memset": kMemset,
	"cuda_runtime": kRuntime, "runtime": kRuntime, "privateuse1_runtime": kRuntime, "musa_runtime": kRuntime,
	"mlu_runtime": kRuntime, "xpu_runtime": kRuntime, "mtia_runtime": kRuntime, "glow_runtime": kRuntime, "gcu_runtime": kRuntime,
	"cuda_driver": kDriver, "privateuse1_driver": kDriver, "musa_driver": kDriver, "xpu_driver": kDriver,
	"cpu_op": kOperator, "operator": kOperator,
	"user_annotation":     kAnnotation,
	"gpu_user_annotation": kDeviceAnnotation, "mlu_user_annotation": kDeviceAnnotation,
	"python_function": kPython,
	"cuda_sync":       kSync, "xpu_sync": kSync,
	"overhead":          kOverhead,
	"cpu_instant_event": kInstant,
	"trace":             kWindow,
	"collective_comm":   kCollective,
	"ac2g":              kFlowDevice, "async_gpu": kFlowDevice, "async_cpu_to_gpu": kFlowDevice, "async": kFlowDevice,
	"hosttodevice": kFlowDevice, "async_npu": kFlowDevice,
	"fwdbwd": kFlowBackward, "forward_backward": kFlowBackward,
	"async_task_queue": kFlowOther,
}

func kindOf(category string) kind {
	if k, ok := categories[category]; ok {
		return k
	}
	return categories[strings.ToLower(category)]
}

// onDevice says whether a span of this kind is work of a device.
func (k kind) onDevice() bool { return k == kKernel || k == kMemcpy || k == kMemset }

func (k kind) isAPI() bool { return k == kRuntime || k == kDriver }

// nameFlag is what an event's name says.
type nameFlag uint16

const (
	nMangled nameFlag = 1 << iota
	nPlaceholder
	nLaunch // launches one kernel
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
