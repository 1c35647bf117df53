// Package hostile makes documents that are hard to read in little memory, for tests
// that hold readers to a bound, and measures what reading them takes.
package hostile
