package fakegpu

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A layout is one of the tables in testdata: what the vendor's own header says.
type layout struct {
	sizes   map[uint32]int    // kind to bytes
	records map[uint32]string // kind to the record's name in the table
	fields  map[string]field  // "KERNEL.start"
}

type field struct{ offset, size int }

func readLayout(t *testing.T, version string) layout {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "layout-"+version+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	l := layout{map[uint32]int{}, map[uint32]string{}, map[string]field{}}
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.Split(line, "\t")
		switch f[0] {
		case "size":
			kind := uint32(atoi(t, f[1]))
			l.records[kind], l.sizes[kind] = f[2], atoi(t, f[3])
		case "field":
			l.fields[f[1]+"."+f[2]] = field{atoi(t, f[3]), atoi(t, f[4])}
		}
	}
	// Driver calls have the record of runtime calls.
	l.records[driverKind], l.sizes[driverKind] = l.records[runtimeKind], l.sizes[runtimeKind]
	return l
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const (
	memcpyKind    = 1
	memsetKind    = 2
	driverKind    = 4
	runtimeKind   = 5
	deviceKind    = 8
	contextKind   = 9
	kernelKind    = 10
	overheadKind  = 17
	eventKind     = 36
	streamKind    = 37
	syncKind      = 38
	externalKind  = 39
	cudaGraphCBID = 311
	launchFailed  = 91
)

// A record is one record of a dump.
type record struct {
	l      *layout
	kind   uint32
	buffer int // which buffer of the dump
	data   []byte
}

// get reads an integer field; a field that the record is too short for is fatal.
func (r record) get(t *testing.T, name string) uint64 {
	t.Helper()
	f, ok := r.l.fields[r.l.records[r.kind]+"."+name]
	if !ok {
		t.Fatalf("kind %d has no field %s", r.kind, name)
	}
	b := r.data[f.offset : f.offset+f.size]
	switch f.size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	default:
		return binary.LittleEndian.Uint64(b)
	}
}

// A result is what a run of the workload left.
type result struct {
	mayBeCut       bool   // the last buffer of the dump may have been cut by the process's end
	exit           int    // exit status, -1 after a signal
	signal         string // "signal: ..." when it died of one
	stdout, stderr string
	counts         map[string]int
	dump           []byte
	names          map[uint64]string
	dropped        int
	log            string
	dumpPath       string
}

type spec struct {
	cupti  CUPTI
	args   []string
	env    []string
	stdin  string
	python bool
}

// runWorkload runs the workload under the dumping client.
func runWorkload(t *testing.T, s spec) result {
	t.Helper()
	p := Get(t)
	dir := t.TempDir()
	counts, log := filepath.Join(dir, "counts.json"), filepath.Join(dir, "log")
	res := result{names: map[uint64]string{}, dumpPath: filepath.Join(dir, "dump")}
	program := p.Workload
	args := append([]string{"--counts", counts}, s.args...)
	if s.python {
		py, err := exec.LookPath("python3")
		if err != nil {
			t.Skip("no python3")
		}
		program, args = py, append([]string{p.WorkloadPy}, args...)
	}
	if s.cupti == "" {
		s.cupti = CUPTI13
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(cleanEnv(), p.Env(s.cupti)...)
	cmd.Env = append(cmd.Env, "CUDA_INJECTION64_PATH="+p.DumpInject, "FAKEGPU_DUMP="+res.dumpPath, "FAKECUPTI_LOG="+log)
	cmd.Env = append(cmd.Env, s.env...)
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(s.stdin), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	res.exit = cmd.ProcessState.ExitCode()
	if res.exit < 0 {
		res.signal = cmd.ProcessState.String()
	}
	res.stdout, res.stderr = stdout.String(), stderr.String()
	if data, err := os.ReadFile(counts); err == nil {
		if err := json.Unmarshal(data, &res.counts); err != nil {
			t.Fatal(err)
		}
	}
	res.dump, _ = os.ReadFile(res.dumpPath) // absent when nothing was injected
	if data, err := os.ReadFile(log); err == nil {
		res.log = string(data)
	}
	res.readNames(t)
	return res
}

func (res *result) readNames(t *testing.T) {
	t.Helper()
	f, err := os.Open(res.dumpPath + ".names.tsv")
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, text, _ := strings.Cut(lines.Text(), "\t")
		if key == "#dropped" {
			res.dropped = atoi(t, text)
			continue
		}
		p, err := strconv.ParseUint(strings.TrimPrefix(key, "0x"), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		res.names[p] = text
	}
}

// cleanEnv is the environment without anything that steers the look-alikes.
func cleanEnv() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "FAKE") && !strings.HasPrefix(e, "CUDA_") {
			env = append(env, e)
		}
	}
	return env
}

// records walks the dump by the sizes of l, with more sizes for other kinds.
func (res result) records(t *testing.T, l layout, more map[uint32]int) []record {
	t.Helper()
	var all []record
	data := res.dump
	for n := 0; len(data) > 0; n++ {
		// A thread of the library may be writing when the process ends.
		if res.mayBeCut && (len(data) < 24 || binary.LittleEndian.Uint64(data) > uint64(len(data)-24)) {
			break
		}
		if len(data) < 24 {
			t.Fatalf("buffer %d: header cut short", n)
		}
		valid := binary.LittleEndian.Uint64(data)
		data = data[24:]
		if valid > uint64(len(data)) {
			t.Fatalf("buffer %d: %d bytes of %d", n, len(data), valid)
		}
		buf := data[:valid]
		data = data[valid:]
		for off := 0; off < len(buf); {
			kind := binary.LittleEndian.Uint32(buf[off:])
			size, ok := more[kind]
			if !ok {
				size = l.sizes[kind]
			}
			if size == 0 || off+size > len(buf) {
				t.Fatalf("buffer %d offset %d: kind %d of %d bytes does not fit", n, off, kind, size)
			}
			all = append(all, record{&l, kind, n, buf[off : off+size]})
			off += size
		}
	}
	return all
}

func ofKind(rs []record, kinds ...uint32) []record {
	var out []record
	for _, r := range rs {
		for _, k := range kinds {
			if r.kind == k {
				out = append(out, r)
			}
		}
	}
	return out
}
