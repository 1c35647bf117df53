// Package guest holds system calls as code makes them that lives in somebody
// else's process.
//
// There the file functions of package os, and timers, are traps: the first of
// them has the Go runtime make an epoll descriptor, which ends the process when
// the descriptor table is full, and again when the program closes descriptors it
// does not know, as daemons do. What is here uses descriptors for the moment of
// a call, or tells when a kept one was taken away.
package guest
