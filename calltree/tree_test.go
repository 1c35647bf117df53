package calltree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// check holds a tree against what its documentation says.
func check(t *testing.T, name string, x *Tree) {
	t.Helper()
	var owned, spent int64
	for n := range x.Nodes() {
		e := x.At(n)
		if x.Of(x.Event(n)) != n {
			t.Fatalf("%s: node %d is not that of its event", name, n)
		}
		if x.End(n) <= n || int(x.End(n)) > x.Len() {
			t.Fatalf("%s: node %d ends at %d of %d", name, n, x.End(n), x.Len())
		}
		if p := x.Parent(n); p != None {
			q := x.At(p)
			middle := e.Start + e.Duration()/2
			if p >= n || x.End(p) < x.End(n) || q.Start > middle || q.End <= middle {
				t.Fatalf("%s: node %d (%s) does not lie in its parent %d (%s)", name, n, x.Name(n), p, x.Name(p))
			}
		}
		for c := range NumClasses {
			want := n
			for want != None && x.Class(want) != c {
				want = x.Parent(want)
			}
			if got := x.Enclosing(n, c); got != want {
				t.Fatalf("%s: the %s around %d is %d, not %d", name, c, n, got, want)
			}
			if x.Len() > 5000 {
				break // it climbs to the top
			}
		}
		if s := x.SelfTime(n); s < 0 || s > e.Duration() {
			t.Fatalf("%s: self time of %d is %d of %d", name, n, s, e.Duration())
		}
		device := x.SelfDevice(n)
		for c := range x.Children(n) {
			if x.Parent(c) != n {
				t.Fatalf("%s: %d is not the parent of %d", name, n, c)
			}
			device += x.Device(c)
		}
		if device != x.Device(n) {
			t.Fatalf("%s: device time of %d is %d, not %d", name, n, x.Device(n), device)
		}
		owned += x.SelfDevice(n)
		own := int64(0)
		for w := range x.WorksOf(n) {
			own += x.WorkAt(w).Duration()
		}
		if own != x.SelfDevice(n) {
			t.Fatalf("%s: the works of %d add up to %d, not %d", name, n, own, x.SelfDevice(n))
		}
	}
	var all, loose int64
	for w := range x.Works() {
		all += x.WorkAt(w).Duration()
		if (x.Operator(w) == None) != (x.Why(w) != "") {
			t.Fatalf("%s: work %d has operator %d and reason %q", name, w, x.Operator(w), x.Why(w))
		}
		x.Module(w)
		x.Step(w)
	}
	for w := range x.WorksOf(None) {
		loose += x.WorkAt(w).Duration()
	}
	if owned+loose != all {
		t.Errorf("%s: %d ns of operators and %d ns of none are not %d ns", name, owned, loose, all)
	}
	for i := range uint32(x.Trace().Events.Len()) {
		if e := x.Trace().Events.At(i); e.Kind.OnDevice() && e.Flags&timeline.Instant == 0 {
			spent += e.Duration()
			if w := x.WorkOf(i); w == NoWork || x.WorkEvent(w) != i {
				t.Fatalf("%s: event %d has work %d", name, i, w)
			}
		}
	}
	if spent != all {
		t.Errorf("%s: %d ns of device work, %d ns of it in the tree", name, spent, all)
	}
}

func read(t testing.TB, events string) *timeline.Trace {
	t.Helper()
	d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+events+`]}`), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Trace
}

