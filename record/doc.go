// Package record is the launcher behind `flagos-trace record`: it starts a
// program with the agent's shared library injected, stays out of its way, and
// turns the spool files it leaves into traces and a short summary.
//
// Life cycle of a recording (Run): find the agent, refuse what would be lost
// anyway (an injection slot held by somebody else, a folder that cannot be
// written), make a private spool folder, start the program, forward signals,
// wait, write one trace per traced process, summarize, remove the folder.
// CollectSpool, FromSpool, Recover and ImportCUPTI are the same last steps for
// files that exist already.
//
// Rules it keeps: the program's standard streams and exit status are its own, and
// signals are passed on; the recorder speaks on Options.Log only, before the program
// starts and after it has ended, and on the terminal of Options.Progress between;
// a spool is removed only when its trace is on disk.
//
// Traps:
//   - A process that never initialises the driver never loads the agent. "No
//     spool" therefore means "no device was used", and is not an error.
//   - The terminal sends SIGINT and SIGQUIT to the whole foreground process
//     group: passing on what the program got already would interrupt it twice.
//   - A process that the command left behind may begin to record at any time: the
//     spool folder is emptied file by file and then removed as an empty one, never
//     by its name with all that is in it.
//   - Processes started by a process of a rank inherit its RANK, and a launcher may
//     have been started with one: who is the rank follows from who started whom
//     (readRanks). A rank may have several spools, one for each attempt.
//   - The ranks are not the recorder's children: when and by what they ended is known
//     from watching them (watchEnds), and by what only if that is quicker than their
//     parent's wait.
//   - The note in the spool folder (recording.json) is for Recover only: a folder
//     with nothing else in it counts as empty.
//   - What the host side leaves beside a spool (hostFiles) is written by the traced
//     program: it is opened as nothing but a regular file of the same owner, and
//     none of its flaws keeps the device's side from being read. It goes into the
//     trace before the spool is decoded, slice by slice.
//   - An empty slice is one that limitHost removed.
//   - An ignored signal is inherited by the program only while the recorder does
//     not listen to it: see listen.
//   - One recording may hold times of several clocks: another profiler in the
//     process replaces the library's. Each record is placed by the clock that its
//     value belongs to (clockSamples), or counted as lost.
package record
