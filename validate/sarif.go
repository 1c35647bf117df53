package validate

import (
	"io"

	"github.com/flagos-ai/flagos-trace/internal/sarif"
)

// WriteSARIF writes reports as one SARIF 2.1.0 log. The first finding of a rule in
// a file carries how many there are; a rule that does not apply is a result of
// kind notApplicable. Offsets are those of the decompressed text.
func WriteSARIF(w io.Writer, docs []Document, version string) error {
	run := sarif.Run{Tool: sarif.Tool{Driver: sarif.Driver{Name: "flagos-trace validate", Version: version}}, Results: []sarif.Result{}}
	index := map[string]int{}
	for i := range rules {
		r := &rules[i]
		index[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarif.Rule{ID: r.ID, Short: sarif.Text{Text: r.Title}, Full: &sarif.Text{Text: r.Why},
			Help: &sarif.Text{Text: r.Fix}, Default: sarif.Config{Level: r.Severity.String()}})
	}
	for _, d := range docs {
		artifact := sarif.Artifact{URI: sarif.URI(d.File)}
		counts := map[string]int{}
		for _, c := range d.Report.Counts {
			counts[c.Rule] = c.N
		}
		for i := range d.Report.Findings {
			f := &d.Report.Findings[i]
			result := sarif.Result{RuleID: f.Rule, RuleIndex: index[f.Rule], Kind: sarif.Fail, Level: f.Severity.String(), Message: sarif.Text{Text: f.Text},
				Locations: []sarif.Location{{Physical: sarif.Physical{Artifact: artifact, Region: &sarif.Region{ByteOffset: f.Offset, ByteLength: 1}}}}}
			if f.Event >= 0 {
				result.Locations[0].Logical = []sarif.Logical{{Name: f.Name, Path: sprintf("traceEvents/%d", f.Event)}}
			}
			if n := counts[f.Rule]; n > 0 {
				result.Props = &sarif.Props{Count: n}
				counts[f.Rule] = 0
			}
			run.Results = append(run.Results, result)
		}
		for _, n := range d.Report.NotApplicable {
			run.Results = append(run.Results, sarif.Result{RuleID: n.Rule, RuleIndex: index[n.Rule], Kind: sarif.NotApplicable, Level: "none",
				Message: sarif.Text{Text: n.Reason}, Locations: []sarif.Location{{Physical: sarif.Physical{Artifact: artifact}}}})
		}
	}
	return sarif.Write(w, run)
}
