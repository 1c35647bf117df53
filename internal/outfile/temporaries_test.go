package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// resume undoes RemoveTemporaries for the tests that follow.
func resume() {
	temporaries.Lock()
	temporaries.stopped = false
	temporaries.Unlock()
}

func TestRemoveTemporaries(t *testing.T) {
	defer resume()
	dir := t.TempDir()
	path, whole := filepath.Join(dir, "f"), filepath.Join(dir, "whole")
	write(t, path, "old")
	write(t, whole, "whole")
	var open []*File
	for range 2 {
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Abort()
		open = append(open, f)
	}
	if _, err := io.WriteString(open[0], "half"); err != nil {
		t.Fatal(err)
	}
	if n := files(t, dir); n != 4 {
		t.Fatalf("%d files before", n)
	}
	RemoveTemporaries()
	if n := files(t, dir); n != 2 {
		t.Errorf("%d files after, want the two that are complete", n)
	}
	if _, err := io.WriteString(open[0], "the rest"); err != nil {
		t.Errorf("writing on: %v", err)
	}
	if err := open[0].Commit(); !errors.Is(err, ErrStopped) {
		t.Errorf("Commit: %v", err)
	}
	open[1].Abort()
	if _, err := Create(path); !errors.Is(err, ErrStopped) {
		t.Errorf("Create: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "old" || files(t, dir) != 2 {
		t.Errorf("at the end: %q and %d files", got, files(t, dir))
	}
	RemoveTemporaries() // again is harmless
	write(t, os.DevNull, "a device is no temporary file")
}

// TestNothingLeftOpen: what is committed or aborted is forgotten.
func TestNothingLeftOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "text")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	f.Abort()
	f.Abort()
	if n := len(temporaries.open); n != 0 {
		t.Errorf("%d files are still known", n)
	}
}
