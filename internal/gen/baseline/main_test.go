package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// TestFresh: the embedded baseline is what the generator makes.
func TestFresh(t *testing.T) {
	testrig.Shared(t, "traces/torch-cuda")
	out := filepath.Join(t.TempDir(), "b.json")
	if err := run(out, nil); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../../baseline/torch-cuda.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("baseline/torch-cuda.json is stale: run go generate ./baseline")
	}
}
