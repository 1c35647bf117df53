package compare

import (
	"regexp"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

const hostile = "a|b\\|c\\\\|d\n# e\r<img src=x>`f`@all [g](http://h) ~~i~~ $j$ *k* _l_ &amp; \x1b[31m\u202e"

// columns counts the cells of a line of a table as GitHub does: a backslash takes what
// is behind it out of the count, in code as elsewhere.
func columns(line string) int {
	return strings.Count(regexp.MustCompile(`\\.`).ReplaceAllString(line, ""), "|") - 1
}

// TestMarkdownNames: whatever stands in names of files, devices and kernels, a table
// keeps its columns, and nothing is markup.
func TestMarkdownNames(t *testing.T) {
	in := program(t, "aten::x\n\tkernel: gemm 10000\n")
	for i := range uint32(in.Trace.Events.Len()) {
		if e := in.Trace.Events.At(i); e.Kind.OnDevice() || in.Trace.Strings.At(e.Name) == "aten::x" {
			e.Name = in.Trace.Strings.ID(hostile)
		}
	}
	in.Name = hostile + ".json"
	in.Trace.Devices = append(in.Trace.Devices[:0], timeline.Device{Name: hostile})
	in.Trace.Completeness = &timeline.Completeness{Verdict: timeline.Unknown}
	other := program(t, "aten::x\n\tkernel: gemm 90000\n")
	bad := in
	bad.Lost = hostile
	for name, r := range map[string]*Report{
		"one":          Run([]Input{in}, []Input{other}, Options{}),
		"several":      Run([]Input{in, in, in}, []Input{in}, Options{}),
		"incomparable": Run([]Input{bad}, []Input{bad}, Options{}),
	} {
		var b strings.Builder
		if err := r.WriteMarkdown(&b, View{By: Tables, Wide: true}); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(b.String(), "\n```\n")
		want := 0
		for _, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, "|") {
				want = 0
				if strings.HasPrefix(line, "# ") {
					t.Errorf("%s: a name begins a line: %q", name, line)
				}
				continue
			}
			if n := columns(line); want == 0 {
				want = n
			} else if n != want {
				t.Errorf("%s: %d columns, not %d: %s", name, n, want, line)
			}
		}
		prose := strings.ReplaceAll(regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, ""), "@<!-- -->", "")
		if m := regexp.MustCompile(`<img|@all|[^\\]\[g\]|[^\\]~~|[^\\]\*k|\x1b|\x{202e}`).FindString(prose); m != "" {
			t.Errorf("%s: %q is left in\n%s", name, m, prose)
		}
	}
}
