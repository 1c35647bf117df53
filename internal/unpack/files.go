package unpack

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

var (
	// ErrEmpty: an archive holds no trace.
	ErrEmpty = errors.New("no trace in the archive")
	// ErrArchive: an archive cannot be read.
	ErrArchive = errors.New("the archive is damaged")
)

const (
	zipMagic = "PK\x03\x04"
	zipEmpty = "PK\x05\x06" // an archive without members begins with its end
)

// member is the text of a member of an archive.
type member struct {
	io.Reader
	size int64 // in the archive, compressed
}

// Each opens a file and calls f with what is in it, still compressed where it is: a
// document, or each trace of a zip archive with the archive's path and its own
// behind a slash as name. "-" is standard input. An error of f ends it and is
// returned as it is; the others name the file, wrap ErrEmpty or ErrArchive, or are
// those of the system.
func Each(path string, stdin io.Reader, f func(name string, r io.Reader) error) error {
	if path == "-" {
		if file, ok := stdin.(*os.File); ok && isZip(file) {
			return archive(path, file, f)
		}
		b := bufio.NewReader(stdin)
		if head, _ := b.Peek(len(zipMagic)); isMagic(head) {
			return piped(path, b, f)
		}
		return f(path, b)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if isZip(file) {
		return archive(path, file, f)
	}
	// A named pipe cannot be read at an offset.
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		b := bufio.NewReader(file)
		if head, _ := b.Peek(len(zipMagic)); isMagic(head) {
			return piped(path, b, f)
		}
		return f(path, b)
	}
	return f(path, file)
}

func isZip(f io.ReaderAt) bool {
	var head [len(zipMagic)]byte
	n, _ := f.ReadAt(head[:], 0)
	return isMagic(head[:n])
}

func isMagic(head []byte) bool { return string(head) == zipMagic || string(head) == zipEmpty }

// piped reads an archive that comes through a pipe: its index is at its end.
func piped(path string, r io.Reader, f func(name string, r io.Reader) error) error {
	file, err := os.CreateTemp("", "flagos-trace-*.zip")
	if err != nil {
		return fmt.Errorf("%s: the archive cannot be put aside: %w", path, err)
	}
	defer file.Close()
	defer os.Remove(file.Name())
	if _, err := io.Copy(file, r); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return archive(path, file, f)
}

func archive(path string, file *os.File, f func(name string, r io.Reader) error) error {
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	z, err := zip.NewReader(file, info.Size())
	if err != nil {
		return fmt.Errorf("%s: %w: %w", path, ErrArchive, err)
	}
	found := false
	for _, m := range z.File {
		if m.FileInfo().IsDir() || !traceName(m.Name) {
			continue
		}
		found = true
		name := path + "/" + m.Name
		r, err := m.Open()
		if err != nil {
			return fmt.Errorf("%s: %w: %w", name, ErrArchive, err)
		}
		err = f(name, &member{r, int64(m.CompressedSize64)})
		r.Close()
		if err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("%s: %w (no member ends in .json, .json.gz, .json.zst or .trace)", path, ErrEmpty)
	}
	return nil
}

// traceName reports whether a member of an archive is a trace by its name. What an
// archiver leaves beside files (__MACOSX) is not.
func traceName(name string) bool {
	if strings.HasPrefix(name, "__MACOSX/") {
		return false
	}
	for _, end := range []string{".json", ".json.gz", ".json.zst", ".trace"} {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return true
		}
	}
	return false
}
