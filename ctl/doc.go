// Package ctl talks to the agents of traced processes while they run: it starts
// and stops recording, asks how it stands, and has what is finished put into the
// spool.
//
// Life cycle: Find turns a process id, of a traced process or of anything above
// one, into Targets; Ask sends one of them a command and returns its reply. What
// goes over the socket is described in package spool.
//
// Traps:
//   - A process has a socket only once it initialised the device's driver.
//   - Process ids are used again: a Target holds the start time as well, and the
//     peer of a connection is checked to be that process.
//   - A process in another pid namespace goes by another id there and is not
//     found.
package ctl
