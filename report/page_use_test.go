package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// column reads the values of a column that is shown.
func (b *browser) column(table, key string) (values []string) {
	b.eval(fmt.Sprintf(`(() => { const t = document.querySelector('table[data-table=%q]'), i = [...t.querySelectorAll('thead button')].findIndex(b => b.dataset.sort === %q);
		return [...t.tBodies[0].rows].map(r => r.cells[i].dataset.value ?? r.cells[i].title); })()`, table, key), &values)
	return values
}

func numbers(t *testing.T, texts []string) (out []float64) {
	t.Helper()
	for _, s := range texts {
		var v float64
		if _, err := fmt.Sscan(s, &v); err != nil {
			t.Fatalf("%q is no number", s)
		}
		out = append(out, v)
	}
	return out
}

func testSorting(t *testing.T, b *browser) {
	b.t = t
	at, _ := page(t, Options{NoFindings: true}, pairs+"train.kineto.json.gz")
	b.open(at)
	press := func(key string) {
		b.eval(fmt.Sprintf(`document.querySelector('table[data-table="operators"] [data-sort=%q]').click()`, key), nil)
	}
	descending := func(v []float64) bool {
		return slices.IsSortedFunc(v, func(a, b float64) int { return int(b - a) })
	}
	press("calls")
	down := numbers(t, b.column("operators", "calls"))
	if len(down) < 20 || !descending(down) || down[0] == down[len(down)-1] {
		t.Errorf("calls, the largest first: %v", down)
	}
	press("calls")
	up := numbers(t, b.column("operators", "calls"))
	if !slices.IsSorted(up) || up[0] > down[len(down)-1] {
		t.Errorf("calls, the smallest first: %v", up)
	}
	press("calls") // as they were
	if first := numbers(t, b.column("operators", "device_ns")); !descending(first) {
		t.Errorf("device time at first: %v", first)
	}
	press("name")
	if names := b.column("operators", "name"); !slices.IsSortedFunc(names[:10], func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		t.Errorf("names: %q", names)
	}
	filter := func(text string) []string {
		b.eval(fmt.Sprintf(`(() => { const i = document.querySelector('[data-filter="operators"]'); i.value = %q; i.dispatchEvent(new Event("input")); })()`, text), nil)
		return b.column("operators", "name")
	}
	for _, c := range []struct {
		filter string
		match  func(string) bool
	}{
		{"SOFTMAX", func(s string) bool { return strings.Contains(strings.ToLower(s), "softmax") }},
		{"/^aten::(mm|addmm)$/", func(s string) bool { return s == "aten::mm" || s == "aten::addmm" }},
	} {
		names := filter(c.filter)
		if len(names) == 0 || slices.ContainsFunc(names, func(s string) bool { return !c.match(s) }) {
			t.Errorf("filter %s leaves %q", c.filter, names)
		}
		sum := 0.0
		for _, v := range numbers(t, b.column("operators", "device_ns")) {
			sum += v
		}
		var got string
		b.eval(`document.querySelector('table[data-table="operators"] [data-sum="device_ns"]').dataset.value`, &got)
		if got != fmt.Sprintf("%.0f", sum) {
			t.Errorf("filter %s: the sum is %s, not %.0f", c.filter, got, sum)
		}
	}
	if names := filter("/(/"); len(names) != 0 {
		t.Errorf("a broken expression leaves %q", names)
	}
	b.quiet(t, at)
}

func (b *browser) view(t *testing.T) (from, to float64) {
	t.Helper()
	var v []string
	b.eval(`(() => { const d = document.querySelector('[data-timeline="0"]').dataset; return [d.from, d.to]; })()`, &v)
	n := numbers(t, v)
	return n[0], n[1]
}

