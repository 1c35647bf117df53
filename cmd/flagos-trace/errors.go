package main

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/flagos-ai/flagos-trace/record"
)

// errorText is an error as it is printed: several that were joined on a line each, and
// no line more. A line end in the name of a file would begin a line of its own, which
// in the log of a CI job may be a command.
func errorText(err error) string {
	text := err.Error()
	if !strings.Contains(text, "\n") {
		return record.Printable(text, false)
	}
	var inside []error
	switch e := err.(type) { // one layer at a time
	case *yaml.TypeError:
		return record.Printable("yaml: "+strings.Join(e.Errors, "; "), false)
	case interface{ Unwrap() []error }:
		inside = e.Unwrap()
		var texts, lines []string
		for _, one := range inside {
			texts, lines = append(texts, one.Error()), append(lines, errorText(one))
		}
		if strings.Join(texts, "\n") == text {
			return strings.Join(lines, "\n")
		}
	case interface{ Unwrap() error }:
		if one := e.Unwrap(); one != nil {
			inside = []error{one}
		}
	}
	// A sentence around others: only what is in those may have lines.
	var b strings.Builder
	for _, one := range inside {
		if before, after, ok := strings.Cut(text, one.Error()); ok {
			b.WriteString(record.Printable(before, false) + errorText(one))
			text = after
		}
	}
	return b.String() + record.Printable(text, false)
}
