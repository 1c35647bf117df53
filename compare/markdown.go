package compare

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// WriteMarkdown writes the same as WriteText for the summary page of a CI job.
func (r *Report) WriteMarkdown(w io.Writer, v View) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## flagos-trace diff --perf: %s\n\n%s\n\n| | |\n|---|---|\n", r.Verdict, markdown(r.Why))
	for side, runs := range [2][]verdict.Side{r.Base, r.New} {
		fmt.Fprintf(&b, "| %s | %s |\n", Side(side), markdown(runsLine(runs)))
	}
	for i, s := range r.Incomparable {
		if i > 0 {
			fmt.Fprintf(&b, "| also | %s |\n", markdown(s))
		}
	}
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "| note | %s |\n", markdown(s))
	}
	if len(r.Whole) > 0 {
		head(&b, []string{"whole runs", "base", "new", "change", r.interval(), ""})
		for i := range r.Whole {
			m := &r.Whole[i]
			c := &m.Change
			pipes(&b, []string{m.Name, amount(c.Base, m.Unit), amount(c.New, m.Unit), c.change(), c.bounds(), string(c.Status)})
		}
	}
	for _, table := range v.tables(r) {
		head(&b, r.head(table.By, &v))
		for i, row := range table.Rows {
			if i == v.top() {
				fmt.Fprintf(&b, "\nand %d more\n", len(table.Rows)-i)
				break
			}
			pipes(&b, row.cells(&v, code))
		}
	}
	b.WriteString("\n```\n")
	var text strings.Builder
	r.writeMatching(&text)
	b.WriteString(strings.ReplaceAll(strings.TrimPrefix(text.String(), "\n"), "`", "'"))
	b.WriteString("```\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func head(b *strings.Builder, cells []string) {
	b.WriteString("\n")
	pipes(b, cells)
	b.WriteString("|---" + strings.Repeat("|---:", len(cells)-2) + "|---|\n")
}

func pipes(b *strings.Builder, cells []string) {
	for _, c := range cells {
		b.WriteString("| " + pipe.ReplaceAllStringFunc(c, escapePipe) + " ")
	}
	b.WriteString("|\n")
}

var pipe = regexp.MustCompile(`\\*\|`)

// escapePipe escapes a pipe that stands behind so many backslashes: an even number of
// them would be escapes of one another, and leave the pipe to end the cell.
func escapePipe(s string) string {
	if len(s)%2 == 0 {
		s = `\` + s
	}
	return s[:len(s)-1] + `\|`
}

// code shows a name of a trace as it is.
func code(s string) string {
	if s == "" {
		return "(no name)"
	}
	return "`" + strings.ReplaceAll(cut(printable(s), 80), "`", "'") + "`"
}

var markup = strings.NewReplacer(`\`, `\\`, "|", `\|`, "&", "&amp;", "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "[", `\[`, "~", `\~`, "$", `\$`,
	"@", "@<!-- -->", "`", "'")

// markdown keeps text from being read as markup.
func markdown(s string) string { return markup.Replace(printable(s)) }
