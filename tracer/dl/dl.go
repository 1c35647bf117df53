package dl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/guest"
)

// rtldNoload makes dlopen answer only for libraries already in the process.
// The value is glibc's (bits/dlfcn.h).
const rtldNoload = 0x4

// Errors of finding and opening.
var (
	// ErrNotFound: no candidate could be opened; the error text lists each with
	// the loader's reason. It is a *NotFoundError.
	ErrNotFound = errors.New("library not found")
	// ErrSymbol: the library does not have the function.
	ErrSymbol = errors.New("symbol not found")
)

// NotFoundError lists what was tried.
type NotFoundError struct {
	What  string    // "CUPTI"
	Tried []Attempt // in order
}

// Attempt is one candidate that could not be opened.
type Attempt struct {
	Name   string // path or file name given to the loader
	Reason string // the loader's text
}

// Error lists every candidate with its reason.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v; tried", e.What, ErrNotFound)
	if len(e.Tried) == 0 {
		b.WriteString(" nothing")
	}
	for i, t := range e.Tried {
		if i > 0 {
			b.WriteString(";")
		}
		fmt.Fprintf(&b, " %s (%s)", t.Name, t.Reason)
	}
	return b.String()
}

// Is reports whether target is ErrNotFound.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// Library is a library opened in this process.
type Library struct {
	handle uintptr
	Name   string // what it was opened by
}

// Loaded returns the first of the named libraries that the process has already
// loaded, without loading anything.
func Loaded(names ...string) (*Library, bool) {
	for _, n := range names {
		if h, err := purego.Dlopen(n, purego.RTLD_LAZY|rtldNoload); err == nil {
			return &Library{handle: h, Name: n}, true
		}
	}
	return nil, false
}

// Open opens a library by path or file name, with its symbols kept out of the
// global scope.
func Open(name string) (*Library, error) {
	h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	forgetMaps()
	return &Library{handle: h, Name: name}, nil
}

// Symbol returns the address of a function, or an error that is ErrSymbol.
func (l *Library) Symbol(name string) (uintptr, error) {
	p, err := purego.Dlsym(l.handle, name)
	if err != nil || p == 0 {
		return 0, fmt.Errorf("%s: %w: %s", l.Name, ErrSymbol, name)
	}
	return p, nil
}

// Func returns the address of a function, 0 if the library has none.
func (l *Library) Func(name string) uintptr {
	p, _ := purego.Dlsym(l.handle, name)
	return p
}

// Path returns the file that holds the given symbol of the library, as the process
// map names it, or the name it was opened by if that cannot be had.
func (l *Library) Path(symbol string) string {
	if p := l.Func(symbol); p != 0 {
		if path := fileOf(p); path != "" {
			return path
		}
		if maps, err := Maps(); err == nil {
			if path := maps.At(uint64(p)); path != "" {
				return path
			}
		}
	}
	return l.Name
}

// fileOf asks the loader for the file that an address is of, and the system for its
// name without links: the map of a large program takes much longer to read. "" if
// they do not say.
func fileOf(addr uintptr) string {
	dladdr, err := purego.Dlsym(purego.RTLD_DEFAULT, "dladdr")
	if err != nil {
		return ""
	}
	info := NewBytes(4 * 8) // Dl_info, the name first
	if Call(dladdr, addr, BytesPtr(info)) == 0 {
		return ""
	}
	name := GoString(uintptr(binary.NativeEndian.Uint64(info)), unix.PathMax)
	if !strings.HasPrefix(name, "/") {
		return ""
	}
	fd, err := guest.Open(name, unix.O_PATH, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	file := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), file)
	if err != nil || n == len(file) {
		return ""
	}
	return string(file[:n])
}

// GoString copies the NUL-terminated string at addr, at most max bytes. The
// address must be readable.
func GoString(addr uintptr, max int) string {
	if addr == 0 {
		return ""
	}
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr)) // C memory: the collector does not move it
	n := 0
	for n < max && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// Call calls a C function and returns its result register.
//
//go:uintptrescapes
func Call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}
