package verdict

import (
	"io"
	"os"
	"path"
	"path/filepath"
)

// gitlabIssue is an entry of GitLab's code quality report, which is a subset of Code
// Climate's. Source: GitLab, Code Quality, "Code Quality report format".
type gitlabIssue struct {
	Description string         `json:"description"`
	Check       string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string      `json:"path"`
	Lines gitlabLines `json:"lines"`
}

type gitlabLines struct {
	Begin int `json:"begin"`
}

// gitlabSeverity of findings.
var gitlabSeverity = map[Severity]string{Error: "critical", Warning: "minor", Note: "info"}

// WriteGitLab writes a report as GitLab's code quality JSON. A trace has no lines:
// all findings are at the first. What cannot be compared is a blocker, and an
// inconclusive check is of major severity.
func (r *Report) WriteGitLab(w io.Writer) error {
	list := []gitlabIssue{}
	prints := fingerprints{}
	for i := range r.Checks {
		c := &r.Checks[i]
		add := func(f *Finding, severity string) {
			if c.Advisory {
				severity = gitlabSeverity[Note]
			}
			list = append(list, gitlabIssue{printable(c.Name + ": " + f.sentence()), f.Assertion, prints.of(c, f), severity,
				gitlabLocation{cleanPath(r.file(c)), gitlabLines{1}}})
		}
		for _, s := range c.Result.Incomparable {
			f := incomparable(s)
			add(&f, "blocker")
		}
		if c.Result.Verdict == Inconclusive {
			add(&Finding{Assertion: "verdict", Subject: string(Inconclusive), What: c.Result.Why}, "major")
		}
		for k := range c.Result.Findings {
			f := &c.Result.Findings[k]
			add(f, gitlabSeverity[f.Severity])
		}
	}
	return writeJSON(w, list)
}

// file is what the findings of a check are about: the new trace, or where there is
// none the configuration.
func (r *Report) file(c *Check) string {
	name := c.Result.New.Name
	if name == "" {
		name = r.Config
	}
	if name == "" {
		name = "."
	}
	return name
}

// cleanPath is a file's name as pipelines write them: with slashes, without "./", and
// from the working directory on where it lies below that, for a pipeline looks for it
// in the repository.
func cleanPath(name string) string {
	if name == "-" {
		return "stdin"
	}
	if filepath.IsAbs(name) {
		here, err := os.Getwd()
		if rel, bad := filepath.Rel(here, name); err == nil && bad == nil && filepath.IsLocal(rel) {
			name = rel
		}
	}
	return path.Clean(filepath.ToSlash(name))
}
