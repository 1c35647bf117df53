package export

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocs keeps the list of columns in docs/sql.md that of the code.
func TestDocs(t *testing.T) {
	const path, begin, end = "../docs/sql.md", "<!-- columns -->\n", "<!-- end of columns -->"
	var b strings.Builder
	b.WriteString("\n| column | type | what it is |\n|---|---|---|\n")
	for i := range Columns {
		c := &Columns[i]
		null := ""
		if c.Always {
			null = " NOT NULL"
		}
		fmt.Fprintf(&b, "| `%s` | %s%s | %s |\n", c.Name, c.Type, null, c.Doc)
	}
	b.WriteString("\n")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the columns", path)
	}
	want := before + begin + b.String() + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Errorf("%s is stale: run go test ./export -update", path)
	}
}
