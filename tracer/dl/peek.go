package dl

import (
	"bytes"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"golang.org/x/sys/unix"
)

const (
	pageSize = 4096
	// maxName bounds a name, in bytes; longer ones are cut.
	maxName = 64 << 10
)

// Peeker reads memory at addresses that may be wild. The kernel copies the bytes
// into a pipe and answers EFAULT where there are none, so nothing can fault
// here; unlike process_vm_readv this is never forbidden. The zero Peeker reads
// nothing until it is made ready.
type Peeker struct {
	open bool
	r, w guest.FD
	buf  []byte
}

// Ready makes the pipe if there is none, or the program took it away. It is
// called now and then, so that nothing goes into a file the program opened in
// its place.
func (p *Peeker) Ready() error {
	if p.open && p.r.Ours() && p.w.Ours() {
		return nil
	}
	p.Close()
	var fd [2]int
	if err := unix.Pipe2(fd[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return err
	}
	p.r, p.w, p.open = guest.Keep(fd[0]), guest.Keep(fd[1]), true
	return nil
}

// Close gives the pipe back.
func (p *Peeker) Close() {
	if p.open {
		p.r.Close()
		p.w.Close()
		p.open = false
	}
}

// CString reads the NUL-terminated string at addr. ok is false if it cannot be
// read to its end or to maxName. The bytes are valid until the next call.
func (p *Peeker) CString(addr uint64) (s []byte, ok bool) {
	if addr == 0 || !p.open {
		return nil, false
	}
	p.buf = p.buf[:0]
	for len(p.buf) < maxName {
		n := pageSize - int(addr%pageSize) // never over the end of a page
		got, _, errno := unix.Syscall(unix.SYS_WRITE, uintptr(p.w.N), uintptr(addr), uintptr(n))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || got == 0 {
			return nil, false
		}
		at := len(p.buf)
		if cap(p.buf) < at+n {
			p.buf = append(p.buf, make([]byte, n)...)[:at]
		}
		chunk := p.buf[at : at+int(got)]
		for read := 0; read < len(chunk); {
			m, err := unix.Read(p.r.N, chunk[read:])
			if err == unix.EINTR {
				continue
			}
			if err != nil || m == 0 {
				p.Close() // what is left in the pipe must not begin the next name
				return nil, false
			}
			read += m
		}
		p.buf = p.buf[:at+len(chunk)]
		if i := bytes.IndexByte(chunk, 0); i >= 0 {
			return p.buf[:at+i], true
		}
		addr += uint64(got)
	}
	return p.buf[:maxName], true
}
