package capability

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
)

var update = flag.Bool("update", false, "rewrite the known gaps in docs/vendors.md")

// gapWords has what a subject is called in docs/vendors.md, in the order there. "" is
// not told there: it says nothing of what a trace lacks, or follows from another.
var gapWords = []struct{ subject, word string }{
	{"category:gpu_memcpy", "copies, unless preloaded"}, {"category:gpu_memset", "fills"},
	{"category:cuda_sync", "waits"}, {"arg:cuda_sync/wait_on_*", "what was waited for"}, {"category:overhead", "the library's own time"}, {"category:cuda_driver", "driver calls"},
	{"arg:kernel/grid", "launch configuration"}, {"arg:kernel/block", "launch configuration"},
	{"coverage:kernel/grid", "launch configuration out of graphs"}, {"coverage:kernel/block", "launch configuration out of graphs"},
	{"arg:kernel/registers per thread", "registers"}, {"arg:kernel/shared memory", "shared memory"},
	{"arg:kernel/* per SM", "occupancy"}, {"arg:kernel/blocks per SM", "occupancy"}, {"arg:kernel/warps per SM", "occupancy"},
	{"arg:kernel/occupancy", "occupancy"}, {"arg:kernel/est. achieved occupancy %", "occupancy"}, {"absent", ""},
	{"arg:kernel/queued", "queue times"}, {"arg:*/context", "contexts"}, {"arg:*/graph*", "graphs"}, {"arg:*/channel*", "channels"},
	{"arg:gpu_mem*/memory bandwidth (GB/s)", "bandwidth of copies"}, {"coverage:gpu_mem*/stream", "default stream of copies"},
	{"arg:cuda_runtime/cbid", "numbers of calls"}, {"arg:cuda_driver/cbid", "numbers of calls"}, {"arg:cuda_*/return value", "results of calls"},
	{"measure:ids-unique", "ids of calls that start nothing"}, {"coverage:cuda_*/correlation", "ids of calls that start nothing"},
	{"device:*", "device properties"}, {"member:deviceProperties", "device properties"},
	{"row:device label", ""}, {"row:stream", ""},
}

// glance is the cell of known gaps of a vendor.
func glance(t *testing.T, vendor string) string {
	list := Default().Vendors[vendor]
	for _, m := range list {
		if !slices.ContainsFunc(gapWords, func(w struct{ subject, word string }) bool { return w.subject == m.Subject }) {
			t.Errorf("%s: no word for %s in gapWords", vendor, m.Subject)
		}
	}
	words := func(unknown bool) (out []string) {
		for _, w := range gapWords {
			has := slices.ContainsFunc(list, func(m Missing) bool { return m.Subject == w.subject && m.Unknown == unknown })
			if word := w.word; has && word != "" && !slices.Contains(out, word) {
				if w.subject == "category:gpu_memset" && !unknown {
					word = "fills, unless preloaded"
				}
				out = append(out, word)
			}
		}
		return out
	}
	gaps := strings.Join(words(false), "; ")
	if open := words(true); len(open) > 0 {
		gaps += ". Not known whether: " + strings.Join(open, "; ")
	}
	if gaps == "" {
		return "none declared"
	}
	return gaps
}

// TestGlance: the overview of docs/vendors.md says of each vendor what the table does.
func TestGlance(t *testing.T) {
	const page = "../docs/vendors.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	changed := string(text)
	for _, v := range tracer.Vendors() {
		row := regexp.MustCompile("(?m)^\\| `" + v.Tracer + "` .*\\| (.*) \\|$").FindStringSubmatchIndex(changed)
		if row == nil {
			t.Errorf("%s has no row in %s", v.Tracer, page)
			continue
		}
		want := glance(t, Default().Vendor(v.Tracer))
		if got := changed[row[2]:row[3]]; got != want && !*update {
			t.Errorf("%s: %s has %q, want %q (-update writes it)", v.Tracer, page, got, want)
		}
		changed = changed[:row[2]] + want + changed[row[3]:]
	}
	if *update {
		if err := os.WriteFile(page, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
