// Package outfile writes a result to a place a user named, whole or not at all.
//
// A regular file is written under a temporary name in its own folder and renamed
// when complete; a symbolic link is followed, a dangling one too. What is not a
// regular file (a pipe, /dev/null) is written to as it is and never replaced, nor is
// what a descriptor of this process is named for (/dev/stdout, /dev/fd/3), whatever
// it leads to: a shell's "> log" may have other text before and behind the result.
//
// Errors, those of writing too, are about the name that was asked for: a temporary one
// tells nobody anything.
//
// Two writers of one name replace each other's results, the later one the
// earlier; KeepSince is for those that must not.
//
// Life cycle: Create; write; then Commit, or Abort. Abort after Commit does
// nothing, so it can be deferred. A process that ends before that calls
// RemoveTemporaries.
//
// Trap: /dev/stdout is a link to a link that names no path where it is a pipe:
// whether something exists is asked of the system (stat), not of its name.
package outfile
