package record

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Summary is what a recording came to. Times are in nanoseconds.
type Summary struct {
	Tool    string   `json:"tool"`
	Command []string `json:"command"`
	// ExitCode and Signal say how the command ended; one of them is there.
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
	// Killed is why flagos-trace killed the command, absent if it did not.
	Killed string         `json:"killed,omitempty"`
	WallNS int64          `json:"wall_ns,omitzero"` // from start to end of the command
	Traces []TraceSummary `json:"traces"`
	// Merged is the file with the traces of all processes, absent where each has a
	// file of its own; NotMerged is why they have, where one was asked for.
	Merged    *MergedFile `json:"merged,omitempty"`
	NotMerged string      `json:"not_merged,omitempty"`
	// Idle are processes that initialised the device's driver, did nothing with
	// it, and have no trace.
	Idle []Idle `json:"idle,omitempty"`
	// LeftBehind are processes that still run after the traces were written and
	// never used the device: the agent has no place to record into any more.
	LeftBehind []Idle `json:"left_behind,omitempty"`
	// Stale is the file that Options.Output names, where it is there and none of
	// these traces is in it: it is of another run.
	Stale    string   `json:"stale,omitempty"`
	Failures []string `json:"failures,omitempty"`
	// Cost is that of all processes; absent where no spool was read.
	Cost *Cost `json:"cost,omitempty"`
	// SpoolDir is the spool folder, if it is kept.
	SpoolDir string `json:"spool_dir,omitempty"`
}

// MergedFile is a file with the traces of several processes.
type MergedFile struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	// InvalidText is as in TraceSummary.
	InvalidText uint64 `json:"invalid_text,omitempty"`
}

// Idle is a process that used no device.
type Idle struct {
	PID     int    `json:"pid"`
	Process string `json:"process,omitempty"`
}

// TraceSummary is the short account of one process's trace. File and Bytes are
// those of the merged file, where there is one.
type TraceSummary struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"` // size of the file
	PID   int    `json:"pid"`
	Rank  *int   `json:"rank,omitempty"` // in a distributed program
	// HelperOf is the rank from which a process has its number that is not the rank
	// itself; Launcher is whether it started ranks.
	HelperOf *int   `json:"helper_of_rank,omitempty"`
	Launcher bool   `json:"launcher,omitempty"`
	Process  string `json:"process,omitempty"`
	// EndedNS is when the process ended, CLOCK_REALTIME ns; absent where that was not
	// seen.
	EndedNS  int64             `json:"ended_ns,omitzero"`
	WindowNS int64             `json:"window_ns"`
	Events   map[string]uint64 `json:"events"`
	Kernels  []KernelTotal     `json:"kernels"` // the longest first
	Devices  []DeviceBusy      `json:"devices"`
	// InvalidText counts the strings and argument lists in which bytes that are
	// not UTF-8 were replaced, or text that is not JSON was mended.
	InvalidText uint64 `json:"invalid_text,omitempty"`
	// Verdict is that of the completeness record; absent without one.
	Verdict      timeline.Verdict       `json:"verdict,omitempty"`
	Completeness *timeline.Completeness `json:"completeness,omitempty"`
	Cost         *Cost                  `json:"cost,omitempty"`

	death string // how the process died, "" if it did not
}

// KernelTotal sums up the kernels of one name.
type KernelTotal struct {
	Name    string `json:"name"`
	Calls   uint64 `json:"calls"`
	TotalNS int64  `json:"total_ns"`
	MeanNS  int64  `json:"mean_ns"`
	// Share is the part of the time of all kernels, 0 to 1.
	Share float64 `json:"share"`
}

// DeviceBusy says for how long a device did any work at all.
type DeviceBusy struct {
	Device uint32 `json:"device"`
	Name   string `json:"name,omitempty"`
	BusyNS int64  `json:"busy_ns"` // overlapping work counted once
	// Share is the part of the recorded window, absent when there is no window.
	Share *float64 `json:"share,omitempty"`
}

// Summarize reads the account of a trace off it. File, Bytes and PID are the
// caller's to fill in where the trace does not know them.
func Summarize(t *timeline.Trace) TraceSummary {
	s := TraceSummary{
		PID:          t.Process.PID,
		Process:      t.Process.Name,
		WindowNS:     t.Window.End - t.Window.Start,
		Events:       map[string]uint64{},
		Completeness: t.Completeness,
	}
	if c := t.Completeness; c != nil {
		s.Verdict = c.Judge()
	}
	s.Cost = costOf(t.Completeness, s.WindowNS)
	kernels := map[uint32]KernelTotal{}
	work := map[uint32][]span{}
	var total int64
	for i := range t.Events.Len() {
		e := t.Events.At(uint32(i))
		s.Events[e.Kind.String()]++
		if !e.Kind.OnDevice() || t.HostTimed(e) {
			continue
		}
		device := t.Places[e.Place].Device
		work[device] = append(work[device], span{e.Start, e.End})
		if e.Kind == timeline.Kernel {
			k := kernels[e.Name]
			k.Calls++
			k.TotalNS += e.Duration()
			kernels[e.Name] = k
			total += e.Duration()
		}
	}
	s.Kernels = ranked(t, kernels, total)
	s.Devices = busy(t, work, s.WindowNS)
	return s
}

func ranked(t *timeline.Trace, totals map[uint32]KernelTotal, all int64) []KernelTotal {
	list := make([]KernelTotal, 0, len(totals))
	for name, k := range totals {
		k.Name = t.Strings.At(name)
		k.MeanNS = k.TotalNS / int64(k.Calls)
		if all > 0 {
			k.Share = float64(k.TotalNS) / float64(all)
		}
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b KernelTotal) int {
		switch {
		case a.TotalNS != b.TotalNS:
			return cmp.Compare(b.TotalNS, a.TotalNS)
		case a.Calls != b.Calls:
			return cmp.Compare(b.Calls, a.Calls)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// span is a half-open interval, ns.
type span struct{ start, end int64 }

func busy(t *timeline.Trace, work map[uint32][]span, window int64) []DeviceBusy {
	list := make([]DeviceBusy, 0, len(work))
	for device, spans := range work {
		d := DeviceBusy{Device: device, BusyNS: union(spans)}
		for i := range t.Devices {
			if t.Devices[i].ID == device {
				d.Name = t.Devices[i].Name
			}
		}
		if window > 0 {
			share := float64(d.BusyNS) / float64(window)
			d.Share = &share
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b DeviceBusy) int { return cmp.Compare(a.Device, b.Device) })
	return list
}

// union returns the length of the union of spans, which it sorts.
func union(spans []span) int64 {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	var length int64
	var reached int64
	for i, s := range spans {
		if i == 0 || s.start > reached {
			reached = s.start
		}
		if s.end > reached {
			length += s.end - reached
			reached = s.end
		}
	}
	return length
}

// stale returns the output if it is a file of another recording: only processes
// other than the command itself were traced, whose traces have names of their
// own, or another recording ended at the same time.
func stale(output string, written []TraceSummary) string {
	for _, t := range written {
		if t.File == output {
			return ""
		}
	}
	if st, err := os.Stat(output); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return output
}
