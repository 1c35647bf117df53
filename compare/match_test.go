package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// program writes the document of a run. A line of its text is an operator, or work of
// the one above that is less indented: "kernel: name ns", "copy: name ns",
// "replay: name ns" for a kernel that a graph launch started, "orphan: name ns" for
// one without call. "note: name" is an annotation, "step: N" a step, "module: name" a
// module.
func program(t testing.TB, text string) Input {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"traceEvents":[`)
	ts, id, device := int64(1_000_000), 0, int64(1_000_000)
	type open struct {
		depth int
		ts    int64
		cat   string
		name  string
		id    int
	}
	var stack []open
	event := func(cat, name string, pid, tid int, ts, dur int64, args string) {
		if b.Len() > 20 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%d.%03d,"dur":%d.%03d,"args":{%s}}`,
			cat, name, pid, tid, ts/1000, ts%1000, dur/1000, dur%1000, args)
	}
	closeTo := func(depth int) {
		for len(stack) > 0 && stack[len(stack)-1].depth >= depth {
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			ts += 100
			event(o.cat, o.name, 1, 1, o.ts, ts-o.ts, fmt.Sprintf(`"External id":%d`, o.id))
		}
	}
	for l := range strings.Lines(text) {
		name := strings.TrimSpace(l)
		if name == "" {
			continue
		}
		depth := len(l) - len(strings.TrimLeft(l, "\t"))
		closeTo(depth)
		ts += 100
		kind, rest, ok := strings.Cut(name, ": ")
		var ns int64
		var kernel string
		if ok {
			if f := strings.LastIndexByte(rest, ' '); f > 0 {
				kernel = rest[:f]
				fmt.Sscan(rest[f+1:], &ns)
			}
		}
		id++
		switch kind {
		case "kernel", "copy", "replay", "orphan":
			device = max(device, ts) + 10
			args := fmt.Sprintf(`"correlation":%d,"device":0,"stream":7`, id)
			if len(stack) > 0 && stack[len(stack)-1].cat == "cpu_op" && kind != "orphan" {
				args = fmt.Sprintf(`"External id":%d,`, stack[len(stack)-1].id) + args
			}
			if kind != "orphan" {
				event("cuda_runtime", map[bool]string{true: "cudaGraphLaunch", false: "cudaLaunchKernel"}[kind == "replay"], 1, 1, ts, 50, fmt.Sprintf(`"correlation":%d`, id))
			}
			event(map[bool]string{true: "gpu_memcpy", false: "kernel"}[kind == "copy"], kernel, 0, 7, device, ns, args)
			device += ns
			continue
		}
		o := open{depth, ts, "cpu_op", name, id}
		switch kind {
		case "note":
			o.cat, o.name = "user_annotation", rest
		case "step":
			o.cat, o.name = "user_annotation", "ProfilerStep#"+rest
		case "module":
			o.cat, o.name = "python_function", "nn.Module: "+rest
		}
		stack = append(stack, o)
	}
	closeTo(0)
	b.WriteString("]}")
	d, err := chrome.Read(strings.NewReader(b.String()), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: "run", Producer: d.Producer, Trace: d.Trace}
}

func trees(in ...Input) (out []*calltree.Tree) {
	for _, i := range in {
		out = append(out, calltree.New(i.Trace))
	}
	return out
}

