package report

import (
	"encoding/json"

	"github.com/flagos-ai/flagos-trace/summary"
)

// Schema names the form of the data in the page. It changes where a key changes its
// meaning or goes away.
const Schema = "flagos-trace.report/1"

// Report is what the page shows. Durations are ns; times are ns from the start of what
// they stand in.
type Report struct {
	Schema string `json:"schema"`
	Title  string `json:"title"`
	Tool   string `json:"tool"` // name and version
	// Sides are what was asked for and, where it is held against others, the base.
	Sides []*Side `json:"sides"`
	// Names are those of spans of the time line and of frames. Long ones are cut in
	// the middle.
	Names []string `json:"names"`
	Flame Flame    `json:"flame"`
	// Diff is nil for one side.
	Diff *Diff `json:"diff,omitempty"`
}

// Side is some traces.
type Side struct {
	Label string   `json:"label"` // "new" and "base"; "" for one side
	Files []string `json:"files"`
	// Summary has no rows: those stand in Tables.
	Summary *summary.Summary `json:"summary"`
	Tables  []Table          `json:"tables"`
	// Traces stand in the order of Summary.Traces.
	Traces []*TraceView `json:"traces"`
	// OneClock: all traces count time from one moment. SpanNS is how long the longest
	// is, or all together on one clock.
	OneClock bool  `json:"one_clock"`
	SpanNS   int64 `json:"span_ns"`
	// Findings are what validation found, in the form of `validate --json`; nil if it
	// was not asked for.
	Findings json.RawMessage `json:"findings,omitempty"`
	// NotValidated says why there are no findings of a file.
	NotValidated []string `json:"not_validated,omitempty"`
}

// Table is a table of a summary with no more rows than a page can hold.
type Table struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Note    string   `json:"note,omitempty"`
	Columns []Column `json:"columns"`
	// Rows holds strings, integers, shares and nulls, in the order of the summary.
	Rows [][]any `json:"rows"`
	// Of is how many rows there are; Rows has the first of them.
	Of int `json:"of"`
	// Sums are those over all rows of the columns that add up; null for the others.
	Sums []any `json:"sums"`
}

// Column is a column of a table; see summary.Column.
type Column struct {
	Key   string       `json:"key"`
	Title string       `json:"title"`
	Unit  summary.Unit `json:"unit,omitempty"`
	Wide  bool         `json:"wide,omitempty"`
}

// TraceView is what is shown of one trace over time.
type TraceView struct {
	Name string `json:"name"`
	// OffsetNS is when it began, after the zero of its side.
	OffsetNS int64 `json:"offset_ns"`
	WindowNS int64 `json:"window_ns"`
	Rows     []Row `json:"rows"`
	// HiddenThreads is how many host threads have no row.
	HiddenThreads int `json:"hidden_threads,omitempty"`
	// ResolutionNS: spans that are shorter may be drawn as one; 0: all are there.
	ResolutionNS int64         `json:"resolution_ns"`
	Devices      []DeviceView  `json:"devices"`
	Memory       []MemoryChart `json:"memory,omitempty"`
	// Completeness is the trace's own record, as it stands there; nil without one.
	Completeness json.RawMessage `json:"completeness,omitempty"`

	// Clock says how the trace was moved onto the clock of the first rank; "" if it was not.
	Clock string `json:"clock,omitempty"`

	start int64 // ns since the Unix epoch
	shift int64 // onto the clock of the first rank
	order int   // in which it was read
}

// Kinds of rows.
const (
	RowSteps  = "steps"
	RowHost   = "host"
	RowStream = "stream"
)

// Row is a line of the time line.
type Row struct {
	Kind  string `json:"kind"`
	Label string `json:"label"`
	// Device is in TraceView.Devices, for streams.
	Device int `json:"device"`
	// Spans and NS are how many spans there are, and for how long they run together.
	Spans  int64  `json:"spans"`
	NS     int64  `json:"ns"`
	Pieces Pieces `json:"pieces"`
}

// DeviceView is a device over time.
type DeviceView struct {
	Label string `json:"label"`
	Name  string `json:"name,omitempty"`
	// BinNS is the length of a bin; the last may be shorter.
	BinNS int64 `json:"bin_ns"`
	Bins  int   `json:"bins"`
	// Busy divides each bin: ns by what ran, the keys being those of summary.Busy and
	// "idle_ns". What never is, is left out.
	Busy map[string][]int64 `json:"busy"`
	// Occupancy is nil where it could not be calculated for any kernel.
	Occupancy *OccupancyChart `json:"occupancy,omitempty"`
}

// OccupancyChart is the occupancy of the kernels that run in each bin: means weighted
// by their time, from 0 to 1; null where none runs whose occupancy is known.
type OccupancyChart struct {
	Theoretical []*float64 `json:"theoretical"`
	Resident    []*float64 `json:"resident"`
	// KnownNS is the time of the kernels that it is of.
	KnownNS int64 `json:"known_ns"`
	NS      int64 `json:"kernels_ns"`
}

// MemoryChart is the memory that an allocator of one device had handed out. Points are
// sampled: each bin has its lowest and its highest.
type MemoryChart struct {
	Label string `json:"label"`
	// At are ns from the start of the trace; Allocated and Reserved are bytes.
	// Reserved is nil where the trace does not say.
	At            []int64 `json:"at"`
	Allocated     []int64 `json:"allocated"`
	Reserved      []int64 `json:"reserved,omitempty"`
	PeakAllocated int64   `json:"peak_allocated"`
	PeakReserved  int64   `json:"peak_reserved,omitempty"`
	PeakAt        int64   `json:"peak_at_ns"`
	Events        int64   `json:"events"`
}

// Flame is the frames of a flame graph, parents before those on them.
type Flame struct {
	// Frames has FrameLen integers for each frame: the index of the parent (-1: none),
	// the name, the class (in Classes), and for each side the device time, the number
	// of spans of device work and the CPU time: of the frame and all on it.
	Frames  []int64  `json:"frames"`
	Classes []string `json:"classes"`
}
