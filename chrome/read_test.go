package chrome

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/internal/unpack"
)

// traceFiles lists the traces to read: those of testdata, and more where there
// are some at hand.
func traceFiles(t testing.TB) []string {
	var files []string
	shared, _ := testrig.FindShared("traces") // walking what is not there finds nothing
	for _, root := range []string{"testdata", "../testdata", shared} {
		filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.Contains(e.Name(), ".json") && !strings.Contains(e.Name(), "golden") {
				files = append(files, path)
			}
			return nil
		})
	}
	if len(files) == 0 {
		t.Fatal("no traces")
	}
	return files
}

func plainText(t testing.TB, path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := unpack.New(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	return readAll(t, in)
}

// TestReadCounts: every trace reads, and where it is valid JSON its events are
// those that a full JSON parse finds, by phase and category.
func TestReadCounts(t *testing.T) {
	for _, path := range traceFiles(t) {
		docs, err := ReadFile(path, ReadOptions{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		d := docs[0]
		text := plainText(t, path)
		if testing.Short() && len(text) > 4<<20 {
			continue
		}
		if d.Bytes != int64(len(text)) {
			t.Errorf("%s: %d bytes of text, want %d", path, d.Bytes, len(text))
		}
		if !json.Valid(text) {
			if len(d.Findings) == 0 {
				t.Errorf("%s is not JSON, and there is no finding", path)
			}
			continue
		}
		want := jsonCounts(t, text)
		if got := fmt.Sprint(d.Counts); got != fmt.Sprint(want) {
			t.Errorf("%s: counts\n%s\nwant\n%s", path, got, fmt.Sprint(want))
		}
		t.Logf("%s: %s %v", filepath.Base(path), d.Producer, d.FindingCounts)
	}
}

func jsonCounts(t testing.TB, text []byte) map[Class]uint64 {
	type ev struct {
		Ph  string `json:"ph"`
		Cat string `json:"cat"`
	}
	var events []ev
	if text[0] == '[' {
		if err := json.Unmarshal(text, &events); err != nil {
			t.Fatal(err)
		}
	} else {
		var doc struct {
			TraceEvents []ev `json:"traceEvents"`
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		events = doc.TraceEvents
	}
	counts := map[Class]uint64{}
	for _, e := range events {
		if e.Ph == "I" {
			e.Ph = "i"
		}
		counts[Class{e.Ph[0], e.Cat}]++
	}
	return counts
}

func readAll(t testing.TB, r io.Reader) []byte {
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
