package report

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const pairs = "../testdata/pairs/"

// page writes the page of traces and returns where it is, with what it was made of.
func page(t testing.TB, o Options, paths ...string) (string, *Report) {
	t.Helper()
	r, err := Files(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(at)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteHTML(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return at, r
}

// hostile is a trace whose names would be markup in a careless page.
func hostile(t testing.TB) string {
	t.Helper()
	names := []string{
		`</script><script>document.title="owned"</script>`, `<img src=x onerror="document.title='owned'">`, `<!--<script>`,
		"line\u2028separator", "=HYPERLINK(\"x\")", `"><b>bold</b>`, "{{data}}", strings.Repeat("long_", 400),
	}
	type object = map[string]any
	var events []object
	for i, name := range names {
		at := 100 * i
		events = append(events,
			object{"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 50, "args": object{"External id": i + 1}},
			object{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 1, "dur": 5, "args": object{"correlation": i + 1, "External id": i + 1}},
			object{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 20, "dur": 60, "args": object{"device": 0, "stream": 7, "correlation": i + 1, "External id": i + 1}})
	}
	text, err := json.Marshal(object{"schemaVersion": 1, "traceEvents": events, "traceName": names[0]})
	if err != nil {
		t.Fatal(err)
	}
	// A name of a file is no better than the others.
	at := filepath.Join(t.TempDir(), `<b>"&'.json`)
	if err := os.WriteFile(at, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

var screenshots = flag.Bool("screenshots", false, "write the pictures in docs/images anew")

func TestPage(t *testing.T) {
	b := newBrowser(t)
	t.Run("totals", func(t *testing.T) { testTotals(t, b) })
	t.Run("every trace", func(t *testing.T) { testEvery(t, b) })
	t.Run("sorting", func(t *testing.T) { testSorting(t, b) })
	t.Run("zooming", func(t *testing.T) { testZooming(t, b) })
	t.Run("flame graph", func(t *testing.T) { testFlame(t, b) })
	t.Run("two sides", func(t *testing.T) { testSides(t, b) })
	t.Run("hostile names", func(t *testing.T) { testHostile(t, b) })
	t.Run("keys and themes", func(t *testing.T) { testKeys(t, b) })
	if *screenshots {
		takeScreenshots(t, b)
	}
}

// takeScreenshots writes the pictures of docs/report.md.
func takeScreenshots(t *testing.T, b *browser) {
	b.t = t
	at, _ := page(t, Options{}, pairs+"ddp.rank0.kineto.json.gz", pairs+"ddp.rank1.kineto.json.gz")
	shoot := func(name string) {
		b.eval(`new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))`, nil)
		var picture struct{ Data []byte }
		b.must("Page.captureScreenshot", map[string]any{"format": "png"}, &picture)
		if err := os.WriteFile(filepath.Join("../docs/images", name), picture.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll("../docs/images", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, theme := range []string{"light", "dark"} {
		b.must("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": theme}}}, nil)
		b.open(at)
		shoot("report-" + theme + ".png")
		b.eval(`document.querySelector("#time").scrollIntoView({ behavior: "instant" })`, nil)
		b.wait(`document.querySelectorAll('#time .uplot canvas').length >= 2`)
		shoot("report-charts-" + theme + ".png")
	}
}

// quiet checks that nothing was complained about, and nothing asked for but the page.
func (b *browser) quiet(t *testing.T, path string) {
	t.Helper()
	for _, c := range b.complaints() {
		t.Errorf("the page complains: %s", c)
	}
	b.lock.Lock()
	defer b.lock.Unlock()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "file://") || !strings.HasSuffix(url, filepath.Base(path)) {
			t.Errorf("the page asks for %s", url)
		}
	}
}
