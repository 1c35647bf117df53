package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOccupancyDocs runs the commands of docs/occupancy.md and compares what they
// print with what the page says they do.
func TestOccupancyDocs(t *testing.T) {
	path, err := filepath.Abs("../../docs/occupancy.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata/occupancy")
	ran := 0
	const open, shut = "```console\n", "```\n"
	var got strings.Builder
	for rest := string(page); ; {
		before, block, found := strings.Cut(rest, open)
		got.WriteString(before)
		if !found {
			break
		}
		block, rest, _ = strings.Cut(block, shut)
		got.WriteString(open)
		for line := range strings.Lines(block) {
			command, isCommand := strings.CutPrefix(line, "$ flagos-trace ")
			if !isCommand {
				continue
			}
			var out bytes.Buffer
			status := run(strings.Fields(command), &out, &out)
			got.WriteString(line + out.String())
			if status != 0 {
				fmt.Fprintf(&got, "(exit status %d)\n", status)
			}
			ran++
		}
		got.WriteString(shut)
	}
	if ran == 0 {
		t.Error("the page has no commands")
	}
	if got.String() == string(page) {
		return
	}
	if !*update {
		t.Errorf("%s is stale: run go test ./cmd/flagos-trace -update. It should be:\n%s", path, got.String())
	} else if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOccupancyErrors(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte(`devices: [{name: my, capability: "9.0"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	good := "--device h100 --block 256"
	for _, c := range []struct {
		line   string
		status int
		want   string
	}{
		{"", 2, "--device and --block are needed"},
		{"--device h100", 2, "--device and --block are needed"},
		{"--device h300 --block 32", 2, `"h300" (known: h100`},
		{"--device h100 --block 0", 2, "--block 0: a dimension must have 1 or more threads"},
		{"--device h100 --block -32", 2, "--block -32: a dimension"},
		{"--device h100 --block 16x0", 2, "--block 16x0: a dimension"},
		{"--device h100 --block 1x1x1x1", 2, "three dimensions"},
		{"--device h100 --block many", 2, "--block many"},
		{"--device h100 --block 65536x65536", 2, "--block 65536x65536: more than 2147483647 threads"},
		{"--device h100 --block 99999999999999999999", 2, "--block 99999999999999999999: more than"},
		{good + " --regs -1", 2, "--regs -1: give a number from 0"},
		{good + " --regs 65536", 2, "--regs 65536: give a number from 0"},
		{good + " --regs 99999999999999999999", 2, "--regs"},
		{good + " --smem -1", 2, "--smem -1: it cannot be negative"},
		{good + " --smem 2097152K", 2, "--smem 2097152K: more than"},
		{good + " --smem 1G", 2, "--smem 1G: give a number of bytes"},
		{good + " --dyn-smem 1.5K", 2, "--dyn-smem 1.5K: give a number of bytes"},
		{good + " --carveout 101%", 2, "--carveout 101%: give a percentage"},
		{good + " --carveout 300K", 2, "carve-out of 307200 bytes"},
		{"--device p100 --block 32 --carveout 50%", 2, "cannot be set"},
		{"--device mi300x --block 32 --carveout 50%", 2, "NVIDIA"},
		{good + " --cluster 0", 2, "--cluster 0"},
		{good + " --cluster 32", 2, "cluster of 32 blocks"},
		{"--device a100 --block 32 --cluster 2", 2, "clusters begin with compute capability 9.0"},
		{good + " --max-active-clusters 4", 2, "--cluster of 2 blocks or more"},
		{good + " --sgprs 4", 2, "AMD"},
		{"--device mi300x --block 32 --wave 32", 2, "waves of 32 threads"},
		{good + " --sweep warps", 2, `"warps"`},
		{good + " --svg x.svg", 2, "--sweep"},
		{good + " more", 2, "more"},
		{"--devices " + bad + " --device my --block 32", 125, "missing: sms"},
		{"--devices " + filepath.Join(dir, "no.yaml") + " --device my --block 32", 125, "no.yaml"},
		{good + " --sweep regs --svg " + dir, 125, "folder"},
		{"--device h100 --block 2048", 1, "threads: 2048 in a block; at most 1024"},
		{"--device h100 --block 1024 --regs 65 --json", 1, "registers: 65 a thread"},
		{"--device h100 --block 32 --smem 228K", 1, "a block may have 232448"},
		{good, 0, "registers were not given"},
		{"table", 2, "in"},
		{"table --in " + filepath.Join(dir, "no.csv"), 125, "no.csv"},
		{"table --in " + bad, 1, "line 1: no column major"},
	} {
		var out bytes.Buffer
		if status := run(append([]string{"occupancy"}, strings.Fields(c.line)...), &out, &out); status != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: status %d, want %d and %q\n%s", c.line, status, c.status, c.want, out.String())
		}
	}
}

func TestOccupancyJSON(t *testing.T) {
	var out, errs bytes.Buffer
	status := run(strings.Fields("occupancy --device h100 --block 256 --regs 64 --smem 32K --cluster 2 --max-active-clusters 264 --sweep regs --json"), &out, &errs)
	var j occupancyJSON
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j); err != nil || status != 0 {
		t.Fatalf("status %d, %v, %s", status, err, errs.String())
	}
	if j.Device.Name != "h100" || j.Device.Capability != "9.0" || j.Device.SMs != 132 || j.Device.Basis != "nvidia-calculator" || !j.Launchable ||
		j.Result.Blocks != 4 || j.Result.Occupancy != 0.5 || fmt.Sprint(j.Result.Limiting) != "[regs]" ||
		fmt.Sprint(j.Limits) != "map[blocks:32 regs:4 smem:6 warps:8]" || len(j.Next) != 1 || j.Next[0].Config.Regs != 48 ||
		j.Cluster == nil || j.Cluster.BlocksPerSM == nil || *j.Cluster.BlocksPerSM != 4 || j.Sweep == nil || len(j.Sweep.Points) != 32 {
		t.Errorf("%+v", j)
	}
}

func TestOccupancySVG(t *testing.T) {
	for _, axis := range []string{"block", "regs", "smem"} {
		for _, device := range []string{"h100", "mi300x", "gtx-980"} {
			file := filepath.Join(t.TempDir(), "sweep.svg")
			line := fmt.Sprintf("occupancy --device %s --block 200 --regs 50 --smem 5000 --sweep %s --svg ", device, axis)
			var out, errs bytes.Buffer
			if status := run(strings.Fields(line+file), &out, &errs); status != 0 || !strings.Contains(out.String(), "100 %") {
				t.Fatalf("%s: status %d, %s%s", line, status, out.String(), errs.String())
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dec := xml.NewDecoder(bytes.NewReader(data))
			elements := map[string]int{}
			for {
				token, err := dec.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				if e, ok := token.(xml.StartElement); ok {
					elements[e.Name.Local]++
				}
			}
			if elements["svg"] != 1 || elements["path"] != 1 || elements["circle"] != 1 || elements["title"] != 1 {
				t.Errorf("%s: %v", line, elements)
			}
		}
	}
}

func TestOccupancyTable(t *testing.T) {
	dir := t.TempDir()
	const text = "major,minor,block,regs,static_smem,dyn_smem\n9,0,256,64,32768,0\n"
	const want = "major,minor,block,regs,static_smem,dyn_smem,status,blocks_per_sm,limiting,by_regs,by_smem,by_warps,by_blocks\n9,0,256,64,32768,0,0,4,2,4,6,8,32\n"
	plain, packed, cut := filepath.Join(dir, "in.csv"), filepath.Join(dir, "in.csv.gz"), filepath.Join(dir, "cut.csv.gz")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	io.WriteString(w, text)
	w.Close()
	for path, data := range map[string][]byte{plain: []byte(text), packed: z.Bytes(), cut: z.Bytes()[:z.Len()-4]} {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range []string{plain, packed} {
		var out, errs bytes.Buffer
		if status := run([]string{"occupancy", "table", "--in", in}, &out, &errs); status != 0 || out.String() != want || errs.Len() > 0 {
			t.Errorf("%s: status %d, %s%s", in, status, out.String(), errs.String())
		}
		file := filepath.Join(dir, "out.csv")
		if status := run([]string{"occupancy", "table", "--in", in, "--out", file}, &out, &errs); status != 0 {
			t.Errorf("%s: status %d, %s", in, status, errs.String())
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != want {
			t.Errorf("%s: %s, %v", in, data, err)
		}
	}
	var out, errs bytes.Buffer
	file := filepath.Join(dir, "none.csv")
	if status := run([]string{"occupancy", "table", "--in", cut, "--out", file}, &out, &errs); status != 1 || !strings.Contains(errs.String(), "cut.csv.gz: the compressed data ends early") {
		t.Errorf("status %d, %s", status, errs.String())
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a table that was cut is written")
	}
	refused := filepath.Join(dir, "refused.csv")
	if err := os.WriteFile(refused, []byte(text+strings.Repeat("9,0,0,1,0,0\n", 7)), 0o644); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	errs.Reset()
	if status := run([]string{"occupancy", "table", "--in", refused}, &out, &errs); status != 1 || strings.Count(out.String(), "\n") != 9 ||
		!strings.Contains(errs.String(), "refused.csv: line 3: block is 0") || !strings.Contains(errs.String(), "and 2 more rows") {
		t.Errorf("status %d, %s%s", status, out.String(), errs.String())
	}
}
