package roctracer

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// hidden are the calls that say nothing, as Kineto leaves CUDA's out.
var hidden = map[string]bool{
	"hipGetDevice": true, "hipSetDevice": true, "hipGetLastError": true, "hipPeekAtLastError": true, "hipEventCreate": true,
	"hipEventCreateWithFlags": true, "hipEventDestroy": true, "__hipPushCallConfiguration": true, "__hipPopCallConfiguration": true,
}

func startsWork(name string) bool {
	return strings.Contains(name, "Launch") || strings.HasPrefix(name, "hipMemcpy") || strings.HasPrefix(name, "hipMemset")
}

func shown(level tracer.APILevel, name string) bool {
	switch level {
	case tracer.APIAll:
		return true
	case tracer.APIMinimal:
		return startsWork(name) || strings.Contains(name, "Synchronize") || name == "hipEventRecord" || name == "hipStreamWaitEvent"
	}
	return !hidden[name]
}
