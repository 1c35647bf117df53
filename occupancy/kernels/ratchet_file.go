package kernels

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrRatchet: the text is not a ratchet.
var ErrRatchet = errors.New("kernels: not a ratchet file")

// RatchetSchema names the form of a ratchet file.
const RatchetSchema = "flagos-trace.occupancy.ratchet/1"

// maxRatchet bounds a ratchet file, bytes.
const maxRatchet = 64 << 20

type ratchetFile struct {
	Schema  string            `json:"schema"`
	Kernels []json.RawMessage `json:"kernels"`
}

// ReadRatchet reads what Ratchet.Write wrote. The order of the kernels does not
// matter. Errors wrap ErrRatchet and name the kernel, or are r's.
func ReadRatchet(r io.Reader) (*Ratchet, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxRatchet+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxRatchet {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrRatchet, maxRatchet)
	}
	var f ratchetFile
	if err := strict(text, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRatchet, err)
	}
	if f.Schema != RatchetSchema {
		return nil, fmt.Errorf("%w: its schema is %.80q, not %q", ErrRatchet, f.Schema, RatchetSchema)
	}
	out := &Ratchet{Entries: make([]Entry, 0, len(f.Kernels))}
	for i, raw := range f.Kernels {
		var e *Entry
		err := strict(raw, &e)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%w: kernel %d: %w", ErrRatchet, i+1, err)
		}
		out.Entries = append(out.Entries, *e)
	}
	slices.SortFunc(out.Entries, func(a, b Entry) int { return a.key(&b) })
	for i := 1; i < len(out.Entries); i++ {
		if out.Entries[i].key(&out.Entries[i-1]) == 0 {
			return nil, fmt.Errorf("%w: %.200q stands twice for device %.80q", ErrRatchet, out.Entries[i].Name, out.Entries[i].Device)
		}
	}
	return out, nil
}

// strict decodes exactly one value, without keys that v does not know: a
// misspelt one would be a limit that nobody watches.
func strict(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("it is empty")
		}
		return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("byte %d: more text behind the end", d.InputOffset())
	}
	return nil
}

func (e *Entry) check() error {
	if e == nil {
		return errors.New("null is no kernel")
	}
	for _, n := range []struct {
		key   string
		value *int64
		least int64
	}{
		{"registers", e.Registers, 0}, {"local_memory_per_thread", e.LocalMem, 0},
		{"active_warps", e.ActiveWarps, 0}, {"max_warps", e.MaxWarps, 1},
	} {
		if n.value != nil && (*n.value < n.least || *n.value > maxRatchetNumber) {
			return fmt.Errorf("%.200q: %s is %d, not between %d and %d", e.Name, n.key, *n.value, n.least, maxRatchetNumber)
		}
	}
	if (e.ActiveWarps == nil) != (e.MaxWarps == nil) {
		return fmt.Errorf("%.200q: active_warps and max_warps stand together or not at all", e.Name)
	}
	if e.ActiveWarps != nil && *e.ActiveWarps > *e.MaxWarps {
		return fmt.Errorf("%.200q: active_warps %d are more than max_warps %d", e.Name, *e.ActiveWarps, *e.MaxWarps)
	}
	return nil
}

// Write writes the ratchet as JSON, a line for each kernel, sorted: the same
// kernels give the same bytes, and a version control system shows what changed.
// Errors are w's.
func (r *Ratchet) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n\"schema\": %q,\n\"kernels\": [", RatchetSchema)
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for i := range r.Entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		if err := e.Encode(&r.Entries[i]); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // Encode's line end
	}
	b.WriteString("\n]\n}\n")
	_, err := w.Write(b.Bytes())
	return err
}