func testZooming(t *testing.T, b *browser) {
	b.t = t
	at, r := page(t, Options{NoFindings: true}, pairs+"streams.kineto.json.gz")
	b.open(at)
	from, to := b.view(t)
	if from != 0 || to != float64(r.Sides[0].SpanNS) {
		t.Errorf("at first %v to %v are shown, not 0 to %d", from, to, r.Sides[0].SpanNS)
	}
	c := b.box(`[data-timeline="0"]`)
	const gutter = 170
	// A quarter of the width, from a quarter on.
	left, width := c.X+gutter, c.Width-gutter
	y := c.Y + c.Height/2
	b.mouse("mousePressed", left+width/4, y)
	b.mouse("mouseMoved", left+width/3, y)
	b.mouse("mouseMoved", left+width/2, y)
	b.mouse("mouseReleased", left+width/2, y)
	f, u := b.view(t)
	if slack := to / 50; f < to/4-slack || f > to/4+slack || u < to/2-slack || u > to/2+slack {
		t.Errorf("dragged from a quarter to a half of %v: %v to %v", to, f, u)
	}
	b.eval(`document.querySelector('[data-timeline="0"]').focus()`, nil)
	b.key("w")
	f2, u2 := b.view(t)
	if !(u2-f2 < u-f) {
		t.Errorf("w: %v to %v", f2, u2)
	}
	b.key("d")
	if f3, u3 := b.view(t); !(f3 > f2 && u3 > u2) {
		t.Errorf("d: %v to %v", f3, u3)
	}
	b.key("0")
	if f, u := b.view(t); f != 0 || u != to {
		t.Errorf("0: %v to %v", f, u)
	}
	b.key("ArrowRight")
	b.key("Enter")
	var detail string
	b.eval(`document.querySelector('#timeline .detail').textContent`, &detail)
	if f, u := b.view(t); u-f >= to/2 || !strings.Contains(detail, "stream") {
		t.Errorf("the first span: %v to %v, %q", f, u, detail)
	}
	// A gap shows where it is.
	b.eval(`document.querySelector('[data-tab="gaps"]').click()`, nil)
	b.eval(`document.querySelector('table[data-table="gaps"] tbody tr').click()`, nil)
	gaps := r.Sides[0].Tables[slices.IndexFunc(r.Sides[0].Tables, func(t Table) bool { return t.Name == "gaps" })]
	row := gaps.Rows[0]
	start := row[slices.IndexFunc(gaps.Columns, func(c Column) bool { return c.Key == "at_ns" })].(int64)
	if f, u := b.view(t); float64(start) < f || float64(start) > u || u-f >= to {
		t.Errorf("the gap at %d: %v to %v", start, f, u)
	}
	// Charts are there, and follow.
	b.eval(`document.querySelector('#time').scrollIntoView()`, nil)
	b.wait(`document.querySelectorAll('#time .uplot canvas').length >= 2`)
	// What is drawn changes with the theme.
	const drawn = `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(["#timeline canvas", "#flame canvas", "#time .uplot canvas"].map(s => document.querySelector(s).toDataURL())))))`
	pictures := map[string][]string{}
	for range 3 {
		var theme string
		b.eval(`document.querySelector("#theme").click(); document.documentElement.dataset.theme`, &theme)
		var pictured []string
		b.eval(drawn, &pictured)
		pictures[theme] = pictured
	}
	for i := range 3 {
		if light, dark := pictures["light"], pictures["dark"]; len(light) != 3 || len(dark) != 3 || light[i] == dark[i] {
			t.Errorf("picture %d is the same, light and dark", i)
		}
	}
	b.quiet(t, at)
}