func groupLines(m *Matching) string {
	var lines []string
	for i := range m.Groups {
		g := &m.Groups[i]
		name := m.Paths.String(g.Path)
		if g.Path == calltree.Top {
			name = "[" + g.Kernel + "]"
		}
		lines = append(lines, fmt.Sprintf("%s: %s %d|%d", g.Level, name, g.Sums[Base].DeviceNS, g.Sums[New].DeviceNS))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ name, base, now, want string }{
		{"the same", "a\n\tb\n\t\tkernel: k 10\nc\n\tkernel: k 5", "a\n\tb\n\t\tkernel: other 20\nc\n\tkernel: k 6",
			"path: a > b 10|20\npath: c 5|6"},
		{"leaves that differ meet at their operator",
			"aten::conv2d\n\taten::convolution\n\t\taten::cudnn_convolution\n\t\t\tkernel: cudnn_fprop 10",
			"aten::conv2d\n\taten::convolution\n\t\taten::miopen_convolution\n\t\t\tkernel: igemm_fwd 30",
			"ancestor: aten::conv2d > aten::convolution 10|30"},
		{"at the lowest one", "a\n\tb\n\t\tx\n\t\t\tkernel: k 1\n\tc\n\t\tkernel: k 2", "a\n\tb\n\t\ty\n\t\t\tkernel: k 3\n\tc\n\t\tkernel: k 4",
			"ancestor: a > b 1|3\npath: a > c 2|4"},
		{"an operator that one side does itself", "a\n\tkernel: k 1", "a\n\tb\n\t\tkernel: k 2", "ancestor: a 1|2"},
		{"more on one side is of that side", "a\n\tkernel: k 1", "a\n\tkernel: k 2\n\tb\n\t\tkernel: k 7", "one side only: a > b 0|7\npath: a 1|2"},
		{"no meeting at the top", "a\n\tkernel: gemm 1", "b\n\tkernel: gemm 2", "one side only: a 1|0\none side only: b 0|2"},
		{"nor at an annotation", "note: part\n\ta\n\t\tkernel: gemm 1", "note: part\n\tb\n\t\tkernel: gemm 2", "one side only: part > a 1|0\none side only: part > b 0|2"},
		{"a wrapper of a newer version", "aten::mm\n\tkernel: k 1", "aten::linear\n\taten::matmul\n\t\taten::mm\n\t\t\tkernel: k 2", "operator: aten::mm 1|2"},
		{"renamed operators", "f\n\taten::_scaled_dot_product_flash_attention\n\t\tkernel: k 1", "f\n\taten::_scaled_dot_product_efficient_attention\n\t\tkernel: k 2",
			"path: f > aten::_scaled_dot_product_attention 1|2"},
		{"annotations with numbers of their own", "note: ## Call CompiledFxGraph fabc ##\n\ttriton_poi_fused_add_0\n\t\tkernel: triton_poi_fused_add_0 1",
			"note: ## Call CompiledFxGraph fxyz ##\n\ttriton_poi_fused_add_3\n\t\tkernel: triton_poi_fused_add_3 2", "path: ## Call CompiledFxGraph > triton_poi_fused_add 1|2"},
		{"steps do not matter", "step: 3\n\ta\n\t\tkernel: k 1", "step: 8\n\ta\n\t\tkernel: k 2", "path: a 1|2"},
		{"no operators", "orphan: k 1\norphan: nccl_x 2\norphan: strange 3", "orphan: k 4\norphan: ncclDevKernel 5\norphan: odd_one 6", "class: [collective] 2|5\nclass: [other] 3|6\nkernel: [k] 1|4"},
		{"a class of one side only", "orphan: k 1\norphan: flash_fwd 2", "orphan: k 4", "kernel: [k] 1|4\none side only: [attention] 2|0"},
		{"a graph's replay against eager", "aten::mm\n\tkernel: ampere_sgemm 1\naten::relu\n\tkernel: elementwise_relu 2\naten::foo\n\tkernel: fft 9",
			"replay: ampere_sgemm 3\nreplay: vectorized_elementwise_relu 4", "class: [elementwise] 2|4\nkernel: [ampere_sgemm] 1|3\none side only: aten::foo 9|0"},
		{"a graph launched inside of an operator", "m\n\taten::mm\n\t\tkernel: gemm_a 1", "launch\n\treplay: gemm_b 3", "class: [gemm] 1|3"},
		{"compiled against eager", "aten::mm\n\tkernel: sgemm 1\naten::add\n\tkernel: elementwise 2\naten::layer_norm\n\tkernel: layer_norm_kernel 3",
			"Torch-Compiled Region: 0/0\n\taten::addmm\n\t\tkernel: nvjet_x 4\n\ttriton_red_fused_0\n\t\tkernel: triton_red_fused_0 5",
			"class: [gemm] 1|4\nfamily: [memory-bound] 5|5"},
		{"eager work does not meet by its kernels", "a\n\tkernel: gemm 1\norphan: gemm 2", "b\n\tkernel: gemm 3\norphan: gemm 4", "kernel: [gemm] 2|4\none side only: a 1|0\none side only: b 0|3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := Match(trees(program(t, c.base)), trees(program(t, c.now)), DefaultRules())
			conserves(t, m)
			if got := groupLines(m); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			for w := range m.runs[Base][0].tree.Works() {
				if g := m.Of(Base, 0, w); g < 0 || g >= len(m.Groups) {
					t.Errorf("work %d is in group %d", w, g)
				}
			}
		})
	}
}

