// Package measure measures device work: how long each kernel, copy and fill ran, how
// much of that other work ran beside it, how long its device had nothing to do before,
// and how long its launch took.
//
// Life cycle: Of measures a call tree once; the Run is then only read.
//
// Traps:
//   - Times of work that runs at the same time count in full: DeviceNS of a run may be
//     more than BusyNS. OverlapNS says how much of it is so.
//   - Idle time stands with the work that ended it. Idle time before a device's first
//     work and after its last is not in it.
//   - Sums are integers, and traces may hold any times: ask Bounds before adding up.
//   - A device is told by its ordinal and the process its rows stand under: those of
//     two parts of a merged trace are two.
package measure
