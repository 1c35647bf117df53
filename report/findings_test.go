package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

// TestPipe: what can be read only once is read for the page, and the page says that it
// was not validated.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		_ = os.WriteFile(path, []byte(`{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5}]}`), 0)
	}()
	r, err := Files([]string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Sides[0]; s.Findings != nil || len(s.NotValidated) != 1 || !strings.Contains(s.NotValidated[0], "only once") || len(s.Traces) != 1 {
		t.Errorf("findings %s, not validated %q, %d traces", s.Findings, s.NotValidated, len(s.Traces))
	}
}
