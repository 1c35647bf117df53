package kernels

import (
	"encoding/csv"
	"fmt"
	"io"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// Schema names the form of WriteJSON's document. It changes where a key changes
// its meaning or goes away.
const Schema = "flagos-trace.occupancy.kernels/1"

type document struct {
	Schema     string         `json:"schema"`
	Trace      string         `json:"trace,omitempty"`
	Verdict    string         `json:"trace_verdict,omitempty"`
	Devices    []deviceRow    `json:"devices"`
	All        countRow       `json:"all_kernels"`
	Calculable countRow       `json:"calculable_kernels"`
	LostNS     int64          `json:"lost_ns"`
	Distinct   int            `json:"configurations"`
	Listed     int            `json:"configurations_listed"`
	Agreement  map[string]int `json:"stated_agrees_with,omitempty"`
	Beyond     *countRow      `json:"kernels_beyond_limit,omitempty"`
	Untimed    uint64         `json:"kernels_without_time,omitempty"`
	Others     uint64         `json:"kernels_of_other_phases,omitempty"`
	Findings   []string       `json:"findings,omitempty"`
	Kernels    []row          `json:"kernels"`
}

type countRow struct {
	Calls  uint64 `json:"calls"`
	TimeNS int64  `json:"time_ns"`
}

type deviceRow struct {
	ID     *int64 `json:"id,omitempty"`
	Name   string `json:"name"`
	Given  bool   `json:"given,omitempty"`
	CC     string `json:"compute_capability,omitempty"`
	NumSMs int64  `json:"sms,omitempty"`
	Fault  string `json:"fault,omitempty"`
}

// View says what of a report to print.
type View struct {
	Trace string // what to call the trace
	Top   int    // configurations at most; 0: all
	// Findings are those of the gates, for the document.
	Findings []string
	// FullNames keeps long kernel names whole in text.
	FullNames bool
}

func (r *Report) shown(v *View) []Configuration {
	if v.Top > 0 && v.Top < len(r.Configurations) {
		return r.Configurations[:v.Top]
	}
	return r.Configurations
}

// WriteJSON writes the report as one JSON document. Errors are w's.
func (r *Report) WriteJSON(w io.Writer, v View) error {
	shown := r.shown(&v)
	doc := document{
		Schema: Schema, Trace: v.Trace, Verdict: r.Verdict, Devices: []deviceRow{},
		All: countRow(countRow{r.Kernels.Calls, r.Kernels.Time}), Calculable: countRow{r.Calculable.Calls, r.Calculable.Time},
		LostNS: r.Lost, Distinct: r.Distinct, Listed: len(shown), Untimed: r.Untimed, Others: r.OtherPhases,
		Findings: v.Findings, Kernels: make([]row, 0, len(shown)),
	}
	if r.Beyond.Calls > 0 {
		doc.Beyond = &countRow{r.Beyond.Calls, r.Beyond.Time}
	}
	for a, n := range r.Agreement {
		if name := Agreement(a).String(); n > 0 && name != "" {
			if doc.Agreement == nil {
				doc.Agreement = map[string]int{}
			}
			doc.Agreement[name] = n
		}
	}
	for _, d := range r.Devices {
		row := deviceRow{Name: d.Name, Given: d.Given, NumSMs: d.Properties.NumSMs, Fault: d.Fault}
		if !d.Given {
			row.ID = &d.ID
		}
		if !d.foreign && d.Properties.ComputeMajor > 0 {
			row.CC = fmt.Sprintf("%d.%d", d.Properties.ComputeMajor, d.Properties.ComputeMinor)
		}
		doc.Devices = append(doc.Devices, row)
	}
	for i := range shown {
		doc.Kernels = append(doc.Kernels, r.row(&shown[i]))
	}
	return plain.JSON(w, doc, " ")
}

// WriteCSV writes a line for each configuration under a line of column names. An
// empty cell is unknown. Errors are w's.
func (r *Report) WriteCSV(w io.Writer, v View) error {
	out := csv.NewWriter(w)
	cells := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		cells[i] = c.name
	}
	if err := out.Write(cells); err != nil {
		return err
	}
	shown := r.shown(&v)
	for i := range shown {
		row := r.row(&shown[i])
		for j, c := range csvColumns {
			cells[j] = c.value(&row)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
