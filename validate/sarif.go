package validate

import (
	"io"
	"net/url"
	"path/filepath"
)

// The parts of SARIF 2.1.0 that are used. Source: OASIS, Static Analysis Results
// Interchange Format Version 2.1.0.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool    sarifTool     `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string      `json:"id"`
	Short   sarifText   `json:"shortDescription"`
	Full    sarifText   `json:"fullDescription"`
	Help    sarifText   `json:"help"`
	Default sarifConfig `json:"defaultConfiguration"`
}

type sarifConfig struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Kind      string          `json:"kind"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
	Props     *sarifProps     `json:"properties,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	ByteOffset int64 `json:"byteOffset"`
	ByteLength int64 `json:"byteLength"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Path string `json:"fullyQualifiedName"`
}

type sarifProps struct {
	Count int `json:"count"`
}

// WriteSARIF writes reports as one SARIF 2.1.0 log. The first finding of a rule in
// a file carries how many there are; a rule that does not apply is a result of
// kind notApplicable. Offsets are those of the decompressed text.
func WriteSARIF(w io.Writer, docs []Document, version string) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "flagos-trace validate", Version: version}}, Results: []sarifResult{}}
	index := map[string]int{}
	for i := range rules {
		r := &rules[i]
		index[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{r.ID, sarifText{r.Title}, sarifText{r.Why}, sarifText{r.Fix}, sarifConfig{r.Severity.String()}})
	}
	for _, d := range docs {
		artifact := sarifArtifact{fileURI(d.File)}
		counts := map[string]int{}
		for _, c := range d.Report.Counts {
			counts[c.Rule] = c.N
		}
		for i := range d.Report.Findings {
			f := &d.Report.Findings[i]
			result := sarifResult{RuleID: f.Rule, RuleIndex: index[f.Rule], Kind: "fail", Level: f.Severity.String(), Message: sarifText{f.Text},
				Locations: []sarifLocation{{Physical: sarifPhysical{Artifact: artifact, Region: &sarifRegion{f.Offset, 1}}}}}
			if f.Event >= 0 {
				result.Locations[0].Logical = []sarifLogical{{f.Name, sprintf("traceEvents/%d", f.Event)}}
			}
			if n := counts[f.Rule]; n > 0 {
				result.Props = &sarifProps{n}
				counts[f.Rule] = 0
			}
			run.Results = append(run.Results, result)
		}
		for _, n := range d.Report.NotApplicable {
			run.Results = append(run.Results, sarifResult{RuleID: n.Rule, RuleIndex: index[n.Rule], Kind: "notApplicable", Level: "none",
				Message: sarifText{n.Reason}, Locations: []sarifLocation{{Physical: sarifPhysical{Artifact: artifact}}}})
		}
	}
	return encode(w, sarifLog{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// fileURI is a relative reference for a relative path, and a file URI for an
// absolute one.
func fileURI(name string) string {
	if name == "-" {
		return "stdin"
	}
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
