package repair

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

func read(t testing.TB, text []byte) *chrome.Document {
	t.Helper()
	d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func write(t testing.TB, d *chrome.Document) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := chrome.Write(&b, d.Trace, chrome.Options{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// repaired reads, repairs and writes a text.
func repaired(t testing.TB, text []byte, o Options) ([]byte, *Report) {
	t.Helper()
	d := read(t, text)
	r, err := Document(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, d), r
}

func files(t testing.TB, dir string) (out []string) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".json.gz")) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func plain(t testing.TB, path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return data
}

// differ tells where two texts part.
func differ(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d:\n%.300s\n%.300s", i+1, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(x), len(y))
}
