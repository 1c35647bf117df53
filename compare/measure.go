package compare

import "github.com/flagos-ai/flagos-trace/measure"

// Measures are what is measured of device work; times are ns.
type Measures = measure.Measures

// Whole is what is measured of a whole run; times are ns.
type Whole = measure.Whole

// measured has the measures of each span of device work of a run.
type measured = measure.Run
