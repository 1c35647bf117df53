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
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func packed(t *testing.T, how, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch how {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return []byte(text)
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestText: the text is the same from each form; what is cut or damaged gives what
// came before, and says so; an error of what is below stays what it is.
func TestText(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "%d,", i*i)
	}
	broken := errors.New("broken disk")
	for _, how := range []string{"plain", "gzip", "zstd"} {
		whole := packed(t, how, text.String())
		in, err := New(iotest.HalfReader(bytes.NewReader(whole)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != text.String() || in.Err() != nil || in.Len() != int64(text.Len()) {
			t.Errorf("%s: %d bytes of %d, %v", how, len(got), text.Len(), err)
		}
		in.Close()

		in, err = New(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(broken)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(in); !errors.Is(err, broken) || in.Damaged() {
			t.Errorf("%s: a broken disk: %v", how, err)
		}
		if how == "plain" {
			continue
		}
		in, err = New(bytes.NewReader(whole[:len(whole)/2]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if !errors.Is(err, ErrDamaged) || !in.Damaged() || !strings.HasPrefix(text.String(), string(got)) || !strings.Contains(err.Error(), fmt.Sprintf("ends early, after %d bytes", len(got))) {
			t.Errorf("%s, cut: %d bytes, %v", how, len(got), err)
		}
		if _, again := in.Read(make([]byte, 1)); again == nil || again == io.EOF {
			t.Errorf("%s, cut: the error does not stick: %v", how, again)
		}
	}
	for _, head := range []string{"\x1f\x8bnonsense", "\x1f\x8b", "\x28\xb5\x2f\xfd\xff\xff\xff\xff"} {
		in, err := New(strings.NewReader(head))
		if err == nil {
			_, err = io.ReadAll(in)
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %v", head, err)
		}
	}
	for _, plain := range []string{"", "{", "[]"} {
		in, err := New(strings.NewReader(plain))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); err != nil || string(got) != plain {
			t.Errorf("%q: %q, %v", plain, got, err)
		}
	}
}

// TestEach: an archive's traces come one after the other, from a file and from a pipe.
func TestEach(t *testing.T) {
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string]string{"b/rank1.json.gz": "1", "rank0.JSON": "0", "README": "no", "__MACOSX/rank0.json": "no"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
	}
	z.Close()
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := file("ranks.zip", archive.Bytes())
	for _, from := range []string{path, "-"} {
		got := map[string]string{}
		err := Each(from, bytes.NewReader(archive.Bytes()), func(name string, r io.Reader) error {
			text, err := io.ReadAll(r)
			got[strings.TrimPrefix(name, from)] = string(text)
			return err
		})
		if err != nil || len(got) != 2 || got["/rank0.JSON"] != "0" || got["/b/rank1.json.gz"] != "1" {
			t.Errorf("%s: %v, %v", from, got, err)
		}
	}
	stop := errors.New("stop")
	calls := 0
	if err := Each(path, nil, func(string, io.Reader) error { calls++; return stop }); err != stop || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	nothing := func(string, io.Reader) error { return nil }
	for name, want := range map[string]error{
		file("cut.zip", archive.Bytes()[:archive.Len()/2]): ErrArchive,
		filepath.Join(dir, "none"):                         os.ErrNotExist,
	} {
		if err := Each(name, nil, nothing); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var other bytes.Buffer
	o := zip.NewWriter(&other)
	o.Create("README")
	o.Close()
	if err := Each(file("other.zip", other.Bytes()), nil, nothing); !errors.Is(err, ErrEmpty) {
		t.Errorf("no trace in it: %v", err)
	}
}
