package reliability

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/timeline"
)

var (
	manyTries  = flag.Int("tries", 0, "how often to try each fault; 0: as often as the fault says")
	reportFile = flag.String("report", "", "page to write what was seen into")
)

// fault is one thing that goes wrong: a row of the table.
type fault struct {
	group string
	name  string
	tries int // in an ordinary run, 0: once; those with chance in them more often
	most  int // at most so many, 0: no bound; those that take seconds
	run   func(a *attempt)
}

// TestFaults runs every fault and checks what is left of each.
func TestFaults(t *testing.T) {
	all := slices.Concat(deathFaults(), signalFaults(), processFaults(), boundFaults(), diskFaults(), vendorFaults())
	rows := make([]row, len(all))
	t.Run("all", func(t *testing.T) {
		for i, f := range all {
			rows[i] = row{group: f.group, name: f.name}
			t.Run(f.group+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				n := max(f.tries, 1)
				if *manyTries > 0 {
					n = *manyTries
				}
				if f.most > 0 {
					n = min(n, f.most)
				}
				for try := range n {
					a := &attempt{T: t, try: try}
					f.run(a)
					rows[i].add(a)
				}
			})
		}
	})
	if *reportFile != "" && !t.Failed() {
		if err := writeReport(*reportFile, rows); err != nil {
			t.Fatal(err)
		}
	}
}

// attempt is one try of a fault, and what was seen in it.
type attempt struct {
	*testing.T
	try int

	launched, kept int      // kernels
	gapNS          int64    // age of the oldest kernel that was lost when the program was killed
	killed         bool     // gapNS means something
	remark         string   // about what was kept, where numbers do not say it
	told           []string // what people read about it
}

// ending is what a recording must have come to.
type ending struct {
	status  int
	verdict timeline.Verdict
	ended   timeline.Ending
	signal  string // that the trace says the command died of
	kept    func(kept, launched int) bool
	missing []string // codes of losses
	says    []string // on the terminal
	inTrace []string // in the diagnoses of the trace
}

// What may be left of the kernels.
func all(kept, launched int) bool  { return kept == launched && launched > 0 }
func some(kept, launched int) bool { return kept > 0 && kept < launched }
func none(kept, launched int) bool { return kept == 0 && launched > 0 }
func most(kept, launched int) bool { return kept > 0 && kept <= launched }

// Text of the workload's --print, and what it is given to read.
const (
	printedOut = "workload: this line is for stdout\nin\n"
	printedErr = "workload: this line is for stderr\n"
)

// usual is the amount of work of a workload whose size does not matter: two
// threads of 450 launches each, and a graph of four kernels in each.
var usual = []string{"--kernels", "450", "--threads", "2"}

// printing is a job of the usual workload that prints and counts; more are
// arguments that say how it ends.
func (a *attempt) printing(more ...string) job {
	counts := filepath.Join(a.TempDir(), "counts")
	return job{args: append(append([]string{"--print", "--counts", counts}, usual...), more...), stdin: "in\n"}
}

// countsOf reads what a job of the workload says it did.
func (a *attempt) countsOf(j job) counts {
	a.Helper()
	i := slices.Index(j.args, "--counts")
	if i < 0 {
		a.Fatal("the job has no --counts")
	}
	return readCounts(a, j.args[i+1])
}

// run records a job and judges it.
func (a *attempt) run(j job, e ending) (*outcome, *trace) {
	a.Helper()
	o := j.record(a)
	return o, a.judge(j, o, e, a.countsOf(j).kernels())
}

