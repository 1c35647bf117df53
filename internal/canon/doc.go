// Package canon lists what a timeline holds in words, for tests that compare
// timelines by their content.
package canon
