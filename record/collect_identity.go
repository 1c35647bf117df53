package record

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// identity returns the metadata by which Kineto tells traces apart: the host's
// name, where it is known, and a trace id of 32 hex digits. The id follows from
// the process, its host and its start, so that a spool gives the same trace each
// time it is read.
func identity(h spool.Header) (list []timeline.Property) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", h.Host, h.PID, h.StartNS))
	list = append(list, timeline.Property{Key: "trace_id", Raw: fmt.Appendf(nil, "\"%X\"", sum[:16])})
	if h.Host != "" {
		if name, err := json.Marshal(h.Host); err == nil {
			list = append(list, timeline.Property{Key: "host_name", Raw: name})
		}
	}
	return list
}
