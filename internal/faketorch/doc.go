// Package faketorch holds a stand-in for the Python package torch: what the
// recorder's start-up file calls and patches, with the behaviour that the real
// package has there, for tests on machines without torch.
//
// Life cycle: [Install] into a folder of the test's, which goes into PYTHONPATH.
//
// What it imitates: one profiler a process with sessions bound to a thread
// ("already enabled") or, with profile_all_threads, to the process; results that
// can be saved once, and crash the process if they hold no trace; operators
// whose end is written into the session they began in, and crash the process if
// another session is there by then (before 2.14, or without all threads); the
// flag for compiled code; lazy initialisation of the device, which fails in a
// child forked after a session ran; the ranges around optimizer steps and the
// hooks inside them; schedules; a DataLoader that forks; process groups, which are
// made after the device was first used and forgotten in a certain order, and a
// launcher of ranks that initialises the device (torch.distributed.run).
//
// FAKETORCH_VERSION chooses the version behaved as. FAKETORCH_DEVICE names a
// shared library with int faketorch_init(void) and int faketorch_launch(void),
// called when the device is initialised and for each operator on it.
// FAKETORCH_RANK makes the process a rank from the start, without a group being made;
// FAKETORCH_LAUNCHER_USES has the launcher use the device.
//
// Traps:
//   - contract/contract.py checks the same assumptions against the torch that is
//     importable, the real one or this. A behaviour added here belongs there too.
package faketorch
