package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	return plain.JSON(w, r, "  ")
}

// Print writes the report for people: the findings by group, the verdict, and
// what to mend first. verbose shows what was skipped, too.
func (r *Report) Print(w io.Writer, verbose bool) error {
	var b strings.Builder
	wide := 0
	for _, f := range r.Findings {
		wide = max(wide, len(f.ID))
	}
	group, skipped := "", 0
	for _, f := range r.Findings {
		if f.Status == Skip && !verbose {
			skipped++
			continue
		}
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, "%s\n", group)
		}
		seen := strings.ReplaceAll(f.Seen, "\n", "\n"+strings.Repeat(" ", wide+10))
		fmt.Fprintf(&b, "  %-4s  %-*s  %s\n", f.Status, wide, f.ID, seen)
		if f.Fix != "" {
			fmt.Fprintf(&b, "        %-*s  fix: %s\n", wide, "", f.Fix)
		}
	}
	if skipped > 0 {
		fmt.Fprintf(&b, "(%s left out: --verbose shows what was skipped)\n", counted(skipped, "check"))
	}
	fmt.Fprintf(&b, "\nverdict: %s: %s\n", r.Verdict, r.Summary)
	if worst := r.Worst(); len(worst) > 0 {
		fmt.Fprintf(&b, "first: %s: %s\n", worst[0].ID, worst[0].Fix)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
