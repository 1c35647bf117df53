package fakegpu

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The offsets in layout.h are those of the vendor's header.
func TestOffsets(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("csrc", "cupti", "layout.h"))
	if err != nil {
		t.Fatal(err)
	}
	l := readLayout(t, "130001")
	checked := 0
	for _, m := range regexp.MustCompile(`\b([A-Z0-9]+)_(\w+) = (\d+)`).FindAllStringSubmatch(string(data), -1) {
		name := m[1] + "." + m[2]
		f, ok := l.fields[name]
		if !ok {
			// KERNEL_known and the kinds of activity are no fields.
			if m[2] != "known" && strings.ToUpper(m[2]) != m[2] {
				t.Errorf("%s is not in the table", name)
			}
			continue
		}
		checked++
		if f.offset != atoi(t, m[3]) {
			t.Errorf("%s: offset %s, want %d", name, m[3], f.offset)
		}
	}
	if checked < 120 {
		t.Errorf("only %d offsets were checked", checked)
	}
}

// Every version writes what it should, by the table of its header.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		name   string
		cupti  CUPTI
		table  string
		env    []string
		kernel int // bytes, when it is not the table's
	}{
		{"13.0", CUPTI13, "130001", nil, 216},
		{"12.8", CUPTI12, "26", nil, 208},
		{"13.4", CUPTI13, "130001", []string{"FAKECUPTI_VERSION=130400"}, 240},
		{"unknown", CUPTI13, "130001", []string{"FAKECUPTI_VERSION=130500"}, 264},
		{"wrong stride", CUPTI13, "26", []string{"FAKECUPTI_LAYOUT=26"}, 208},
		{"override", CUPTI13, "130001", []string{"FAKECUPTI_SIZES=10=232,39=40"}, 232},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := runWorkload(t, spec{cupti: c.cupti, env: c.env, args: []string{"--kernels", "18"}})
			if res.exit != 0 {
				t.Fatalf("exit %d: %s", res.exit, res.stderr)
			}
			more := map[uint32]int{kernelKind: c.kernel}
			if c.name == "override" {
				more[externalKind] = 40
			}
			rs := res.records(t, readLayout(t, c.table), more)
			if got, want := len(ofKind(rs, kernelKind)), res.counts["launches"]+res.counts["graph_kernels"]; got != want {
				t.Errorf("%d kernels, want %d", got, want)
			}
			checkStreams(t, rs)
			events := len(ofKind(rs, eventKind))
			if c.name == "12.8" && events == 0 {
				t.Error("12.8 gives event records with synchronisation")
			}
			if c.name == "13.0" && events != 0 {
				t.Errorf("%d event records that nobody asked for", events)
			}
		})
	}
}
