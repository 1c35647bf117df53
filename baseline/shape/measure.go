package shape

// Ids of the measures: rules about the whole of a trace.
const (
	CallOfWork       = "call-of-work"       // device work has its API call
	WorkOfLaunch     = "work-of-launch"     // calls that launch have device work
	IDsUnique        = "ids-unique"         // a correlation id names one API call
	ArrowOfWork      = "arrow-of-work"      // arrows to device work have both ends
	ArrowAttached    = "arrow-attached"     // arrows stand on events of their id
	ArrowPaired      = "arrow-paired"       // other arrows have both ends
	ArrowSequence    = "arrow-sequence"     // arrows from forward to backward join operators of one sequence number
	Linked           = "linked"             // device work belongs to an operator
	Attributed       = "attributed"         // device time belongs to the operator that started it
	KernelsDominate  = "kernels-dominate"   // kernels hold most of the device time
	NamesDemangled   = "names-demangled"    // no kernel's name is mangled
	NamesScoped      = "names-scoped"       // some kernel's name has a scope
	NamesReal        = "names-real"         // API calls have their own names
	CallIDs          = "call-ids"           // API calls have the number of their function
	InWindow         = "in-window"          // events lie in the recorded window
	AfterLaunch      = "after-launch"       // device work starts after its launch
	TakesTime        = "takes-time"         // device work takes time
	InTurn           = "in-turn"            // work of one stream does not run all at once
	Plausible        = "plausible"          // figures lie in the range they can have
	Derived          = "derived"            // figures follow from the others
	RowsNamed        = "rows-named"         // rows of device work have names
	ProcessesLabeled = "processes-labelled" // devices, as processes, have labels
	RowOfPlace       = "row-of-place"       // device work stands on the row of its device and stream
	DeviceDescribed  = "device-described"   // the devices of work are among deviceProperties
	KernelsNamed     = "kernels-named"      // kernels have names
	WorkOnce         = "work-once"          // device work stands in the trace once
	OperatorsOnce    = "operators-once"     // operators stand in the trace once
	CallNested       = "call-nested"        // API calls have the External id of the operator around them
	BackwardThread   = "backward-thread"    // backward operators name their forward thread
	Facts            = "facts"              // what the document says of devices, ranks and time can be
)

// Measure is how many of what a rule is about broke it.
type Measure struct {
	Checked, Broken int64
	// BrokenNS is the device time of what broke it, ns, where that has a meaning.
	BrokenNS int64
	Examples []Example // the first few
}

// Example is one event that broke a rule, or one name.
type Example struct {
	Event  int64 // index in the timeline; -1: none
	Offset int64
	Name   string // of the event, or of the operator
	Key    string
	Want   string
	Got    string
	NS     int64 // device time concerned
}

const maxExamples = 8

// Level is how many broke it, coarsely. There is none where nothing was checked.
func (m *Measure) Level() (Level, bool) {
	switch {
	case m == nil || m.Checked == 0:
		return "", false
	case m.Broken == 0:
		return None, true
	case m.Broken*20 <= m.Checked:
		return Few, true
	case m.Broken*2 <= m.Checked:
		return Some, true
	}
	return Most, true
}

// Share is the share that broke it, 0 to 1.
func (m *Measure) Share() float64 {
	if m == nil || m.Checked == 0 {
		return 0
	}
	return float64(m.Broken) / float64(m.Checked)
}

func (m *Measure) bad(e Example) {
	m.Broken++
	m.BrokenNS += e.NS
	if len(m.Examples) < maxExamples {
		m.Examples = append(m.Examples, e)
	}
}
