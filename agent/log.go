package agent

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"golang.org/x/sys/unix"
)

// logger writes the debug log. Until it is opened it writes nothing.
type logger struct {
	mu   sync.Mutex
	fd   guest.FD
	live bool
}

// open opens the log beside the spool, or in the temporary directory when there
// is no place for spools. If it cannot, nothing is logged.
func (l *logger) open(dir, temp string, p process) {
	for _, d := range []string{dir, temp} {
		if d == "" {
			continue
		}
		fd, err := guest.Open(filepath.Join(d, p.base()+".flagos-trace.log"), unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND, 0o644)
		if err == nil {
			l.mu.Lock()
			l.fd, l.live = guest.Keep(fd), true
			l.mu.Unlock()
			return
		}
	}
}

func (l *logger) printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live && l.fd.Ours() {
		_, _ = unix.Write(l.fd.N, fmt.Appendf(nil, "%s %s\n", time.Now().Format("15:04:05.000000"), fmt.Sprintf(format, args...)))
	}
}
