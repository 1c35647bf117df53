package doctor

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

// sharedObject is a file that has functions for others, as far as its header and its
// table of symbols go.
func sharedObject(machine elf.Machine, functions ...string) *fstest.MapFile {
	names := []byte{0}
	symbols := make([]byte, 24)
	for _, f := range functions {
		s := make([]byte, 24)
		binary.LittleEndian.PutUint32(s, uint32(len(names)))
		s[4], s[6] = 0x12, 1 // a global function in a section
		symbols = append(symbols, s...)
		names = append(append(names, f...), 0)
	}
	h := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, Type: uint16(elf.ET_DYN), Machine: uint16(machine), Version: 1,
		Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2, Shoff: uint64(64 + len(symbols) + len(names)),
	}
	var b bytes.Buffer
	for _, part := range []any{h, symbols, names, elf.Section64{},
		elf.Section64{Type: uint32(elf.SHT_DYNSYM), Off: 64, Size: uint64(len(symbols)), Link: 2, Entsize: 24},
		elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + len(symbols)), Size: uint64(len(names))}} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return &fstest.MapFile{Data: b.Bytes(), Mode: 0o755}
}

// here and elsewhere are the machine that the tests run on and another.
func here() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_AARCH64
	}
	return elf.EM_X86_64
}

func elsewhere() elf.Machine {
	if runtime.GOARCH == "arm64" {
		return elf.EM_X86_64
	}
	return elf.EM_AARCH64
}

// TestBuiltLibraries reads look-alikes of the vendors' libraries that tracers work with:
// each has what its tracer needs, and the oldest is known for what it is.
func TestBuiltLibraries(t *testing.T) {
	gpu := fakegpu.Get(t)
	s := &System{FS: os.DirFS("/")}
	for vendor, files := range map[string][]string{
		"ascend": {gpu.MSPTILibrary(fakegpu.MSPTINow), gpu.MSPTILibrary(fakegpu.MSPTIOld)},
		"musa":   {gpu.AlikeLibrary(fakegpu.MUSA), gpu.AlikeMinimal(fakegpu.MUSA)},
		"metax":  {gpu.AlikeLibrary(fakegpu.MetaX)},
		"dcu":    {gpu.AlikeLibrary(fakegpu.DCU)},
	} {
		for _, f := range files {
			if bad := s.flaw(f, vendorOf(vendor).functions); bad != "" {
				t.Errorf("%s %s", f, bad)
			}
			if lib := s.library(f); lib == nil || lib.arch != runtime.GOARCH || len(lib.functions) < 5 {
				t.Errorf("%s: %+v", f, lib)
			}
		}
	}
	if bad := s.flaw(filepath.Join(gpu.Dir, "cupti13-unusable/libcupti.so.13"), cuptiAs("cupti")); !strings.Contains(bad, "lacks cuptiActivityRegisterCallbacks:") {
		t.Error(bad)
	}
	m := healthy()
	m.ascend()
	data, err := os.ReadFile(gpu.MSPTILibrary(fakegpu.MSPTIOld))
	if err != nil {
		t.Fatal(err)
	}
	m.files["cann/lib64/libmspti.so"] = &fstest.MapFile{Data: data}
	r, err := Examine(context.Background(), m.system(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.ID == "ascend.library" && (f.Status != Warn || !strings.Contains(f.Seen, "older than CANN 8.3")) {
			t.Errorf("%+v", f)
		}
	}
}

// TestNoLibrary: a file that cannot be read, or is no library, is not taken for one that
// lacks functions.
func TestNoLibrary(t *testing.T) {
	s := &System{FS: fstest.MapFS{"folder/x": file, "text": &fstest.MapFile{Data: []byte("text")}, "cut": &fstest.MapFile{Data: sharedObject(here()).Data[:70]}}}
	for name, want := range map[string]string{"/gone": "", "/folder": "", "/text": "is no shared library", "/cut": "is no shared library"} {
		if got := s.flaw(name, []string{"f"}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
