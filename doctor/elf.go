package doctor

import (
	"bytes"
	"debug/elf"
	"io"
	"io/fs"
)

// maxLibrary bounds what is read of a library's file.
const maxLibrary = 512 << 20

// sharedLibrary is what can be read off a library's file without loading it.
type sharedLibrary struct {
	why       string          // why it is none, "" if it is
	arch      string          // as Go names it, else as ELF does
	functions map[string]bool // that it has for others; nil if that cannot be told
}

// archs are the machines that flagos-trace is built for.
var archs = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// library reads a library's file. It returns nil where the file cannot be read, which
// says nothing of the library.
func (s *System) library(name string) *sharedLibrary {
	f, err := s.FS.Open(rel(name))
	if err != nil {
		return nil
	}
	defer f.Close()
	at, ok := f.(io.ReaderAt)
	if !ok {
		data, err := io.ReadAll(io.LimitReader(f, maxLibrary))
		if err != nil {
			return nil
		}
		at = bytes.NewReader(data)
	}
	if st, err := f.Stat(); err != nil || st.Mode()&fs.ModeType != 0 {
		return nil
	}
	e, err := elf.NewFile(at)
	if err != nil {
		return &sharedLibrary{why: "is no shared library"}
	}
	lib := &sharedLibrary{arch: archs[e.Machine]}
	if e.Type != elf.ET_DYN {
		lib.why = "is no shared library"
	}
	if lib.arch == "" {
		lib.arch = e.Machine.String()
	}
	symbols, err := e.DynamicSymbols()
	if err != nil {
		return lib
	}
	lib.functions = map[string]bool{}
	for _, sym := range symbols {
		if sym.Section != elf.SHN_UNDEF {
			lib.functions[sym.Name] = true
		}
	}
	return lib
}
