package timeline

import "github.com/flagos-ai/flagos-trace/event"

// HostTimed reports whether an event of a device has the times of the host's call for
// it, and says nothing of when the device worked. It then counts for nothing that is
// said of the device's time.
func (t *Trace) HostTimed(e *Event) bool {
	switch e.Kind {
	case Memcpy, MemcpyPeer, Memset:
		return int(e.Detail) < int(t.Copies.Len()) && t.Copies.At(e.Detail).Has&event.HostSpan != 0
	}
	return false
}