// judge checks the end of a recording with a single trace, whose program launched
// so many kernels; -1 where the caller looks after them.
func (a *attempt) judge(j job, o *outcome, e ending, launched int) *trace {
	a.Helper()
	if o.status != e.status {
		a.Errorf("status %d, want %d; said:\n%s", o.status, e.status, o.stderr)
	}
	account := a.untouched(j, o)
	tr := o.only()
	a.consistent(o, tr, account)
	if launched >= 0 {
		a.launched, a.kept = a.launched+launched, a.kept+len(tr.kernels)
	}
	c := tr.record
	if !(c.Verdict == e.verdict || e.verdict == timeline.Unknown && torn(c)) || c.Ended != e.ended || c.Signal != e.signal || !slices.Equal(c.Missing, e.missing) {
		a.Errorf("verdict %q, ended %q, signal %q, missing %v, want %q %q %q %v; buffers %+v, spool %+v, dropped %v, said:\n%s",
			c.Verdict, c.Ended, c.Signal, c.Missing, e.verdict, e.ended, e.signal, e.missing, c.Buffers, c.Spool, c.Dropped, o.stderr)
	}
	if e.signal == "" && (c.ExitCode == nil || *c.ExitCode != o.status) {
		a.Errorf("exit code in the trace %v, status %d", c.ExitCode, o.status)
	}
	if e.kept != nil && launched >= 0 && !e.kept(len(tr.kernels), launched) {
		a.Errorf("%d kernels of %d; %+v, said:\n%s", len(tr.kernels), launched, c, o.stderr)
	}
	for _, text := range e.says {
		if !strings.Contains(account, text) {
			a.Errorf("%q is not among what was said:\n%s", text, account)
		}
	}
	for _, text := range e.inTrace {
		if !strings.Contains(strings.Join(c.Diagnoses, "\n"), text) {
			a.Errorf("%q is not in the trace's diagnoses: %q", text, c.Diagnoses)
		}
	}
	a.told = toldIn(account)
	return tr
}

// torn reports whether all that is known to be missing is what was being written
// when the program was killed.
func torn(c *timeline.Completeness) bool {
	if c.Spool == nil || c.Spool.TornBytes == 0 {
		return false
	}
	whole, counts := *c, *c.Spool
	counts.TornBytes, whole.Spool = 0, &counts
	return whole.Judge() == timeline.Unknown
}

// untouched checks that the program printed what it would have, and returns what
// flagos-trace said after it.
func (a *attempt) untouched(j job, o *outcome) (account string) {
	a.Helper()
	account = o.stderr
	if slices.Contains(j.args, "--print") {
		var own bool
		if account, own = strings.CutPrefix(o.stderr, printedErr); !own || o.stdout != printedOut {
			a.Errorf("stdout %q, stderr %q", o.stdout, o.stderr)
		}
	} else if j.command == nil && o.stdout != "" {
		a.Errorf("stdout %q", o.stdout)
	}
	if j.command == nil {
		for text := range strings.Lines(account) {
			if !strings.HasPrefix(text, "flagos-trace") && !strings.HasPrefix(text, "  ") && !strings.HasPrefix(text, "the spool") {
				a.Errorf("on the terminal stands %q", text)
			}
		}
	}
	return account
}

// verdicts are the words of the verdicts.
var verdicts = map[timeline.Verdict]string{
	timeline.Complete:   "  complete: nothing is known to be missing\n",
	timeline.Incomplete: "  INCOMPLETE. Known to be missing:\n",
	timeline.Unknown:    "  unknown whether it is complete:\n",
}

// consistent checks a trace in itself, against the account for scripts, and
// against that for people.
func (a *attempt) consistent(o *outcome, tr *trace, account string) {
	a.Helper()
	if tr.loose > 0 {
		a.Errorf("%s: %d arrows with one end", tr.file, tr.loose)
	}
	for _, s := range o.summary.Traces {
		if filepath.Base(s.File) != filepath.Base(tr.file) {
			continue
		}
		inTrace, err := json.Marshal(tr.record)
		inSummary, err2 := json.Marshal(s.Completeness)
		if err != nil || err2 != nil || string(inTrace) != string(inSummary) {
			a.Errorf("the trace says\n%s\nand the summary\n%s", inTrace, inSummary)
		}
		if s.Events["kernel"] != uint64(len(tr.kernels)) {
			a.Errorf("%d kernels, the summary says %d", len(tr.kernels), s.Events["kernel"])
		}
	}
	for verdict, text := range verdicts {
		if is := verdict == tr.record.Verdict; is && !strings.Contains(account, text) || !is && len(o.summary.Traces) == 1 && strings.Contains(account, text) {
			a.Errorf("verdict %q, said:\n%s", tr.record.Verdict, account)
		}
	}
}

