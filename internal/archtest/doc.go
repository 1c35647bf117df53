// Package archtest holds tests of the module as a whole: which package may
// import which, that sources are formatted and documented, and that generated
// files are current. It has no code of its own.
//
// Trap: an import that is new has to be added to the arrows in arrows_test.go,
// by hand and on purpose.
package archtest
