// Package doctor finds out whether a recording would work on this machine, and
// if not, why, and what to do about it.
//
// Life cycle of an examination (Examine): the facts are gathered first - the
// agent, the Python interpreter, copies of the vendors' libraries, and runs of a
// tiny program on the device, alone and under the real recorder - and then the
// checks turn facts into findings, each with a status, what was seen, and a fix.
//
// A System is the machine as the checks see it: its files, environment, limits
// and commands. Everything goes through it, so that tests examine machines that
// do not exist.
//
// Traps:
//   - Nothing of a vendor is loaded into this process: libraries are looked for
//     as files, and tried by flagos-trace-probe in processes of its own, each
//     bounded in time.
//   - What a file search finds need not be what a program loads. Where the two
//     disagree, the live runs decide.
//   - On an Ascend device what is preloaded stands before the runtime's functions only
//     for who looks them up as a linked program does: the probe looks in the global
//     scope, not in the library.
//   - A fix is a claim. It must be true wherever its finding can appear, and name
//     paths that were seen, not ones that usually exist.
//   - What went wrong in the traced process is known as text only (diagnoses of
//     the binding). The words that diagnoses.go looks for are held in step with
//     the binding by the tests that provoke them.
package doctor