// span is an event of a document; times are microseconds.
func span(cat, name string, pid, tid int, ts, dur float64, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%v,"dur":%v,"args":{%s}}`, cat, name, pid, tid, ts, dur, args)
}

func arrow(ph, name string, id, pid, tid int, ts float64) string {
	return fmt.Sprintf(`{"ph":%q,"id":%d,"pid":%d,"tid":%d,"ts":%v,"cat":%q,"name":%q,"bp":"e"}`, ph, id, pid, tid, ts, name, name)
}

// shape prints the forest: names, children in brackets.
func shape(x *Tree) string {
	var b strings.Builder
	for row, nodes := range x.Threads() {
		fmt.Fprintf(&b, "%d:", x.t.Rows[row].TID)
		var walk func(n Node)
		walk = func(n Node) {
			b.WriteString(" " + x.Name(n))
			if x.End(n) > n+1 {
				b.WriteString("(")
				for c := range x.Children(n) {
					walk(c)
				}
				b.WriteString(" )")
			}
		}
		for n := nodes[0]; n < nodes[1]; n = x.End(n) {
			walk(n)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestNesting(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		want   string
	}{
		{"plain", []string{
			span("cpu_op", "a", 1, 1, 0, 10, ""), span("cpu_op", "b", 1, 1, 1, 3, ""), span("cuda_runtime", "c", 1, 1, 2, 1, ""), span("cpu_op", "d", 1, 1, 5, 4, ""), span("cpu_op", "e", 1, 1, 11, 1, "")}, "1: a( b( c ) d ) e"},
		{"order of the document does not matter", []string{
			span("cuda_runtime", "c", 1, 1, 2, 1, ""), span("cpu_op", "b", 1, 1, 1, 3, ""), span("cpu_op", "a", 1, 1, 0, 10, "")}, "1: a( b( c ) )"},
		{"threads are apart", []string{span("cpu_op", "a", 1, 1, 0, 10, ""), span("cpu_op", "b", 1, 2, 1, 3, "")}, "1: a\n2: b"},
		{"a child that ends a little later", []string{span("cpu_op", "a", 1, 1, 0, 10, ""), span("cpu_op", "b", 1, 1, 4, 7, "")}, "1: a( b )"},
		{"one that mostly lies behind", []string{span("cpu_op", "a", 1, 1, 0, 10, ""), span("cpu_op", "b", 1, 1, 9, 7, "")}, "1: a b"},
		{"touching spans", []string{span("cpu_op", "a", 1, 1, 0, 10, ""), span("cpu_op", "b", 1, 1, 10, 7, "")}, "1: a b"},
		{"the operator is around the call of equal times", []string{span("cuda_runtime", "c", 1, 1, 0, 10, ""), span("cpu_op", "a", 1, 1, 0, 10, "")}, "1: a( c )"},
		{"no length", []string{span("cpu_op", "a", 1, 1, 0, 10, ""), span("cpu_op", "b", 1, 1, 0, 0, ""), span("cpu_op", "c", 1, 1, 10, 0, "")}, "1: a( b ) c"},
		{"neither instants nor spans of the profiler", []string{
			span("cpu_op", "a", 1, 1, 0, 10, ""), span("Trace", "T", 1, 1, 0, 20, ""), `{"ph":"i","cat":"cpu_instant_event","name":"m","pid":1,"tid":1,"ts":3,"s":"t"}`}, "1: a"},
		{"Python functions of a row of their own", []string{
			span("python_function", "f", 0, 0, 0, 20, ""), span("python_function", "nn.Module: L_0", 0, 0, 1, 9, ""), span("cpu_op", "a", 7, 7, 2, 4, "")}, "7: f( nn.Module: L_0( a ) )"},
		{"and such that do not fit", []string{
			span("python_function", "f", 0, 0, 0, 20, ""), span("cpu_op", "a", 7, 7, 30, 4, "")}, "0: f\n7: a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := New(read(t, strings.Join(c.events, ",")))
			check(t, c.name, x)
			if got := shape(x); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestSelfTime(t *testing.T) {
	x := New(read(t, strings.Join([]string{
		span("cpu_op", "a", 1, 1, 0, 10, ""), span("cpu_op", "b", 1, 1, 1, 3, ""), span("cpu_op", "c", 1, 1, 3.5, 2, ""), span("cpu_op", "d", 1, 1, 8, 3, "")}, ",")))
	// b and c overlap, and d ends behind a: 1..5.5 and 8..10 are covered.
	if got := x.SelfTime(0); got != 3500 {
		t.Errorf("self time %d ns", got)
	}
}

func TestLinks(t *testing.T) {
	kernel := func(ts float64, args string) string { return span("kernel", "k", 0, 7, ts, 2, args) }
	for _, c := range []struct {
		name     string
		events   []string
		operator string
		call     string
		why      string
	}{
		{"by External id", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`), span("cpu_op", "b", 1, 1, 1, 5, `"External id":6`),
			span("cuda_runtime", "l", 1, 1, 2, 1, `"External id":5,"correlation":9`), kernel(20, `"External id":5,"correlation":9`)}, "a", "l", ""},
		{"by time", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`), span("cpu_op", "b", 1, 1, 1, 5, ``),
			span("cuda_runtime", "l", 1, 1, 2, 1, `"correlation":9`), kernel(20, `"correlation":9`)}, "b", "l", ""},
		{"an id without operator goes by time", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`),
			span("cuda_runtime", "l", 1, 1, 2, 1, `"correlation":9`), kernel(20, `"External id":77,"correlation":9`)}, "a", "l", ""},
		{"the correlation id as External id", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`), span("cpu_op", "b", 1, 1, 11, 5, `"External id":9`),
			span("cuda_runtime", "l", 1, 1, 2, 1, `"External id":9,"correlation":9`), kernel(20, `"External id":9,"correlation":9`)}, "a", "l", ""},
		{"that happens to be right", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":9`), span("cpu_op", "b", 1, 1, 1, 8, ``),
			span("cuda_runtime", "l", 1, 1, 2, 1, `"External id":9,"correlation":9`), kernel(20, `"External id":9,"correlation":9`)}, "a", "l", ""},
		{"id 0 is an id", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":0`), kernel(20, `"External id":0,"correlation":9`)}, "a", "", ""},
		{"one id in two sessions", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`), span("cpu_op", "b", 1, 1, 100, 10, `"External id":5`),
			span("cuda_runtime", "l", 1, 1, 102, 1, `"External id":5,"correlation":9`), kernel(120, `"External id":5,"correlation":9`)}, "b", "l", ""},
		{"one id in two processes", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`), span("cpu_op", "b", 2, 2, 0, 10, `"External id":5`),
			span("cuda_runtime", "l", 2, 2, 2, 1, `"External id":5,"correlation":9`), kernel(20, `"External id":5,"correlation":9`)}, "b", "l", ""},
		{"the outer call", []string{
			span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`), span("cuda_driver", "inner", 1, 1, 3, 1, `"correlation":9`),
			span("cuda_runtime", "outer", 1, 1, 2, 3, `"correlation":9`), kernel(20, `"correlation":9`)}, "a", "outer", ""},
		{"the latest call before", []string{
			span("cuda_runtime", "x", 1, 1, 1, 1, `"correlation":9`), span("cuda_runtime", "y", 1, 2, 12, 1, `"correlation":9`),
			span("cuda_runtime", "z", 1, 1, 30, 1, `"correlation":9`), kernel(20, `"correlation":9`)}, "", "y", timeline.UnlinkedNoHost},
		{"outside of operators", []string{
			span("cpu_op", "a", 1, 1, 0, 10, ``), span("cpu_op", "b", 1, 1, 30, 10, ``),
			span("cuda_runtime", "l", 1, 1, 12, 1, `"correlation":9`), kernel(20, `"correlation":9`)}, "", "l", timeline.UnlinkedNoOperator},
		{"before them", []string{
			span("cpu_op", "a", 1, 1, 10, 10, ``), span("cuda_runtime", "l", 1, 1, 2, 1, `"correlation":9`), kernel(20, `"correlation":9`)}, "", "l", timeline.UnlinkedBeforeHost},
		{"behind them", []string{
			span("cpu_op", "a", 1, 1, 10, 10, ``), span("cuda_runtime", "l", 1, 1, 22, 1, `"correlation":9`), kernel(40, `"correlation":9`)}, "", "l", timeline.UnlinkedAfterHost},
		{"a thread without operators", []string{
			span("cpu_op", "a", 1, 1, 0, 30, ``), span("cuda_runtime", "l", 1, 2, 12, 1, `"correlation":9`), kernel(20, `"correlation":9`)}, "", "l", timeline.UnlinkedOtherThread},
		{"no call", []string{
			span("cpu_op", "a", 1, 1, 0, 30, ``), kernel(20, `"correlation":9`)}, "", "", timeline.UnlinkedNoCall},
		{"an arrow from the operator", []string{
			span("cpu_op", "a", 1, 1, 0, 10, ``), span("cpu_op", "b", 1, 1, 2, 4, ``), arrow("s", "async_npu", 3, 1, 1, 2),
			kernel(20, ``), arrow("f", "async_npu", 3, 0, 7, 20)}, "b", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := New(read(t, strings.Join(c.events, ",")))
			check(t, c.name, x)
			name := func(n Node) string {
				if n == None {
					return ""
				}
				return x.Name(n)
			}
			if op, call, why := name(x.Operator(0)), name(x.Call(0)), x.Why(0); op != c.operator || call != c.call || why != c.why {
				t.Errorf("operator %q, call %q, reason %q; want %q, %q, %q", op, call, why, c.operator, c.call, c.why)
			}
		})
	}
}

func TestAncestors(t *testing.T) {
	x := New(read(t, strings.Join([]string{
		span("user_annotation", "ProfilerStep#3", 1, 1, 0, 100, `"External id":1`),
		span("python_function", "nn.Module: Net_0", 1, 1, 1, 30, ""),
		span("user_annotation", "part", 1, 1, 2, 20, `"External id":2`),
		span("cpu_op", "forward", 1, 1, 3, 5, `"External id":3`),
		span("cuda_runtime", "l", 1, 1, 4, 1, `"External id":3,"correlation":8`),
		span("cpu_op", "backward", 1, 2, 50, 9, `"External id":4`),
		span("cpu_op", "inner", 1, 2, 51, 5, `"External id":5`),
		span("cuda_runtime", "l", 1, 2, 52, 1, `"External id":5,"correlation":9`),
		arrow("s", "fwdbwd", 1, 1, 1, 3), arrow("f", "fwdbwd", 1, 1, 2, 50),
		span("kernel", "k", 0, 7, 10, 2, `"External id":3,"correlation":8`),
		span("kernel", "k2", 0, 7, 60, 3, `"External id":5,"correlation":9`),
	}, ",")))
	check(t, "ancestors", x)
	name := func(n Node) string {
		if n == None {
			return "-"
		}
		return x.Name(n)
	}
	var got []string
	for w := range x.Works() {
		got = append(got, strings.Join([]string{name(x.Step(w)), name(x.Annotation(w)), name(x.Module(w)), name(x.Operator(w))}, "/"))
	}
	want := []string{"ProfilerStep#3/part/nn.Module: Net_0/forward", "ProfilerStep#3/-/nn.Module: Net_0/inner"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if x.Device(x.Enclosing(x.Context(0), Step)) != 2000 {
		t.Error("the step's device time is not that of its own thread")
	}

	p := NewPaths(func(c Class, name string) string {
		if c == Operator || c == Step {
			return strings.TrimRight(name, "0123456789")
		}
		return ""
	})
	of := p.Add(x)
	again := p.Add(New(x.Trace()))
	if !slices.Equal(of, again) {
		t.Error("equal trees have different paths")
	}
	if s := p.String(of[x.Operator(0)]); s != "ProfilerStep# > forward" {
		t.Errorf("path %q", s)
	}
	if of[x.Call(1)] != of[x.Operator(1)] || p.Class(of[x.Call(1)]) != Operator {
		t.Error("what has no label does not stand for what is around it")
	}
}

// TestDeepPaths: a path has an end, and what is below it stands in one place.
func TestDeepPaths(t *testing.T) {
	const depth = 600
	var events []string
	for i := range depth {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"f%d","pid":1,"tid":1,"ts":%d,"dur":%d}`, i, i, 2*depth-2*i))
	}
	d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := NewPaths(func(_ Class, name string) string { return name })
	of := p.Add(New(d.Trace))
	if labels := p.Labels(of[511]); len(labels) != 512 || labels[511] != "f511" {
		t.Errorf("%d labels, the last is %q", len(labels), labels[len(labels)-1])
	}
	for _, n := range []int{512, 513, depth - 1} {
		if labels := p.Labels(of[n]); len(labels) != 513 || labels[512] != "(deeper)" {
			t.Errorf("node %d: %d labels, the last is %q", n, len(labels), labels[len(labels)-1])
		}
	}
}

