package compare

import (
	"fmt"
	"io"
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
			pipes(&b, row.cells(&v, func(s string) string { return "`" + strings.ReplaceAll(cut(printable(s), 80), "`", "'") + "`" }))
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
		b.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	b.WriteString("|\n")
}

// markdown keeps text from being read as markup.
func markdown(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "'").Replace(printable(s))
}
