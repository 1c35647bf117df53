package validate

// Severity says how much a finding matters.
type Severity uint8

const (
	// Note: normal for the producer, or of no consequence, and worth knowing.
	Note Severity = iota
	// Warning: figures or pictures made from the trace are probably wrong in places.
	Warning
	// Error: tools refuse the file, drop events, or draw what cannot have been.
	Error
)

var severityNames = [...]string{Note: "note", Warning: "warning", Error: "error"}

// String is "note", "warning" or "error".
func (s Severity) String() string { return severityNames[s] }

// ParseSeverity is the inverse of String.
func ParseSeverity(s string) (Severity, bool) {
	for i, n := range severityNames {
		if n == s {
			return Severity(i), true
		}
	}
	return 0, false
}

// Rule is one thing that a trace must keep.
type Rule struct {
	ID       string
	Severity Severity
	Title    string // what a trace that keeps it has
	Why      string // what a breach means
	Fix      string
	Applies  string // to which events
	// Torch is the name of the same rule in torch's own trace validator.
	Torch string
	// Cannot says, by producer, why it cannot keep the rule.
	Cannot map[Family]string
	// unless are reasons that only the document shows.
	unless []condition
}

// condition is a reason not to check a rule, where it holds.
type condition struct {
	reason string
	holds  func(*trace) bool
}

// notApplicable is why a rule is not checked, "" if it is.
func (r *Rule) notApplicable(t *trace) string {
	if reason := r.Cannot[t.producer.Family]; reason != "" {
		return reason
	}
	for _, c := range r.unless {
		if c.holds(t) {
			return c.reason
		}
	}
	return ""
}

// Rules lists all rules in the order of reports. It is a copy.
func Rules() []Rule { return append([]Rule(nil), rules[:]...) }

type ruleID uint8

const (
	rTruncated ruleID = iota
	rUnclosed
	rSyntax
	rTrailingComma
	rDuplicateKey
	rUTF8
	rControl
	rEscape
	rNumber
	rByteOrderMark
	rNoEvents

	rPhase
	rEventField
	rTextTime
	rNoDuration
	rNegative
	rZero
	rAbsurd
	rTimeZero
	rOutside

	rBeginAlone
	rEndAlone
	rEndOrder

	rOverlapDevice
	rOverlapConcurrent
	rOverlapHost
	rOverlapAnnotation
	rDuplicateEvent
	rNamedTwice

	rFlowStartAlone
	rFlowEndAlone
	rFlowStartHost
	rFlowEndHost
	rFlowReused
	rFlowAttached

	rBeforeLaunch
	rNoAPI
	rNoDeviceWork
	rLaunchAlone
	rCorrelationReused
	rExternalUnknown
	rExternalOwn
	rExternalReused
	rRanks

	rMangled
	rPlaceholder

	rArgMissing
	rArgType
	rRowArgs
	rDeviceUnknown
	rLaunchFigures
	rOccupancy
	rOccupancyZero
	rOccupancyNone
	rBandwidth
	rQueued
	rPriority
	rCounter
	rCollectiveKernel

	rSyncRecord
	rSyncOrder
	rSyncOverlap
	rCollectiveOp
	rBackwardName

	rDropped
	numRules
)
