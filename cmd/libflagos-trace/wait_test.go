package main_test

import (
	"os/exec"
	"syscall"
)

func waitStatus(e *exec.ExitError) syscall.WaitStatus { return e.Sys().(syscall.WaitStatus) }
