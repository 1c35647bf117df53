package export

import (
	"bytes"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

var update = flag.Bool("update", false, "rewrite golden files")

const pairs = "../testdata/pairs/"

func read(t testing.TB, path string) *timeline.Trace {
	t.Helper()
	docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return docs[0].Trace
}

// rowsOf writes tables as CSV and returns the rows, each by column.
func rowsOf(t testing.TB, text []byte) (rows []map[string]string) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, f := range fields {
			if f != "" {
				row[all[0][i]] = f
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func asCSV(t testing.TB, tables ...*Table) []byte {
	t.Helper()
	var out bytes.Buffer
	c := NewCSV(&out)
	for _, b := range tables {
		if err := c.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRows holds all cells of a small trace.
func TestRows(t *testing.T) {
	var out strings.Builder
	for _, row := range rowsOf(t, asCSV(t, NewTable(read(t, "testdata/steps.json"), "some/steps.json", true))) {
		fmt.Fprintf(&out, "event %s\n", row["event"])
		for i := range Columns {
			if v, ok := row[Columns[i].Name]; ok && i != colEvent {
				fmt.Fprintf(&out, "  %s = %s\n", Columns[i].Name, v)
			}
		}
	}
	if *update {
		if err := os.WriteFile("testdata/steps.golden", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/steps.golden")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("testdata/steps.golden is not what came out, which is:\n%s", out.String())
	}
}

// readParquet reads the files of a folder with parquet's own reader.
func readParquet(t *testing.T, dir string) (rows []map[string]string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		info, err := in.Stat()
		if err != nil {
			return err
		}
		f, err := parquet.OpenFile(in, info.Size())
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		var names []string
		for _, c := range f.Schema().Columns() {
			names = append(names, c[0])
		}
		for _, g := range f.RowGroups() {
			r := g.Rows()
			buffer := make([]parquet.Row, 100)
			for {
				n, err := r.ReadRows(buffer)
				for _, row := range buffer[:n] {
					m := map[string]string{}
					for _, v := range row {
						if !v.IsNull() && v.String() != "" {
							m[names[v.Column()]] = v.String()
						}
					}
					for _, part := range strings.Split(filepath.Dir(strings.TrimPrefix(path, dir+"/")), "/") {
						if key, value, ok := strings.Cut(part, "="); ok && value != unknown {
							m[key] = value
						}
					}
					rows = append(rows, m)
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					return err
				}
			}
			r.Close()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestParquet holds Parquet files, read back, against the same tables as CSV.
func TestParquet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lake")
	tables := func() (list []*Table) {
		for _, name := range []string{"ddp.rank0.kineto.json.gz", "ddp.rank1.kineto.json.gz", "basic.kineto.json.gz", "graph.kineto.json.gz"} {
			list = append(list, NewTable(read(t, pairs+name), name, true))
		}
		return append(list, NewTable(read(t, "testdata/steps.json"), "steps.json", true))
	}
	p, err := NewParquet(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Abort()
	p.About("flagos-trace", "test")
	all := tables()
	for _, b := range all {
		if err := p.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there before all is written: %v", err)
	}
	stats, err := p.Close()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]string{}
	for _, row := range rowsOf(t, asCSV(t, all...)) {
		want[row["trace"]+" "+row["event"]] = row
	}
	got := readParquet(t, dir)
	if len(got) != len(want) || uint64(len(got)) != stats.Rows {
		t.Errorf("%d rows were read, %d written, there are %d", len(got), stats.Rows, len(want))
	}
	for _, row := range got {
		key := row["trace"] + " " + row["event"]
		for i := range Columns {
			name := Columns[i].Name
			if same := row[name] == want[key][name]; !same && !sameNumber(row[name], want[key][name]) {
				t.Fatalf("%s: %s is %q in Parquet, %q in CSV", key, name, row[name], want[key][name])
			}
		}
	}
	for _, name := range []string{"rank=0/step=" + unknown, "rank=1/step=" + unknown, "rank=3/step=4", "rank=3/step=5"} {
		if _, err := os.Stat(filepath.Join(dir, name, "part.parquet")); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "rank="+unknown, "step="+unknown, "part-1.parquet")); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func sameNumber(a, b string) bool {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}

// TestParquetAgain exports into a folder that holds an export.
func TestParquetAgain(t *testing.T) {
	dir := t.TempDir()
	export := func(name string, overwrite bool) error {
		p, err := NewParquet(dir, overwrite)
		if err != nil {
			return err
		}
		defer p.Abort()
		if err := p.Add(NewTable(read(t, name), name, false)); err != nil {
			return err
		}
		_, err = p.Close()
		return err
	}
	const first, second = pairs + "ddp.rank0.kineto.json.gz", pairs + "ddp.rank1.kineto.json.gz"
	for _, c := range []struct {
		name      string
		overwrite bool
		want      error
	}{
		{first, false, nil},
		{second, false, nil},
		{first, false, ErrThere},
		{first, true, nil},
	} {
		if err := export(c.name, c.overwrite); !errors.Is(err, c.want) {
			t.Fatalf("%s, overwrite %v: %v", c.name, c.overwrite, err)
		}
	}
	whole := len(rowsOf(t, asCSV(t, NewTable(read(t, first), "", false), NewTable(read(t, second), "", false))))
	if got := len(readParquet(t, dir)); got != whole {
		t.Errorf("there are %d rows, not %d", got, whole)
	}
	mine := filepath.Join(dir, "rank=0", "notes.txt")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := export(first, true); !errors.Is(err, ErrForeign) {
		t.Errorf("a folder with a file of another's: %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
	if _, err := NewParquet(mine, false); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func FuzzTable(f *testing.F) {
	text, err := os.ReadFile("testdata/steps.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`[{"ph":"X","cat":"kernel","name":"","pid":"x","tid":"","ts":1,"dur":-1,"args":{"grid":[1,2],"Group size":1e99}}]`))
	f.Add([]byte(`[{"ph":"C","name":"a","pid":1,"ts":4,"args":{"v":1}},{"ph":"i","name":"ProfilerStep#9","cat":"user_annotation","ts":4}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
		if err != nil {
			return
		}
		b := NewTable(d.Trace, "fuzz", true)
		var r Row
		for i := range uint32(b.Len()) {
			b.Row(i, &r)
			for col := range Columns {
				if Columns[col].Always && !r[col].Set {
					t.Fatalf("row %d has no %s", i, Columns[col].Name)
				}
			}
			values(&r, nil, nil)
		}
	})
}
