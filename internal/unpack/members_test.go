package unpack

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMembers: gzip files of several members are one text, padding is none of it,
// and what else follows is told and leaves the text whole.
func TestMembers(t *testing.T) {
	one, two := string(packed(t, "gzip", "[1,")), string(packed(t, "gzip", "2]"))
	for _, c := range []struct {
		name, file, text, err string
	}{
		{"two members", one + two, "[1,2]", ""},
		{"an empty one between", one + string(packed(t, "gzip", "")) + two, "[1,2]", ""},
		{"padding", one + two + strings.Repeat("\x00", 1000), "[1,2]", ""},
		{"padding between", one + "\x00\x00" + two, "[1,2]", ""},
		{"a few bytes more", one + two + "x", "[1,2]", "not gzip follows it, and was left out, after 5 bytes"},
		{"text more", one + two + strings.Repeat("garbage", 1000), "[1,2]", "not gzip follows it, and was left out, after 5 bytes"},
		{"cut in a member", one + two[:len(two)-3], "[1,2]", "ends early, after 5 bytes"},
		{"cut in a header", one + two[:5], "[1,", "ends early, after 3 bytes"},
		{"a damaged header", one + "\x1f\x8b" + strings.Repeat("x", 100), "[1,", "damaged, after 3 bytes"},
	} {
		in, err := New(strings.NewReader(c.file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if string(got) != c.text || (err != nil) != (c.err != "") || err != nil && (!strings.Contains(err.Error(), c.err) || !in.Damaged()) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		in.Close()
	}
}

// TestRatio: what is made to fill memory is refused, compressed in whichever way; the
// same text as it is, and what shrinks as traces do, are read.
func TestRatio(t *testing.T) {
	defer func(n int64) { freeText = n }(freeText)
	freeText = 1 << 20
	bomb := strings.Repeat(" ", 8<<20)
	var trace strings.Builder
	for i := range uint32(1 << 16) {
		fmt.Fprintf(&trace, `{"ph":"X","name":"aten::add","pid":1,"ts":%d},`, i*2654435761)
	}
	zipped := func(name string, data []byte) string {
		path := filepath.Join(t.TempDir(), "a.zip")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		z := zip.NewWriter(file)
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(data)
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return path
	}
	read := func(r io.Reader) error {
		in, err := New(r)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		_, err = io.Copy(io.Discard, in)
		return err
	}
	for _, how := range []string{"plain", "gzip", "zstd"} {
		for _, text := range []string{bomb, trace.String()} {
			want := text == bomb && how != "plain"
			data := packed(t, how, text)
			if err := read(bytes.NewReader(data)); errors.Is(err, ErrRatio) != want || (err != nil) != want {
				t.Errorf("%s, %d bytes: %v", how, len(data), err)
			}
			// An archive compresses what is plain.
			want = text == bomb
			err := Each(zipped("a.json", data), nil, func(_ string, r io.Reader) error { return read(r) })
			if errors.Is(err, ErrRatio) != want || (err != nil) != want {
				t.Errorf("%s in an archive: %v", how, err)
			}
		}
	}
}

// TestNoMembers: an archive without members is one.
func TestNoMembers(t *testing.T) {
	var b bytes.Buffer
	if err := zip.NewWriter(&b).Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "empty.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(string, io.Reader) error { t.Error("called"); return nil }
	if err := Each(path, nil, f); !errors.Is(err, ErrEmpty) {
		t.Errorf("a file: %v", err)
	}
	if err := Each("-", bytes.NewReader(b.Bytes()), f); !errors.Is(err, ErrEmpty) {
		t.Errorf("a pipe: %v", err)
	}
}
