package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/internal/version"
)

// outputsHelp is the part about forms in the help of commands that end with a verdict.
const outputsHelp = `--format and -o take text, markdown, json, junit (XML), sarif (2.1.0), github (workflow
commands, which become annotations) and gitlab (code quality). -o may be given any
number of times. In a job of GitHub Actions the Markdown is also added to the job's
summary.`

// outputs are the forms in which a verdict is wanted.
type outputs struct {
	formats        []string // on standard output
	files          []string // format=file
	json, markdown bool
	noSummary      bool
}

func (o *outputs) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.formats, "format", nil, "`formats` to print: text (default), markdown, json, junit, sarif, github, gitlab")
	f.StringArrayVarP(&o.files, "output", "o", nil, "`format=file` to write, such as junit=report.xml; - is standard output")
	f.BoolVar(&o.json, "json", false, "print JSON: --format json")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown: --format markdown")
	f.BoolVar(&o.noSummary, "no-job-summary", false, "in GitHub Actions, add nothing to the summary of the job")
}

// check says what is wrong with the flags, before anything is read.
func (o *outputs) check() error {
	if (o.json || o.markdown) && len(o.formats) > 0 || o.json && o.markdown {
		return errors.New("--json, --markdown and --format are one thing: give one of them")
	}
	for _, name := range o.formats {
		if !verdict.IsFormat(name) {
			return fmt.Errorf("--format names %q; there are %s", name, strings.Join(verdict.Formats, ", "))
		}
	}
	for _, s := range o.files {
		if format, file, ok := strings.Cut(s, "="); !ok || file == "" || !verdict.IsFormat(format) {
			return fmt.Errorf("-o %s: it is a format and a file, such as junit=report.xml; formats are %s", s, strings.Join(verdict.Formats, ", "))
		}
	}
	return nil
}

// apart says so if a file to write is one that is read, or is written twice.
func (o *outputs) apart(inputs ...string) error {
	seen := map[string]bool{}
	for _, s := range o.files {
		_, name, _ := strings.Cut(s, "=")
		if seen[filepath.Clean(name)] {
			return fmt.Errorf("-o names %s twice: each form needs a file of its own", name)
		}
		seen[filepath.Clean(name)] = true
		if err := notInput(name, inputs...); err != nil {
			return err
		}
	}
	return nil
}

// notInput says so if a file to write is one of those that are read, by whatever name.
func notInput(output string, inputs ...string) error {
	if output == "-" {
		return nil
	}
	to, err := os.Stat(output)
	if err != nil || !to.Mode().IsRegular() {
		return nil // there is nothing to lose
	}
	for _, name := range inputs {
		if from, err := os.Stat(name); err == nil && os.SameFile(to, from) {
			return fmt.Errorf("-o would write over %s, which is read", name)
		}
	}
	return nil
}

// stdout are the formats to print.
func (o *outputs) stdout() []string {
	switch {
	case o.json:
		return []string{"json"}
	case o.markdown:
		return []string{"markdown"}
	case len(o.formats) > 0:
		return o.formats
	case slices.ContainsFunc(o.files, func(s string) bool { return strings.HasSuffix(s, "=-") }):
		return nil
	}
	return []string{"text"}
}

// write writes a report in all forms. own are forms that a command has of its own
// instead. The error is of writing, or the exit status.
func (o *outputs) write(w io.Writer, r *verdict.Report, own map[string]func(io.Writer) error) error {
	if err := o.all(w, r, own, o.stdout()); err != nil {
		return fail(err)
	}
	if status := r.Verdict.ExitStatus(); status != verdict.ExitPass {
		return &failure{status: status}
	}
	return nil
}

// unusable writes the files for a comparison that could not be made, so that a
// pipeline that reads them sees why, and returns its error. Nothing is printed.
func (o *outputs) unusable(w io.Writer, r *verdict.Report, own map[string]func(io.Writer) error, err error) error {
	if failed := o.all(w, r, own, nil); failed != nil {
		return fail(errors.Join(err, failed))
	}
	return badInput(err)
}

func (o *outputs) all(w io.Writer, r *verdict.Report, own map[string]func(io.Writer) error, print []string) error {
	one := func(w io.Writer, format string) error {
		if f := own[format]; f != nil {
			return f(w)
		}
		return r.Write(w, format, version.String())
	}
	for _, format := range print {
		if err := one(w, format); err != nil {
			return err
		}
	}
	for _, s := range o.files {
		format, name, _ := strings.Cut(s, "=")
		if name == "-" {
			if err := one(w, format); err != nil {
				return err
			}
			continue
		}
		f, err := outfile.Create(name)
		if err != nil {
			return err
		}
		defer f.Abort()
		if err := one(f, format); err != nil {
			return err
		}
		if err := f.Commit(); err != nil {
			return err
		}
	}
	if slices.Contains(o.stdout(), "markdown") || o.noSummary || os.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" && !slices.Contains(o.files, "markdown="+path) {
		var b bytes.Buffer
		if err := one(&b, "markdown"); err != nil {
			return err
		}
		return addSummary(path, b.Bytes(), r)
	}
	return nil
}

// maxSummary is the most that GitHub takes of the summary of a step; of one that is
// larger it shows nothing.
const maxSummary = 1 << 20

// addSummary adds to the summary of a job, or if there is no room for it, only the
// verdict.
func addSummary(path string, text []byte, r *verdict.Report) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if info.Size()+int64(len(text)) > maxSummary {
		text = fmt.Appendf(nil, "## flagos-trace: %s\n\n%s; the whole is too long for a summary.\n", r.Verdict, r.Outcome())
	}
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Close()
}