// usually matches what is said of every recording.
var usually = regexp.MustCompile(`^(wrote |recording took |.* exited with |.* holds \d+ spool)`)

// toldIn takes what was said about how the program ended, what is missing and why
// out of an account.
func toldIn(account string) (told []string) {
	for text := range strings.Lines(account) {
		text = strings.TrimRight(text, "\n")
		if said, ok := strings.CutPrefix(text, "flagos-trace"); ok {
			_, said, _ = strings.Cut(said, ": ")
			if _, how, ok := strings.Cut(said, " was killed by SIG"); ok {
				how, _, _ = strings.Cut(how, " after ")
				told = append(told, "killed by SIG"+how)
			} else if !usually.MatchString(said) {
				told = append(told, said)
			}
			continue
		}
		for _, mark := range []string{"  - ", "  note: "} {
			if why, ok := strings.CutPrefix(text, mark); ok {
				told = append(told, why)
			}
		}
		for _, verdict := range verdicts {
			if text+"\n" == verdict {
				word, _, _ := strings.Cut(strings.TrimSpace(text), ".")
				word, _, _ = strings.Cut(word, ":")
				told = append(told, "**"+strings.ToLower(word)+"**")
			}
		}
	}
	return told
}

// content is what a trace must be the same in as one of a run without a fault.
type content struct{ kernels, memcpys, memsets, runtime, driver, flows int }

func contentOf(tr *trace) content {
	return content{len(tr.kernels), tr.spans["gpu_memcpy"], tr.spans["gpu_memset"], tr.spans["cuda_runtime"], tr.spans["cuda_driver"], tr.flows}
}

var (
	baselines   = map[string]content{}
	baselinesMu sync.Mutex
)

// baseline records a workload of this size without a fault, once.
func (a *attempt) baseline(size ...string) content {
	a.Helper()
	baselinesMu.Lock()
	defer baselinesMu.Unlock()
	key := strings.Join(size, " ")
	if c, ok := baselines[key]; ok {
		return c
	}
	tr := job{args: size}.record(a).only()
	if tr.record.Verdict != timeline.Complete {
		a.Fatalf("without a fault: %+v", tr.record)
	}
	baselines[key] = contentOf(tr)
	return baselines[key]
}

// whole checks that a trace of the usual workload holds all that one without a
// fault does: device work, API calls, and the arrows between them.
func (a *attempt) whole(tr *trace) {
	a.Helper()
	if got, want := contentOf(tr), a.baseline(usual...); got != want {
		a.Errorf("%+v, want %+v", got, want)
	}
}

// paired checks that no kernel lacks its API call.
func (a *attempt) paired(tr *trace) {
	a.Helper()
	for _, k := range tr.kernels {
		if _, ok := tr.calls[k.correlation]; !ok {
			a.Errorf("kernel %s has no API call", k.correlation)
			return
		}
	}
}

// simple is the run of a fault that is all in the job.
func simple(change func(j *job), more []string, e ending) func(a *attempt) {
	return func(a *attempt) {
		j := a.printing(more...)
		if change != nil {
			change(&j)
		}
		_, tr := a.run(j, e)
		if e.verdict == timeline.Complete && e.kept != nil && e.kept(1, 1) && !e.kept(0, 1) && !e.kept(1, 2) {
			a.whole(tr)
		}
	}
}

// tmpfs mounts a small file system, and skips where that cannot be done.
func (a *attempt) tmpfs(bytes string) string {
	a.Helper()
	dir := a.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+bytes); err != nil {
		a.Skipf("no small file system can be mounted: %v", err)
	}
	a.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}
