package ascend

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// callClass is what an API call is for, as far as its name tells.
type callClass uint8

const (
	otherCall callClass = iota
	startsCall
	waitCall
	hiddenCall // says nothing, and there are many
)

// launchParts are what names of calls that start a kernel have in them, whatever the
// level: aclrtLaunchKernel, rtKernelLaunchWithHandle, NnopbaseExecuteKernel.
var launchParts = []string{"LaunchKernel", "KernelLaunch", "ExecuteKernel"}

// startPrefixes are the beginnings of the names of other calls that give the device
// something to do.
var startPrefixes = []string{"aclrtMemcpy", "aclrtMemset", "rtMemcpy", "rtMemset", "Hccl", "hcom_", "aclopExecute", "aclmdlExecute", "aclmdlRIExecute"}

var waitParts = []string{"Synchronize", "WaitEvent", "RecordEvent", "EventRecord", "EventSynchronize"}

var hiddenCalls = map[string]bool{
	"aclrtGetDevice": true, "aclrtSetDevice": true, "aclrtGetCurrentContext": true, "aclrtSetCurrentContext": true,
	"aclrtCreateEvent": true, "aclrtCreateEventWithFlag": true, "aclrtDestroyEvent": true, "aclrtQueryEventStatus": true,
}

// classify tells what a call is for.
func classify(name string) callClass {
	for _, p := range launchParts {
		if strings.Contains(name, p) {
			return startsCall
		}
	}
	for _, p := range startPrefixes {
		if strings.HasPrefix(name, p) {
			return startsCall
		}
	}
	for _, p := range waitParts {
		if strings.Contains(name, p) {
			return waitCall
		}
	}
	if hiddenCalls[name] {
		return hiddenCall
	}
	return otherCall
}

// shown reports whether calls of a class are recorded at a level.
func (c callClass) shown(level tracer.APILevel) bool {
	switch level {
	case tracer.APIAll:
		return true
	case tracer.APIMinimal:
		return c == startsCall || c == waitCall
	}
	return c != hiddenCall
}

// dataTypes are msptiCommunicationDataType's names, as the header has them.
var dataTypes = map[uint32]string{
	0: "INT8", 1: "INT16", 2: "INT32", 3: "FP16", 4: "FP32", 5: "INT64", 6: "UINT64", 7: "UINT8", 8: "UINT16", 9: "UINT32",
	10: "FP64", 11: "BFP16", 12: "INT128", 14: "HIF8", 15: "FP8E4M3", 16: "FP8E5M2", 17: "FP8E8M0",
}
