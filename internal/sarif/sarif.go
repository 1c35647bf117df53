package sarif

import (
	"io"
	"net/url"
	"path/filepath"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// Kinds of results. Those other than Fail have level "none".
const (
	Fail          = "fail"
	NotApplicable = "notApplicable"
	Open          = "open" // looked at, and not enough is known to decide
)

// Log is a document.
type Log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []Run  `json:"runs"`
}

// Run is what one tool found.
type Run struct {
	Tool        Tool         `json:"tool"`
	Invocations []Invocation `json:"invocations,omitempty"`
	Results     []Result     `json:"results"`
}

// Tool names the tool and its rules.
type Tool struct {
	Driver Driver `json:"driver"`
}

// Driver is the tool itself, as opposed to its extensions.
type Driver struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Rules   []Rule `json:"rules"`
}

// Rule is something that results are about.
type Rule struct {
	ID      string `json:"id"`
	Short   Text   `json:"shortDescription"`
	Full    *Text  `json:"fullDescription,omitempty"`
	Help    *Text  `json:"help,omitempty"`
	Default Config `json:"defaultConfiguration"`
}

// Config holds the level of a rule: error, warning or note.
type Config struct {
	Level string `json:"level"`
}

// Text is a message.
type Text struct {
	Text string `json:"text"`
}

// Invocation says how a run went.
type Invocation struct {
	Successful    bool           `json:"executionSuccessful"`
	ExitCode      int            `json:"exitCode"`
	Notifications []Notification `json:"toolExecutionNotifications,omitempty"`
}

// Notification is something that kept a run from its work.
type Notification struct {
	Level   string `json:"level"`
	Message Text   `json:"message"`
}

// Result is a finding.
type Result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Kind         string            `json:"kind"`
	Level        string            `json:"level"`
	Message      Text              `json:"message"`
	Locations    []Location        `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
	Suppressions []Suppression     `json:"suppressions,omitempty"`
	Props        *Props            `json:"properties,omitempty"`
}

// Suppression says why a finding does not count.
type Suppression struct {
	Kind          string `json:"kind"` // "external": not in what was analyzed
	Justification string `json:"justification"`
}

// Location is a place in a file.
type Location struct {
	Physical Physical  `json:"physicalLocation"`
	Logical  []Logical `json:"logicalLocations,omitempty"`
}

// Physical is the file, and the bytes of it.
type Physical struct {
	Artifact Artifact `json:"artifactLocation"`
	Region   *Region  `json:"region,omitempty"`
}

// Artifact is a file.
type Artifact struct {
	URI string `json:"uri"`
}

// Region is a part of a file, in bytes.
type Region struct {
	ByteOffset int64 `json:"byteOffset"`
	ByteLength int64 `json:"byteLength"`
}

// Logical is a place by names.
type Logical struct {
	Name string `json:"name"`
	Path string `json:"fullyQualifiedName"`
}

// Props are what SARIF itself has no member for.
type Props struct {
	Count int `json:"count"`
}

// Write writes a log of one run.
func Write(w io.Writer, run Run) error {
	return plain.JSON(w, Log{"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "2.1.0", []Run{run}}, "  ")
}

// URI is a relative reference for a relative path, and a file URI for an absolute
// one; "-" is standard input.
func URI(name string) string {
	if name == "-" {
		return "stdin"
	}
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
