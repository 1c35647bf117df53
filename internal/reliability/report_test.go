package reliability

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Where the table stands in the page.
const (
	tableBegin = "<!-- faults:begin -->\n"
	tableEnd   = "<!-- faults:end -->"
)

// row is what was seen of a fault in all its tries.
type row struct {
	group, name string
	tries       int
	least, most float64 // share of the kernels that was kept
	kept, of    int     // kernels, of the first try
	same        bool    // and of all others
	killed      bool
	gapNS       int64
	remark      string
	told        []string
	seen        map[string]bool // texts of told, without their numbers
}

// numbers are what differs between two texts that say the same.
var numbers = regexp.MustCompile(`[0-9][0-9,.]*( (B|KiB|MiB|GiB|ns|us|ms|s)\b)?`)

// add takes in what was seen in a try.
func (r *row) add(a *attempt) {
	share := 0.0
	if a.launched > 0 {
		share = float64(a.kept) / float64(a.launched)
	}
	if r.tries == 0 {
		*r = row{group: r.group, name: r.name, least: share, most: share, kept: a.kept, of: a.launched, same: true, seen: map[string]bool{}}
	}
	r.tries++
	r.least, r.most = min(r.least, share), max(r.most, share)
	r.same = r.same && a.kept == r.kept && a.launched == r.of
	r.killed = r.killed || a.killed
	r.gapNS = max(r.gapNS, a.gapNS)
	if a.remark != "" {
		r.remark = a.remark
	}
	for _, text := range a.told {
		text = brief(text)
		if key := numbers.ReplaceAllString(text, "#"); !r.seen[key] {
			r.seen[key] = true
			r.told = append(r.told, text)
		}
	}
}

// keptWords say what was kept.
func (r *row) keptWords() string {
	var parts []string
	switch {
	case r.of == 0:
	case r.least == 1:
		if r.same {
			parts = append(parts, fmt.Sprintf("all %s kernels", thousands(r.of)))
		} else {
			parts = append(parts, "all kernels")
		}
	case r.most == 0:
		parts = append(parts, "no kernel")
	case r.same:
		parts = append(parts, fmt.Sprintf("%s of %s kernels", thousands(r.kept), thousands(r.of)))
	default:
		low, high := percent(r.least), percent(r.most)
		if low != high {
			low += " to " + high
		}
		parts = append(parts, low+" % of the kernels")
	}
	if r.killed && r.gapNS > 0 {
		parts = append(parts, fmt.Sprintf("the oldest one lost had ended %d ms before", (r.gapNS+999_999)/1_000_000))
	}
	if r.remark != "" && (r.most > 0 || r.of == 0) {
		parts = append(parts, r.remark)
	} else if r.remark != "" {
		parts = []string{r.remark}
	}
	return strings.Join(parts, "; ")
}

// percent is a share as a percentage that is 0 and 100 only where it is exact.
func percent(share float64) string {
	switch n := share * 100; {
	case n > 99 && n < 100, n > 0 && n < 1:
		return strconv.FormatFloat(n, 'f', 1, 64)
	default:
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// places are the folders of a test in a text.
var places = regexp.MustCompile(`(?:` + regexp.QuoteMeta(os.TempDir()) + `|` + regexp.QuoteMeta(cacheDir()) + `)/[^\s:;,()]*/`)

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return os.TempDir()
	}
	return dir
}

// brief cuts a long text where a part of it ends, not within parentheses.
func brief(text string) string {
	text = places.ReplaceAllString(text, "")
	const limit, least = 160, 20
	if len(text) <= limit {
		return text
	}
	at, depth := strings.LastIndexByte(text[:limit], ' '), 0
	for i := range limit {
		switch rest := text[i:]; {
		case strings.HasPrefix(rest, " (") && depth == 0:
			at = i
			depth++
		case rest[0] == '(':
			depth++
		case rest[0] == ')':
			depth--
		case depth == 0 && i >= least && (strings.HasPrefix(rest, ": ") || strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, "; ") || strings.HasPrefix(rest, ", ")):
			at = i
		}
	}
	return text[:at] + " …"
}

// mostTold bounds the texts in a row.
const mostTold = 5

// toldWords say how it is told.
func (r *row) toldWords() string {
	told := r.told
	if n := len(told) - mostTold; n > 0 {
		told = append(told[:mostTold:mostTold], fmt.Sprintf("and %d more notes", n))
	}
	return strings.Join(told, "; ")
}

// cell makes a text fit for a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}

// table writes the rows, a table for each group.
func table(rows []row) []byte {
	var b bytes.Buffer
	for i := range rows {
		r := &rows[i]
		if i == 0 || r.group != rows[i-1].group {
			fmt.Fprintf(&b, "\n### %s\n\n| fault | tries | what was kept | how it is told |\n|---|---|---|---|\n", r.group)
		}
		if r.tries == 0 {
			fmt.Fprintf(&b, "| %s | 0 | not tried: this machine does not allow it | |\n", cell(r.name))
			continue
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", cell(r.name), r.tries, cell(r.keptWords()), cell(r.toldWords()))
	}
	return append(b.Bytes(), '\n')
}

// writeReport puts the table into the page, between its marks.
func writeReport(name string, rows []row) error {
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(page, []byte(tableBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table: %s and %s", name, strings.TrimSpace(tableBegin), tableEnd)
	}
	text := append(append(bytes.Clone(before), tableBegin...), table(rows)...)
	return os.WriteFile(name, append(append(text, tableEnd...), after...), 0o644)
}

// TestTable: what was seen is put into words, and changes nothing else of a page.
func TestTable(t *testing.T) {
	rows := []row{{group: "G", name: "one"}, {group: "G", name: "two"}, {group: "H", name: "three"}, {group: "H", name: "four"}}
	rows[0].add(&attempt{launched: 1808, kept: 1808, told: []string{"**complete**"}})
	rows[0].add(&attempt{launched: 1808, kept: 1808, told: []string{"**complete**"}})
	rows[1].add(&attempt{launched: 1000, kept: 999, killed: true, gapNS: 41_000_001, told: []string{"3 buffers (1.5 MiB) lost"}})
	rows[1].add(&attempt{launched: 2000, kept: 1200, killed: true, gapNS: 5, told: []string{"7 buffers (64 KiB) lost", "a|b in " + os.TempDir() + "/x/y/t.json"}})
	rows[2].add(&attempt{launched: 5, remark: "nothing: gone"})
	name := t.TempDir() + "/page.md"
	if err := os.WriteFile(name, []byte("before\n"+tableBegin+"old"+tableEnd+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeReport(name, rows); err != nil {
		t.Fatal(err)
	}
	head := "| fault | tries | what was kept | how it is told |\n|---|---|---|---|\n"
	want := "before\n" + tableBegin + "\n### G\n\n" + head + "| one | 2 | all 1,808 kernels | **complete** |\n" +
		"| two | 2 | 60 to 99.9 % of the kernels; the oldest one lost had ended 42 ms before | 3 buffers (1.5 MiB) lost; a\\|b in t.json |\n" +
		"\n### H\n\n" + head + "| three | 1 | nothing: gone |  |\n| four | 0 | not tried: this machine does not allow it | |\n\n" + tableEnd + "\nafter\n"
	if got, err := os.ReadFile(name); err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}
