package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLongFindings: a name is no longer among the findings than elsewhere on the page.
func TestLongFindings(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	path := filepath.Join(t.TempDir(), "long.json")
	text := `{"traceEvents":[{"ph":"X","cat":"kernel","name":"` + long + `","pid":"` + long + `","tid":"` + long + `","ts":1,"dur":5}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	raw, not, err := findings([]string{path}, nil, nil)
	if err != nil || len(not) > 0 {
		t.Fatal(not, err)
	}
	if !strings.Contains(string(raw), strings.Repeat("x", maxName/2)) || strings.Contains(string(raw), strings.Repeat("x", 2*maxName)) {
		t.Errorf("findings are %d bytes: %.300s", len(raw), raw)
	}
}
