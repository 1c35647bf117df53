package shape

import (
	"encoding/json"
	"math"
	"slices"
)

// deviceFacts are properties that no device has none of.
var deviceFacts = []string{"totalGlobalMem", "warpSize", "numSms", "maxThreadsPerBlock", "maxThreadsPerMultiprocessor"}

// firstDay is in ns since the Unix epoch, the year 2000: nothing was recorded before.
const firstDay = 946684800 * 1e9

// facts checks what the document says of devices, ranks and the time for what cannot be.
func (s *scanner) facts() {
	t := s.t
	m := s.measure(Facts)
	no := func(member, key, want, got string) {
		m.bad(Example{Event: -1, Offset: -1, Name: member, Key: key, Want: want, Got: got})
	}
	for i := range t.Devices {
		for _, p := range t.Devices[i].Properties {
			if slices.Contains(deviceFacts, p.Key) {
				m.Checked++
				if p.Value <= 0 {
					no("deviceProperties", p.Key, p.Key+" of more than 0", itoa(p.Value))
				}
			}
		}
	}
	for i := range t.Metadata {
		switch p := &t.Metadata[i]; p.Key {
		case "distributedInfo":
			var x struct {
				Rank  *int64 `json:"rank"`
				World *int64 `json:"world_size"`
			}
			if json.Unmarshal(p.Raw, &x) != nil {
				continue // another type: told elsewhere
			}
			if x.World != nil {
				m.Checked++
				if *x.World < 1 {
					no(p.Key, "world_size", "a world_size of at least 1", itoa(*x.World))
				}
			}
			if x.Rank != nil {
				m.Checked++
				switch {
				case *x.Rank < 0:
					no(p.Key, "rank", "a rank of at least 0", itoa(*x.Rank))
				case x.World != nil && *x.World > 0 && *x.Rank >= *x.World:
					no(p.Key, "rank", "a rank below the world_size, "+itoa(*x.World), itoa(*x.Rank))
				}
			}
		case "baseTimeNanoseconds":
			first := int64(math.MaxInt64)
			for i := range uint32(t.Events.Len()) {
				if e := t.Events.At(i); e.Start != 0 {
					first = min(first, e.Start)
				}
			}
			var base int64
			if first == math.MaxInt64 || json.Unmarshal(p.Raw, &base) != nil {
				continue
			}
			m.Checked++
			if base == 0 && first < firstDay {
				no(p.Key, p.Key, "what ts are relative to, or ts since 1970", "0, and a first ts of "+micro(first))
			}
		}
	}
}
