package verdict

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// Formats are the names of the forms in which a report can be written.
var Formats = []string{"text", "markdown", "json", "junit", "sarif", "github", "gitlab"}

// Write writes a report in a form. version is that of the tool, for the formats that
// tell it.
func (r *Report) Write(w io.Writer, format, version string) error {
	switch format {
	case "text":
		return r.WriteText(w)
	case "markdown":
		return r.WriteMarkdown(w)
	case "json":
		return r.WriteJSON(w)
	case "junit":
		return r.WriteJUnit(w)
	case "sarif":
		return r.WriteSARIF(w, version)
	case "github":
		return r.WriteGitHub(w)
	case "gitlab":
		return r.WriteGitLab(w)
	}
	return fmt.Errorf("format is %q; it is one of %s", format, strings.Join(Formats, ", "))
}

// IsFormat reports whether there is a form of that name.
func IsFormat(name string) bool { return slices.Contains(Formats, name) }

// WriteJSON writes the whole report; ReportSchema is its form.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, v any) error { return plain.JSON(w, v, "  ") }

// ReportSchema is the JSON Schema (draft 2020-12) of what Report.WriteJSON writes;
// that of a check's result is Schema.
func ReportSchema() []byte {
	type object = map[string]any
	var of object
	if err := json.Unmarshal(Schema, &of); err != nil {
		panic(err) // the tests read it
	}
	defs, _ := of["$defs"].(object)
	verdict := of["properties"].(object)["verdict"]
	defs["result"] = object{"type": "object", "required": of["required"], "properties": of["properties"]}
	text := object{"type": "string"}
	defs["check"] = object{
		"type": "object", "required": []string{"name", "result"},
		"properties": object{
			"name":     text,
			"advisory": object{"type": "boolean", "description": "it is told, and does not count"},
			"result":   object{"$ref": "#/$defs/result"},
		},
	}
	schema := object{
		"$schema": of["$schema"], "title": "Result of flagos-trace gate", "type": "object",
		"required": []string{"schema", "format", "version", "verdict", "why", "checks"},
		"properties": object{
			"schema":  object{"const": ReportSchemaName},
			"format":  object{"const": ReportFormat},
			"version": object{"const": ReportVersion},
			"verdict": verdict,
			"why":     text,
			"config":  object{"type": "string", "description": "the file that asked for the checks"},
			"checks":  object{"type": "array", "items": object{"$ref": "#/$defs/check"}},
		},
		"$defs": defs,
	}
	var b strings.Builder
	if err := writeJSON(&b, schema); err != nil {
		panic(err)
	}
	return []byte(b.String())
}

// WriteText writes a page for a terminal: the checks with their verdicts, and then
// each that did not pass.
func (r *Report) WriteText(w io.Writer) error {
	if len(r.Checks) == 1 && r.Config == "" {
		return WriteText(w, r.Checks[0].Result)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", strings.ToUpper(string(r.Verdict)), printable(r.Why))
	for i := range r.Checks {
		c := &r.Checks[i]
		fmt.Fprintf(&b, "  %-13s %s%s: %s\n", c.Result.Verdict, printable(c.Name), c.advice(), printable(c.Result.Why))
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Result.Verdict == Pass {
			continue
		}
		fmt.Fprintf(&b, "\n--- %s ---\n", printable(c.Name))
		if err := WriteText(&b, c.Result); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the same for the summary page of a CI job.
func (r *Report) WriteMarkdown(w io.Writer) error {
	if len(r.Checks) == 1 && r.Config == "" {
		return WriteMarkdown(w, r.Checks[0].Result)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## flagos-trace gate: %s\n\n%s\n\n| check | verdict | why |\n|---|---|---|\n", r.Verdict, markdown(r.Why))
	for i := range r.Checks {
		c := &r.Checks[i]
		fmt.Fprintf(&b, "| %s | %s%s | %s |\n", markdown(c.Name), c.Result.Verdict, c.advice(), markdown(c.Result.Why))
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.Result.Verdict == Pass {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n", markdown(c.Name))
		var one strings.Builder
		if err := WriteMarkdown(&one, c.Result); err != nil {
			return err
		}
		_, body, _ := strings.Cut(one.String(), "\n\n") // its heading is the check's
		b.WriteString(body)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
