// Package bootstrap holds the start-up file that makes Python programs record
// their operators: a sitecustomize.py that the recorder puts in front of
// PYTHONPATH.
//
// Life cycle: [Write] once for a recording, [PythonPath] for the child's
// environment. In each Python process the file waits for torch. When torch has
// been imported it loads the agent's library, tells it what to call, and then
// only does what the library asks for: it runs sessions of torch's own profiler
// (CPU activities) while a window is open and the device is in use, and saves
// each as a slice of the recording.
//
// The file has two parts. sitecustomize.py itself runs in every Python process
// and is kept small; the files below parts are joined into a string that is
// compiled only once torch is there:
//
//	state     what is known; the guard around everything of ours; status lines
//	sessions  our own sessions: when they begin and end, and saving them
//	program   sessions that the program runs itself: they go first, and are copied
//	steps     windows by optimizer step
//	setup     what is patched, forks, the end of the process
//
// Traps:
//   - torch keeps a pointer into a session for each operator and range that is
//     open. If the session ends and another begins before the operator has
//     ended, torch writes into freed memory. Sessions therefore follow each other
//     only where no operator of the main thread can be open, and ranges of
//     record_function are ended and begun again around the change.
//   - Callbacks on all threads (profile_all_threads) crashed programs at the end
//     of a session before torch 2.14, so older ones see the main thread and the
//     autograd threads that work for it. FLAGOS_TRACE_HOST=threads asks for all
//     threads regardless.
//   - A result without a trace must never be saved, and no result twice.
//   - A signal can arrive between any two bytecodes. Calls to torch that change
//     what runs are made so that the call and the note of it cannot be separated,
//     and everything else can be begun again.
//   - In a forked child nothing of this runs: no session, no file.
package bootstrap
