package main

import (
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
)

// onInterrupt has the signals that end a process remove what was written of a
// result before they do, until the function it returns is called. Those that are
// ignored stay so. also is called in between.
func onInterrupt(cmd *cobra.Command, also ...func()) (stop func()) {
	ch := make(chan os.Signal, 1)
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	done, idle := make(chan struct{}), make(chan struct{})
	go func() {
		select {
		case <-done:
			close(idle)
		case sig := <-ch:
			n := sig.(unix.Signal)
			outfile.RemoveTemporaries()
			for _, f := range also {
				f()
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: interrupted by %s: what was not complete is removed\n", cmd.CommandPath(), unix.SignalName(n))
			os.Exit(128 + int(n))
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
		<-idle // never, where a signal came: it decides the status
	}
}
