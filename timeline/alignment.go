package timeline

import "math"

// Alignment says how the times of one part of a merged trace were moved onto the
// clock of another.
type Alignment struct {
	// Method is one of the Align constants.
	Method string `json:"method"`
	// Reference labels the part whose clock the others were moved onto.
	Reference string `json:"reference,omitempty"`
	// OffsetNS was added to a time of AtNS, in the part's own clock, ns since the
	// Unix epoch; DriftPPM more for every ns that passed since, in millionths.
	OffsetNS int64   `json:"offset_ns"`
	DriftPPM float64 `json:"drift_ppm,omitempty"`
	AtNS     int64   `json:"at_ns,omitempty"`
	// UncertaintyNS is how far times may still be off anywhere in the part's
	// window, ns. Absent where it is not known.
	UncertaintyNS *int64 `json:"uncertainty_ns,omitempty"`
	// DriftUncertaintyPPM is what the drift may be off by, in millionths; absent
	// where no drift was fitted.
	DriftUncertaintyPPM *float64 `json:"drift_uncertainty_ppm,omitempty"`
	// LowestNS and HighestNS bound the offset by causes and effects alone: with less
	// or more, something would have ended before what it waited for began. Absent
	// where there is no such bound.
	LowestNS  *int64 `json:"lowest_offset_ns,omitempty"`
	HighestNS *int64 `json:"highest_offset_ns,omitempty"`
	// Collectives counts the operations that the offset was found from.
	Collectives int `json:"collectives,omitempty"`
	// Reason says why a part was not aligned.
	Reason string `json:"reason,omitempty"`
}

// Methods of alignment.
const (
	AlignReference   = "reference"   // the clock the others were moved onto
	AlignCollectives = "collectives" // by the ends of collectives, which are common to their groups
	AlignCausality   = "causality"   // the middle of what causes and effects allow
	AlignSameHost    = "same_host"   // one clock: the parts were recorded on one host
	AlignNone        = "none"        // not aligned; see Reason
)

// Map moves a time of the part onto the reference's clock. Times beyond what int64
// holds are kept at its ends.
func (a *Alignment) Map(ts int64) int64 {
	if a == nil {
		return ts
	}
	d := a.OffsetNS
	if a.DriftPPM != 0 {
		// The product is small against the distance, so that a float64 holds it to
		// the nanosecond for years.
		d += int64(math.Round(float64(ts-a.AtNS) * a.DriftPPM / 1e6))
	}
	switch sum := ts + d; {
	case d > 0 && sum < ts:
		return math.MaxInt64
	case d < 0 && sum > ts:
		return math.MinInt64
	default:
		return sum
	}
}
