// Package sarif holds the parts of SARIF 2.1.0 that commands write, for whatever
// reads the findings of static analyses. Source: OASIS, Static Analysis Results
// Interchange Format Version 2.1.0.
//
// Life cycle: fill a Run and Write it as a log of its own.
//
// Trap: readers take an absent list of results for a run that did not look; Results
// of a run that found nothing is empty, not nil.
package sarif
