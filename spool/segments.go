package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A spool of which only the newest part is kept is a row of segments. The newest
// is the file of the spool's own name; segment n before it has ".n" behind that.
// Each is a spool of its own: it begins with all that is needed to read its
// buffers. nextExt is the name of the next one while it is being made, and, if
// the process dies at the wrong moment, of the last one.
const nextExt = ".next"

// KeepSegments makes the Writer remember what Next writes at the head of the next
// segment. It must come before the first frame.
func (w *Writer) KeepSegments() {
	w.memory = &memory{
		names: map[uint64]string{}, strides: map[uint32][]byte{}, callbacks: map[[8]byte][]byte{},
		threads: map[string][]byte{}, single: map[Type][]byte{},
	}
}

// Next begins a new segment with the header h and closes this one. On an error
// this one is as it was.
func (w *Writer) Next(h Header) (*Writer, error) {
	next := w.path + nextExt
	_ = unix.Unlink(next) // of an attempt that failed
	n, err := Create(next, h)
	if err != nil {
		return nil, err
	}
	old := fmt.Sprintf("%s.%d", w.path, h.Segment-1)
	if err = w.memory.write(n); err == nil {
		err = swap(next, w.path, old)
	}
	if err != nil {
		_ = n.Close()
		_ = unix.Unlink(next)
		return nil, fmt.Errorf("spool %s: next segment: %w", w.path, err)
	}
	n.path, n.memory, n.errs = w.path, w.memory, w.errs
	_ = w.Close()
	return n, nil
}

// swap puts next in the place of path, which becomes old. With a kernel and a
// file system that can, there is a file at path at all times.
func swap(next, path, old string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, next, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE); err == nil {
		return unix.Rename(next, old)
	}
	if err := unix.Rename(path, old); err != nil {
		return err
	}
	return unix.Rename(next, path)
}

// Segments lists the files of a spool, given its name: itself, last, and those
// before it in the order they were written. A spool without segments is its only
// one.
func Segments(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	type file struct {
		name   string
		number int
	}
	var list []file
	for _, e := range entries {
		ext, ok := strings.CutPrefix(e.Name(), filepath.Base(path))
		if !ok || !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(filepath.Dir(path), e.Name())
		switch n, err := strconv.Atoi(strings.TrimPrefix(ext, ".")); {
		case ext == nextExt:
			// It was the newest, or is about to be: then it holds no buffer yet.
			n, ok := segment(name)
			if newest, good := segment(path); ok && good && n < newest {
				list = append(list, file{name, n})
			}
		case err == nil && n >= 0 && strings.HasPrefix(ext, "."):
			list = append(list, file{name, n})
		}
	}
	if len(list) == 0 {
		return []string{path}, nil
	}
	if n, ok := segment(path); ok {
		list = append(list, file{path, n})
	}
	slices.SortFunc(list, func(a, b file) int { return a.number - b.number })
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = f.name
	}
	return names, nil
}

// segment reads the number of a segment from its header.
func segment(path string) (int, bool) {
	r, err := Open(path)
	if err != nil {
		return 0, false
	}
	defer r.Close()
	f, err := r.Next()
	if err != nil {
		return 0, false
	}
	h, err := f.Header()
	return h.Segment, err == nil && h.Segment >= 0
}

// RemoveSegment removes segment n of the spool at path and returns its size in
// bytes, 0 if it is not there.
func RemoveSegment(path string, n int) (int64, error) {
	name := fmt.Sprintf("%s.%d", path, n)
	var st unix.Stat_t
	if err := unix.Lstat(name, &st); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, err
	}
	return st.Size, unix.Unlink(name)
}

const (
	// Bounds of what is remembered: the first clock sample and this many of the
	// last, which are enough to tell a clock's rate, and marks of windows.
	keptClocks  = 32
	keptWindows = 1024
)

// memory is what stands at the head of each segment.
type memory struct {
	names     map[uint64]string
	strides   map[uint32][]byte
	callbacks map[[8]byte][]byte
	threads   map[string][]byte
	single    map[Type][]byte // of which the last one counts
	texts     []framed
	clocks    [][]byte
	windows   [][]byte
}

type framed struct {
	t       Type
	payload []byte
}

// add remembers a frame that was written.
func (m *memory) add(t Type, payload []byte) {
	f := Frame{Type: t, Payload: payload}
	switch t {
	case TypeNames:
		_ = f.Names(func(ptr uint64, name []byte) { m.names[ptr] = string(name) })
	case TypeStride:
		m.strides[binary.LittleEndian.Uint32(payload)] = slices.Clone(payload)
	case TypeCallbackName:
		m.callbacks[[8]byte(payload)] = slices.Clone(payload)
	case TypeThread:
		tid, _, _ := bytes.Cut(payload, []byte{','}) // its id comes first, see Thread.encode
		m.threads[string(tid)] = slices.Clone(payload)
	case TypeDevices, TypeBinding, TypeRequested:
		m.single[t] = slices.Clone(payload)
	case TypeDiagnosis, TypeLoss:
		m.texts = append(m.texts, framed{t, slices.Clone(payload)})
	case TypeClock:
		m.clocks = keep(m.clocks, payload, keptClocks)
	case TypeWindow:
		m.windows = keep(m.windows, payload, keptWindows)
	}
}

// keep appends to a list that holds the first and the last ones.
func keep(list [][]byte, payload []byte, limit int) [][]byte {
	if len(list) >= limit {
		list = slices.Delete(list, 1, 2)
	}
	return append(list, slices.Clone(payload))
}

// write writes what is remembered.
func (m *memory) write(w *Writer) error {
	var all []framed
	for _, t := range []Type{TypeBinding, TypeDevices, TypeRequested} {
		if p, ok := m.single[t]; ok {
			all = append(all, framed{t, p})
		}
	}
	all = append(all, m.texts...)
	for _, list := range []struct {
		t        Type
		payloads [][]byte
	}{
		{TypeStride, values(m.strides)}, {TypeCallbackName, values(m.callbacks)}, {TypeThread, values(m.threads)},
		{TypeClock, m.clocks}, {TypeWindow, m.windows},
	} {
		for _, p := range list.payloads {
			all = append(all, framed{list.t, p})
		}
	}
	const most = 1 << 20 // bytes of names in a frame
	var names []byte
	for _, ptr := range slices.Sorted(maps.Keys(m.names)) {
		if len(names) > most {
			all, names = append(all, framed{TypeNames, names}), nil
		}
		names = binary.LittleEndian.AppendUint64(names, ptr)
		names = binary.LittleEndian.AppendUint32(names, uint32(len(m.names[ptr])))
		names = append(names, m.names[ptr]...)
	}
	if len(names) > 0 {
		all = append(all, framed{TypeNames, names})
	}
	for _, f := range all {
		if err := w.frame(f.t, f.payload); err != nil {
			return err
		}
	}
	return nil
}

// values returns the values of a map in an order that does not change.
func values[K comparable](m map[K][]byte) [][]byte {
	return slices.SortedFunc(maps.Values(m), func(a, b []byte) int { return slices.Compare(a, b) })
}
