// Package version tells the version of the program it is linked into, for
// traces, spools and `flagos-trace version`.
//
// Trap: a plain `go build` outside a repository knows neither a tag nor a
// commit, and says "devel" rather than invent one.
package version
