package ascend

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// verdict is what is known of whether a kind's fields stand where the table has them.
type verdict uint8

const (
	notJudged verdict = iota
	fitting
	misplaced // nothing of the kind is decoded
)

const (
	// judgedGood is after how many records that can be true a kind is trusted; judgedBad
	// is the least number of others, and more than half, after which it is given up.
	judgedGood = 64
	judgedBad  = 4
)

// judge looks at the records of a buffer whose kinds were not judged yet. The library
// tells no version, but its times are nanoseconds since the epoch, which almost
// nothing else looks like: where most records of a kind do not have such times, their
// fields stand elsewhere, and whatever was read from them would be garbage. A few may
// lack them, as those of a device whose clock the library has not read yet.
func (d *Decoder) judge(data []byte) {
	for off := 0; off < len(data); {
		kind, n, err := d.next(data[off:])
		if err != nil {
			break
		}
		if kind < numKinds && d.fits[kind] == notJudged && layouts[kind].start != 0 {
			switch d.plausible(kind, data[off:off+n]) {
			case fitting:
				d.good[kind]++
			case misplaced:
				d.bad[kind]++
			}
		}
		off += n
	}
	for kind := range d.fits {
		switch good, bad := d.good[kind], d.bad[kind]; {
		case d.fits[kind] != notJudged:
		case bad >= judgedBad && bad > good:
			d.fits[kind] = misplaced
			d.report.Layout = "mismatch"
		case good >= judgedGood && good > bad:
			d.fits[kind] = fitting
		}
	}
}

// More than there are: of devices in a machine, and of process ids that Linux gives.
const maxDevice, maxPID = 1 << 16, 1 << 22

// plausible judges one record: by its times, without which it says nothing, and by the
// number next to them, since a part of one time and a part of another may look like a
// time of its own.
func (d *Decoder) plausible(kind uint32, rec []byte) verdict {
	start, end := times(kind, rec)
	switch {
	case start == 0 || end == 0:
		return notJudged
	case elsewhere(kind, rec):
		return misplaced
	case end < start && start-end > d.limits.Clamp || end > start && end-start > d.limits.Longest:
		return misplaced
	}
	return fitting
}

// elsewhere reports whether a record's fields cannot be what stands in their places.
func elsewhere(kind uint32, rec []byte) bool {
	l := &layouts[kind]
	start, end := times(kind, rec)
	return start != 0 && !tracer.EpochTime(start) || end != 0 && !tracer.EpochTime(end) ||
		l.device != 0 && u32(rec, l.device) > maxDevice && u32(rec, l.device) != none || l.pid != 0 && u32(rec, l.pid) > maxPID
}

// times returns a record's times, the same twice if it has one.
func times(kind uint32, rec []byte) (start, end uint64) {
	l := &layouts[kind]
	start = u64(rec, l.start)
	if l.end == 0 {
		return start, start
	}
	return start, u64(rec, l.end)
}

// diagnoses says what a person should know of what was read.
func (d *Decoder) diagnoses() (list []string) {
	var kinds []string
	for k, v := range d.fits {
		if v == misplaced {
			kinds = append(kinds, fmt.Sprint(k))
		}
	}
	if len(kinds) > 0 {
		list = append(list, fmt.Sprintf("layout mismatch: records of activity kind %s of this libmspti do not have their fields where those of the known versions have them: "+
			"nothing is read from them", strings.Join(kinds, ", ")))
	}
	if d.external > 0 && len(d.pushers) > 1 {
		list = append(list, fmt.Sprintf("libmspti keeps external ids for the process and not for each thread, and %d threads started work: ids of operators may be mixed up", len(d.pushers)))
	}
	if d.repeated > 0 {
		list = append(list, fmt.Sprintf("%d kernels have the id of the launch of another one, as those of replayed graphs do: their arrows begin at the launch that was captured", d.repeated))
	}
	if d.steps > 0 {
		list = append(list, fmt.Sprintf("%d kernels begin before the one before them in their stream has ended, by %d ns at most: libmspti sets the device's clock anew every few seconds", d.steps, d.worst))
	}
	if n := len(d.outside); n > 0 {
		var ids []uint32
		for id := range d.outside {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		list = append(list, fmt.Sprintf("records name devices %v, which are not among those of %s=%s: they keep the machine's numbers", ids, EnvVisible, d.cfg.Env[EnvVisible]))
	}
	return list
}

func u32(b []byte, off uint16) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
func u64(b []byte, off uint16) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