// TestRandom nests spans that have nothing to do with one another.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var events []string
		for range 200 {
			cat := []string{"cpu_op", "cuda_runtime", "python_function", "kernel", "user_annotation"}[r.IntN(5)]
			args := fmt.Sprintf(`"External id":%d,"correlation":%d`, r.IntN(20), r.IntN(20))
			events = append(events, span(cat, fmt.Sprint("n", r.IntN(5)), r.IntN(2), r.IntN(2), float64(r.IntN(100)), float64(r.IntN(40)), args))
		}
		check(t, "random", New(read(t, strings.Join(events, ","))))
	}
}

// TestRecorded builds the tree of a trace that was not read from a document.
func TestRecorded(t *testing.T) {
	x := New(large(5000))
	check(t, "recorded", x)
	for w := range x.Works() {
		n := x.Operator(w)
		if n == None || x.Parent(x.Call(w)) != n || x.End(n) != n+2 || x.At(n).External != x.WorkAt(w).External {
			t.Fatalf("work %d belongs to node %d, and its call to %d", w, n, x.Call(w))
		}
	}
}

// TestEqualSpans: of operators of one start and one length the one that began first
// is outside, in whatever order they stand.
func TestEqualSpans(t *testing.T) {
	ops := []string{
		span("cpu_op", "outer", 1, 1, 5, 10, `"External id":7`),
		span("cpu_op", "middle", 1, 1, 5, 10, `"External id":8`),
		span("cpu_op", "inner", 1, 1, 5, 10, `"External id":9`),
		span("cuda_runtime", "cudaLaunchKernel", 1, 1, 5, 10, `"correlation":3`),
		span("cuda_driver", "cuLaunchKernel", 1, 1, 5, 10, `"correlation":3`),
	}
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 4, 0, 1, 3}} {
		var texts []string
		for _, i := range order {
			texts = append(texts, ops[i])
		}
		d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.Join(texts, ",")+`]}`), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		x := New(d.Trace)
		var names []string
		for n := range x.Nodes() {
			names = append(names, x.Name(n))
			if x.Parent(n) != n-1 {
				t.Errorf("%v: the parent of %s is %d", order, x.Name(n), x.Parent(n))
			}
		}
		if got := strings.Join(names, " "); got != "outer middle inner cudaLaunchKernel cuLaunchKernel" {
			t.Errorf("%v: %s", order, got)
		}
	}
}

// TestSortSpans holds the sort against the plain one, for spans in pieces that are in
// order, in none, and all alike.
func TestSortSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, pieces := range []int{1, 2, 3, 7, 50, 1000, 5000} {
		for _, moments := range []int{1, 100, 100_000} {
			tr := &timeline.Trace{}
			list := make([]uint32, 5000)
			for i := range list {
				start := int64(i%(5000/pieces+1)) * int64(moments) / 5000
				if pieces == 5000 {
					start = r.Int64N(int64(moments))
				}
				list[i] = tr.Events.Add(timeline.Event{Start: start, End: start + r.Int64N(3), Flags: timeline.HasExternal, External: r.Int64N(4)})
			}
			s := sorter{x: &Tree{t: tr}, class: make([]Class, len(list))}
			want := slices.Clone(list)
			slices.SortFunc(want, s.compare)
			if s.sort(list); !slices.Equal(list, want) {
				t.Errorf("%d pieces, %d moments: not in order", pieces, moments)
			}
		}
	}
}