func testFlame(t *testing.T, b *browser) {
	b.t = t
	at, _ := page(t, Options{NoFindings: true}, pairs+"train.kineto.json.gz")
	b.open(at)
	b.wait(`+document.querySelector('[data-flame]').dataset.frames > 20`)
	c := b.box("[data-flame]")
	zoomed := func() (v string) {
		b.eval(`document.querySelector('[data-flame]').dataset.zoomed`, &v)
		return v
	}
	if zoomed() != "-1" {
		t.Errorf("at first a frame is zoomed to: %s", zoomed())
	}
	b.mouse("mousePressed", c.X+20, c.Y+28)
	b.mouse("mouseReleased", c.X+20, c.Y+28)
	if zoomed() == "-1" {
		t.Error("a click does not zoom")
	}
	b.eval(`document.querySelector('[data-flame]').focus()`, nil)
	b.key("Escape")
	if zoomed() != "-1" {
		t.Errorf("Escape leaves %s", zoomed())
	}
	for _, k := range []string{"ArrowDown", "ArrowDown", "ArrowRight", "Enter"} {
		b.key(k)
	}
	if zoomed() == "-1" {
		t.Error("Enter does not zoom")
	}
	b.quiet(t, at)
}

func testSides(t *testing.T, b *browser) {
	b.t = t
	at, r := page(t, Options{Base: []string{pairs + "basic.kineto.json.gz"}}, pairs+"streams.kineto.json.gz")
	b.open(at)
	var got struct {
		Totals []string
		Rows   int
	}
	b.eval(`({ Totals: [...document.querySelectorAll('[data-key="device_work.device_ns"]')].map(e => e.dataset.value), Rows: document.querySelectorAll('[data-table="diff-operator"] tbody tr').length })`, &got)
	if len(got.Totals) != 2 || got.Totals[0] != fmt.Sprint(r.Sides[0].Summary.Work.DeviceNS) || got.Totals[1] != fmt.Sprint(r.Sides[1].Summary.Work.DeviceNS) || got.Rows == 0 {
		t.Errorf("two sides: %+v", got)
	}
	b.quiet(t, at)
}

func testHostile(t *testing.T, b *browser) {
	b.t = t
	at, r := page(t, Options{}, hostile(t))
	b.open(at)
	for _, tab := range []string{"operators", "kernels", "gaps", "path"} {
		b.eval(fmt.Sprintf(`document.querySelector('[data-tab=%q]').click()`, tab), nil)
	}
	var got struct {
		Title                 string
		Scripts, Images, Bold int
		Heading               string
	}
	b.eval(`({ Title: document.title, Scripts: document.scripts.length, Images: document.images.length, Bold: [...document.querySelectorAll("b")].filter(e => e.textContent === "bold").length, Heading: document.querySelector("h1").textContent })`, &got)
	if got.Title != r.Title || got.Heading != r.Title || got.Scripts != 3 || got.Images != 0 || got.Bold != 0 {
		t.Errorf("names became markup: %+v", got)
	}
	b.eval(`document.querySelector('[data-tab="kernels"]').click()`, nil)
	names := b.column("kernels", "name")
	if !slices.Contains(names, `</script><script>document.title="owned"</script>`) || !slices.Contains(names, "{{data}}") {
		t.Errorf("names: %q", names)
	}
	b.quiet(t, at)
}

func testKeys(t *testing.T, b *browser) {
	b.t = t
	at, _ := page(t, Options{NoFindings: true}, pairs+"basic.kineto.json.gz")
	b.open(at)
	b.eval(`document.activeElement.blur()`, nil)
	var theme, before string
	b.eval(`document.querySelector("#theme").textContent + " " + document.documentElement.dataset.theme`, &before)
	seen := map[string]bool{}
	for range 3 {
		b.key("t")
		b.eval(`document.documentElement.dataset.theme`, &theme)
		seen[theme] = true
	}
	if !seen["light"] || !seen["dark"] {
		t.Errorf("themes: %v", seen)
	}
	b.key("4")
	var in bool
	b.eval(`document.querySelector("#tables").contains(document.activeElement)`, &in)
	if !in {
		t.Error("4 does not lead to the tables")
	}
	b.key("?")
	b.eval(`document.querySelector("#keys").open`, &in)
	if !in {
		t.Error("? shows no keys")
	}
	b.quiet(t, at)
}
