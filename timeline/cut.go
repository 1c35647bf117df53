package timeline

// Cut says that a trace is a part of another one. Events outside the part are not
// lost: they were not asked for.
type Cut struct {
	By   string `json:"by"`   // what was asked for
	Kept uint64 `json:"kept"` // events of the part
	Of   uint64 `json:"of"`   // events of the trace it was taken from
}
