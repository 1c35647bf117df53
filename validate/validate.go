package validate

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/unpack"
	"github.com/flagos-ai/flagos-trace/occupancy"
)

var (
	kinetoMode  = occupancy.Options{Mode: occupancy.Kineto}
	correctMode = occupancy.Options{Mode: occupancy.Correct}
)

// Options choose rules and how much is kept.
type Options struct {
	Only []string // ids of the rules to check; nil: all
	Not  []string // ids of rules to leave out
	Max  int      // findings kept of each rule; all are counted. 0: DefaultMax

	// Rules say what further categories, arrows and processes are; nil:
	// chrome.DefaultRules.
	Rules *chrome.Rules

	// Read, if it is set, is called when the text has been read; the rules between
	// events, which take a sixth of the time, are yet to be checked.
	Read func()

	chunk int // bytes read at a time, for tests
}

// DefaultMax is the number of findings kept of each rule.
const DefaultMax = 10

// Report is what a trace holds and what is wrong with it.
type Report struct {
	Producer      Producer
	Bytes         int64 // of text, after decompression
	Events        int   // read
	Lost          int   // that could not be read
	Findings      []Finding
	Counts        []Count         // rules with findings, in the order of Rules
	NotApplicable []NotApplicable // rules that this producer or document cannot keep
}

// Count is how often a rule was broken.
type Count struct {
	Rule     string
	Severity Severity
	N        int
}

// NotApplicable is a rule that was not checked, and why.
type NotApplicable struct{ Rule, Reason string }

// Worst is the highest severity found; ok is false if there is no finding.
func (r *Report) Worst() (s Severity, ok bool) {
	for _, c := range r.Counts {
		s, ok = max(s, c.Severity), true
	}
	return s, ok
}

// ErrRule: an id that no rule has.
var ErrRule = fmt.Errorf("validate: unknown rule")

// selection makes a set of the rules that are wanted.
func (o *Options) selection() (on [numRules]bool, err error) {
	set := func(ids []string, to bool) error {
	next:
		for _, id := range ids {
			for i := range rules {
				if rules[i].ID == id {
					on[i] = to
					continue next
				}
			}
			return fmt.Errorf("%w %q", ErrRule, id)
		}
		return nil
	}
	for i := range on {
		on[i] = o.Only == nil
	}
	if err = set(o.Only, true); err == nil {
		err = set(o.Not, false)
	}
	return on, err
}

// Run reads a trace once and checks it. Compressed input is recognized by its
// first bytes. The error is one of r's, or wraps ErrRule, ErrNotTrace or
// ErrTooLarge; text that ends early or is no JSON in places is a finding. When
// reading fails on the way, the report of what came before is returned as well.
func Run(r io.Reader, opt Options) (*Report, error) {
	on, err := opt.selection()
	if err != nil {
		return nil, err
	}
	limit := opt.Max
	if limit <= 0 {
		limit = DefaultMax
	}
	text, err := unpack.New(r)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	if opt.Rules == nil {
		opt.Rules = chrome.DefaultRules()
	}
	t := newTrace()
	c := &collector{t: t, max: limit}
	d := &document{t: t, found: c, size: chunkSize, rules: opt.Rules}
	d.p.rules = opt.Rules
	if opt.chunk > 0 {
		d.size = opt.chunk
	}
	err = d.read(text)
	switch {
	case err == nil:
	case t.events == 0:
		return nil, err
	case errors.Is(err, unpack.ErrDamaged):
		err = nil // the finding says so
	default:
		return nil, err
	}
	if opt.Read != nil {
		opt.Read()
	}
	t.classify(opt.Rules)
	t.readGPUs()
	t.producer = t.recognize()
	check(t, c)

	report := &Report{Producer: t.producer, Bytes: t.bytes, Events: t.events, Lost: t.lost}
	for i := range rules {
		rule := &rules[i]
		if !on[i] {
			continue
		}
		if reason := rule.notApplicable(t); reason != "" {
			report.NotApplicable = append(report.NotApplicable, NotApplicable{rule.ID, reason})
			continue
		}
		if ruleID(i) == rArgMissing {
			report.NotApplicable = append(report.NotApplicable, t.producer.undelivered...)
		}
		if n := c.counts[i]; n > 0 {
			report.Counts = append(report.Counts, Count{rule.ID, rule.Severity, n})
			report.Findings = append(report.Findings, c.sorted(ruleID(i))...)
		}
	}
	return report, err
}

// check runs the rules between events. Each of the functions run at once has
// rules of its own.
func check(t *trace, c *collector) {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		checkRows(t, c)
	}()
	checkJoins(t, c)
	checkIDs(t, c)
	checkFlows(t, c)
	checkDevices(t, c)
	checkSyncs(t, c)
	checkLoss(t, c)
	wg.Wait()
	checkOverlaps(t, c)
}