// TestMatchItself: a trace against itself, and against several runs of itself, is
// matched by call path and kernels, and nothing is left.
func TestMatchItself(t *testing.T) {
	p := program(t, "step: 1\n\ta\n\t\tb\n\t\t\tkernel: k 10\n\t\tcopy: Memcpy HtoD 5\norphan: k 7\nreplay: g 3")
	m := Match(trees(p), trees(p, p), DefaultRules())
	conserves(t, m)
	for i := range m.Groups {
		g := &m.Groups[i]
		if g.Level != ByPath && g.Level != ByKernel || g.Sums[New].DeviceNS != 2*g.Sums[Base].DeviceNS {
			t.Errorf("group %s %s: %v", g.Level, m.Name(g), g.Sums)
		}
	}
}

// randomProgram has operators of few names, so that all levels occur.
func randomProgram(r *rand.Rand) string {
	var b strings.Builder
	depth := 0
	for range 60 {
		depth = min(depth, r.IntN(5))
		tabs := strings.Repeat("\t", depth)
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "%snote: n%d\n", tabs, r.IntN(3))
			depth++
		case 1, 2, 3:
			fmt.Fprintf(&b, "%s%s\n", tabs, []string{"a", "b", "c", "triton_poi_x_0", "aten::mm"}[r.IntN(5)])
			depth++
		default:
			fmt.Fprintf(&b, "%s%s: %s %d\n", tabs, []string{"kernel", "copy", "replay", "orphan"}[r.IntN(4)],
				[]string{"gemm", "softmax", "triton_red", "nccl", "strange"}[r.IntN(5)], r.IntN(1000))
		}
	}
	return b.String()
}

func TestMatchRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		base, now := program(t, randomProgram(r)), program(t, randomProgram(r))
		m := Match(trees(base), trees(now, base), DefaultRules())
		conserves(t, m)
		rep := Run([]Input{base}, []Input{now, base}, Options{})
		checkTables(t, rep, [2][]Input{{base}, {now, base}})
	}
}

// checkTables: the rows of each table add up to the device time of each run.
func checkTables(t *testing.T, r *Report, in [2][]Input) {
	t.Helper()
	for side, runs := range in {
		for n, run := range runs {
			var want, works int64
			for i := range uint32(run.Trace.Events.Len()) {
				if e := run.Trace.Events.At(i); e.Kind.OnDevice() && e.Flags&timeline.Instant == 0 {
					want += e.Duration()
					works++
				}
			}
			for _, table := range r.Tables {
				var got, count int64
				for _, row := range table.Rows {
					m := row.of(Side(side))[n]
					got += m.DeviceNS
					count += m.Works
					if m.OverlapNS < 0 || m.OverlapNS > m.DeviceNS || m.IdleNS < 0 || m.DelayNS < 0 {
						t.Errorf("%s %q: %+v", table.By, row.Name, m)
					}
				}
				if got != want || count != works {
					t.Errorf("%s, run %d, by %s: %d ns of %d, %d spans of %d", Side(side), n, table.By, got, want, count, works)
				}
			}
		}
	}
}
