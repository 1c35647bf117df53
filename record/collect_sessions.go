package record

import (
	"fmt"

	"github.com/flagos-ai/flagos-trace/spool"
)

// notedSessions counts sessions of the program's own profiler that ran beside the
// recording, in Completeness.Noted.
const notedSessions = "program_profiler_sessions"

// beside takes note of a session of the program's own profiler. Nothing of the
// recording is missing for it.
func (c *spoolCollector) beside(s spool.Session) {
	if c.rec.Noted == nil {
		c.rec.Noted = map[string]uint64{}
	}
	c.rec.Noted[notedSessions]++
	c.sessions = append(c.sessions, s)
	if s.Late > 0 {
		c.diagnose(fmt.Sprintf("the device was busy when a session of the program's own profiler ended: %d buffers had not come back by then, so that profiler lacks records that are in this trace", s.Late))
	}
}
