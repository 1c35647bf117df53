package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// logger writes the debug log. A nil logger writes nothing.
type logger struct {
	mu sync.Mutex
	f  *os.File
}

// newLogger opens the log beside the spool, or in the temporary directory when
// there is no place for spools. It returns nil if it cannot.
func newLogger(dir string, p process) *logger {
	for _, d := range []string{dir, os.TempDir()} {
		if d == "" {
			continue
		}
		f, err := os.OpenFile(filepath.Join(d, p.base()+".flagos-trace.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err == nil {
			return &logger{f: f}
		}
	}
	return nil
}

func (l *logger) printf(format string, args ...any) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.f, "%s %s\n", time.Now().Format("15:04:05.000000"), fmt.Sprintf(format, args...))
}
