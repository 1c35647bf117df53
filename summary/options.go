package summary

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/cut"
	"github.com/flagos-ai/flagos-trace/measure"
)

// Options choose what is summed up. The zero value is all.
type Options struct {
	Rules *chrome.Rules // names of further categories and arguments; nil: the built-in ones
	// Operator selects the operators of a matching name, what is inside them, and the
	// device work that belongs to these; Kernel the device work of a matching name.
	Operator, Kernel *regexp.Regexp
	// From and To bound a span of time, as cut.ParseWindow reads them; "" is open.
	// Spans that reach over an end are cut off there.
	From, To string
	// Steps selects steps, and the device work that was launched in them.
	Steps *cut.Steps
	// Ranks selects traces, or parts of a merged one.
	Ranks []int64
	// ByShape has a row for every shape of an operator's inputs.
	ByShape bool
	// Gaps is how many gaps are kept; 0 stands for 20.
	Gaps int
	// Look, if it is set, is shown each trace while it is there, for those that make
	// more of it than a summary. It is called for the traces of a file one after the
	// other, and for those of several files at once, while their summaries are made.
	Look func(Reading)
	// KeepKeys are keys of the arguments that Look needs: of events without them raw
	// arguments are not kept.
	KeepKeys []string
}

// Reading is a trace while it is in memory. Nothing of it may be changed.
type Reading struct {
	File     int    // index in the paths
	Name     string // as in Trace
	Document *chrome.Document
	Tree     *calltree.Tree // of the trace, or of the part of a merged one
	Run      *measure.Run
}

const defaultGaps = 20

func (o *Options) gaps() int {
	if o.Gaps <= 0 {
		return defaultGaps
	}
	return o.Gaps
}

// narrowed reports whether tables are of a part of the device work only.
func (o *Options) narrowed() bool { return o.Operator != nil || o.Kernel != nil }

// cuts reports whether traces are to be cut first.
func (o *Options) cuts() bool {
	return o.From != "" || o.To != "" || o.Steps != nil || len(o.Ranks) > 0
}

// String says in words what is selected.
func (o *Options) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if o.From != "" || o.To != "" {
		from, to := o.From, o.To
		if from == "" {
			from = "start"
		}
		if to == "" {
			to = "end"
		}
		add("time %s to %s", from, to)
	}
	if o.Steps != nil {
		add("steps %s", o.Steps)
	}
	if len(o.Ranks) > 0 {
		add("ranks %s", strings.Trim(fmt.Sprint(o.Ranks), "[]"))
	}
	if o.Operator != nil {
		add("operators %s", o.Operator)
	}
	if o.Kernel != nil {
		add("kernels %s", o.Kernel)
	}
	return strings.Join(parts, ", ")
}
