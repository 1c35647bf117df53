package sqltest

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

var update = flag.Bool("update", false, "rewrite the results in docs/sql.md")

const root = "../.."

var traces = []string{"testdata/pairs/ddp.rank0.kineto.json.gz", "testdata/pairs/ddp.rank1.kineto.json.gz", "export/testdata/steps.json"}

// tool runs the tool, which it builds, in the root of the repository.
func tool(t *testing.T, bin string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(bin, args...)
	cmd.Dir = root
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, errs.String())
	}
	return out
}

// open exports the traces and returns a database in whose folder they are.
func open(t *testing.T) (db *sql.DB, bin string) {
	t.Helper()
	dir := t.TempDir()
	bin = filepath.Join(dir, "flagos-trace")
	build := exec.Command("go", "build", "-o", bin, "./cmd/flagos-trace")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tool(t, bin, append(append([]string{"export", "--quiet", "--format", "parquet"}, traces...), "-o", filepath.Join(dir, "traces"))...)
	tool(t, bin, append(append([]string{"export", "--quiet", "--format", "csv"}, traces...), "-o", filepath.Join(dir, "traces.csv"))...)
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("SET file_search_path = '" + dir + "'"); err != nil {
		t.Fatal(err)
	}
	return db, bin
}

// result is what a query prints, as a table of fixed columns.
func result(rows *sql.Rows) (string, int, error) {
	names, err := rows.Columns()
	if err != nil {
		return "", 0, err
	}
	table := [][]string{names}
	for rows.Next() {
		values, to := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			return "", 0, err
		}
		line := make([]string, len(names))
		for i, v := range values {
			line[i] = "NULL"
			if v != nil {
				line[i] = fmt.Sprint(v)
			}
		}
		table = append(table, line)
	}
	if err := rows.Err(); err != nil {
		return "", 0, err
	}
	width := make([]int, len(names))
	for _, line := range table {
		for i, s := range line {
			width[i] = max(width[i], len(s))
		}
	}
	var b strings.Builder
	for _, line := range table {
		text := ""
		for i, s := range line {
			text += fmt.Sprintf("%-*s  ", width[i], s)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	return b.String(), len(table) - 1, nil
}

// TestDocs runs the queries of docs/sql.md in their order, and compares what they print.
func TestDocs(t *testing.T) {
	db, _ := open(t)
	db.SetMaxOpenConns(1)
	path := filepath.Join(root, "docs", "sql.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const fence, results = "```sql\n", "\n```text\n"
	var out strings.Builder
	rest := string(text)
	queries := 0
	for {
		before, after, ok := strings.Cut(rest, fence)
		out.WriteString(before)
		if !ok {
			break
		}
		query, after, _ := strings.Cut(after, "```\n")
		out.WriteString(fence + query + "```\n")
		if strings.HasPrefix(after, results) {
			_, after, _ = strings.Cut(after[len(results):], "```\n")
		}
		rest = after
		queries++
		if strings.HasPrefix(query, "CREATE") {
			if _, err := db.Exec(query); err != nil {
				t.Fatalf("%v:\n%s", err, query)
			}
			continue
		}
		rows, err := db.Query(query)
		if err != nil {
			t.Fatalf("%v:\n%s", err, query)
		}
		got, n, err := result(rows)
		rows.Close()
		if err != nil || n == 0 {
			t.Errorf("%d rows, %v:\n%s", n, err, query)
		}
		out.WriteString(results + got + "```\n")
	}
	if queries < 10 {
		t.Errorf("there are %d queries", queries)
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if out.String() != string(text) {
		t.Errorf("%s is stale: run go test -update in export/sqltest. It should be:\n%s", path, out.String())
	}
}

type sums struct {
	Count    int64 `json:"count"`
	Device   int64 `json:"device_ns"`
	Idle     int64 `json:"idle_ns"`
	Overlap  int64 `json:"overlap_ns"`
	Delay    int64 `json:"launch_delay_ns"`
	Launches int64 `json:"launches"`
}

// TestSums holds DuckDB's counts and sums, over Parquet and over CSV, against summary's.
func TestSums(t *testing.T) {
	db, bin := open(t)
	var whole struct {
		DeviceWork sums `json:"device_work"`
		Traces     []struct {
			Name   string
			Events int64
		}
	}
	if err := json.Unmarshal(tool(t, bin, append([]string{"summary", "--json"}, traces...)...), &whole); err != nil {
		t.Fatal(err)
	}
	if whole.DeviceWork.Count == 0 || len(whole.Traces) != len(traces) {
		t.Fatalf("summary says %+v", whole)
	}
	for _, from := range []string{"read_parquet('traces/**/*.parquet', hive_partitioning = true)", "read_csv('traces.csv', sample_size = -1)"} {
		var got sums
		err := db.QueryRow(`SELECT count(*), sum(dur_ns), sum(idle_ns), sum(overlap_ns), sum(launch_delay_ns), count(launch_delay_ns)
			FROM `+from+` WHERE kind IN ('kernel', 'memcpy', 'memcpy_peer', 'memset')`).
			Scan(&got.Count, &got.Device, &got.Idle, &got.Overlap, &got.Delay, &got.Launches)
		if err != nil {
			t.Fatal(err)
		}
		if got != whole.DeviceWork {
			t.Errorf("%s: %+v; summary says %+v", from, got, whole.DeviceWork)
		}
		for _, tr := range whole.Traces {
			var n int64
			if err := db.QueryRow("SELECT count(*) FROM "+from+" WHERE trace = ?", tr.Name).Scan(&n); err != nil || n != tr.Events {
				t.Errorf("%s: %s has %d rows, %d events by summary (%v)", from, tr.Name, n, tr.Events, err)
			}
		}
	}
	// Types, and the folders' names as columns.
	types := map[string]string{}
	rows, err := db.Query("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet('traces/**/*.parquet', hive_partitioning = true))")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, kind string
		if err := rows.Scan(&name, &kind); err != nil {
			t.Fatal(err)
		}
		types[name] = kind
	}
	for name, kind := range map[string]string{"event": "BIGINT", "rank": "BIGINT", "step": "BIGINT", "name": "VARCHAR", "device": "INTEGER", "occupancy_percent": "DOUBLE", "args": "VARCHAR"} {
		if types[name] != kind {
			t.Errorf("%s is of type %q in DuckDB, not %s", name, types[name], kind)
		}
	}
}
