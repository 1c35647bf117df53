package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/ctl"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/spool"
)

const ctlExits = `

Exit status:
  0    done, in all processes
  1    a process refused or failed, did not answer in time, has ended, is not traced, or
       is another user's
  2    the command line is wrong
  125  flagos-trace itself failed`

const ctlLong = `Start and stop recording in a process that flagos-trace record started, ask how it
stands, or have what is finished put where it can be read.

PID is a traced process, or flagos-trace record or any other process above traced
ones: then all of those are meant. A process can be controlled once it has used the
GPU, by its own user and by root, over a socket in the folder for the data.`

// answer is what became of one process.
type answer struct {
	Process string `json:"process,omitempty"`
	spool.Reply
	Error string `json:"error,omitempty"`
}

func newCtl() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Control recording in a running process",
		Long:  ctlLong + ctlExits,
		Example: `  flagos-trace record --start-paused -- python train.py &
  flagos-trace ctl start $!
  flagos-trace ctl stop $!`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newCtlCommand(spool.CommandStart, "Enable recording and open a window", `Enable recording and open a window. In a process that records already, the window
stays open, and the vendor's library is taken back from another profiler that may
have taken it.`),
		newCtlCommand(spool.CommandStop, "Close the window and disable recording", `Fetch all records, close the window, and disable recording: the process runs on as
if nothing was recorded. The trace holds all windows; it is written when the
process has ended. PyTorch's operators are safe in the data as soon as the program's
main thread runs Python code, which is waited for, 2 s at most.`),
		newCtlCommand(spool.CommandStatus, "Tell how recording stands", `Tell how recording stands: whether it is enabled, how many windows were opened, the
size of the data, and what was lost.`),
		newCtlCommand(spool.CommandSnapshot, "Make what is finished readable now", `Have what is finished put into the data and say where that is: flagos-trace import
spool can read it while the process runs. With -o, do that at once. PyTorch's
operators are in it as soon as the program's main thread runs Python code, which is
waited for, 2 s at most.`),
	)
	return cmd
}

func newCtlCommand(name, short, long string) *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	var output string
	cmd := &cobra.Command{
		Use:   name + " [flags] PID",
		Short: short,
		Long:  long + ctlExits,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return err
			}
			if pid, err := strconv.Atoi(args[0]); err != nil || pid <= 0 {
				return fmt.Errorf("%s is no process id", args[0])
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout %v: it must be above 0", timeout)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, _ := strconv.Atoi(args[0])
			targets, err := ctl.Find(pid)
			if err != nil {
				return ctlFailure(err)
			}
			list, err := askAll(targets, name, timeout)
			if name == spool.CommandSnapshot || name == spool.CommandStop {
				awaitOperators(targets, list, timeout)
			}
			if err := writeAnswers(cmd.OutOrStdout(), list, asJSON); err != nil {
				return fail(err)
			}
			if err != nil {
				return ctlFailure(err)
			}
			if output == "" {
				return nil
			}
			o := record.Options{Output: orStdout(output), Log: cmd.ErrOrStderr(), Width: width(os.Stderr)}
			from := targets[0].Dir
			if len(targets) == 1 {
				// The process says its name, not where it is.
				name := filepath.Base(list[0].Spool)
				if !strings.HasPrefix(name, strconv.Itoa(targets[0].PID)+".") {
					return ctlFailure(fmt.Errorf("%w: the spool of process %d is not named %q", ctl.ErrProtocol, targets[0].PID, name))
				}
				from = filepath.Join(from, name)
			}
			defer onInterrupt(cmd)()
			_, err = record.FromSpool(from, o)
			return fail(err)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&timeout, "timeout", 10*time.Second, "how long to wait for each process, as a `duration` such as 10s")
	f.BoolVar(&asJSON, "json", false, "print JSON: a list of what each process said")
	if name == spool.CommandSnapshot {
		f.StringVarP(&output, "output", "o", "", "`file` to write a trace of what is there to, - for standard output")
	}
	return cmd
}

// operatorsTime bounds how long operators are waited for: a
// program that is inside one long call of a library's lets nobody write them.
const operatorsTime = 2 * time.Second

// awaitOperators waits until the operators recorded so far are in the data.
func awaitOperators(targets []ctl.Target, list []answer, timeout time.Duration) {
	deadline := time.Now().Add(min(timeout, operatorsTime))
	for i, t := range targets {
		if list[i].OK && list[i].Spool != "" {
			record.AwaitSlices(filepath.Join(t.Dir, filepath.Base(list[i].Spool)), deadline)
		}
	}
}

// ctlFailure is the failure of a process rather than of the tool, where it is.
func ctlFailure(err error) error {
	for _, e := range []error{ctl.ErrEnded, ctl.ErrNotTraced, ctl.ErrOtherUser, ctl.ErrTimeout, ctl.ErrProtocol, errRefused} {
		if errors.Is(err, e) {
			return &failure{exitFinding, err}
		}
	}
	return fail(err)
}

// errRefused is a reply that is not OK.
var errRefused = errors.New("refused")

// askAll asks each process and returns all answers and what failed.
func askAll(targets []ctl.Target, command string, timeout time.Duration) ([]answer, error) {
	list := make([]answer, len(targets))
	done := make(chan int)
	failed := make([]error, len(targets))
	for i, t := range targets {
		go func() {
			defer func() { done <- i }()
			r, err := ctl.Ask(t, command, timeout)
			list[i] = answer{Process: t.Process, Reply: r}
			switch {
			case err != nil:
				list[i].PID = t.PID
				// However it failed, it is the process's matter.
				failed[i] = fmt.Errorf("%w: %w", errRefused, err)
				list[i].Error = err.Error()
			case !r.OK:
				failed[i] = fmt.Errorf("process %d: %s %w: %s (%s)", t.PID, command, errRefused, r.Text, r.Code)
			}
		}()
	}
	for range targets {
		<-done
	}
	return list, errors.Join(failed...)
}

func writeAnswers(w io.Writer, list []answer, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(list)
	}
	for _, a := range list {
		if a.Error != "" {
			continue // told on stderr
		}
		text := fmt.Sprintf("%d %s: %s, windows opened: %d, spool: %d bytes", a.PID, record.Printable(a.Process, false), a.State, a.Window, a.Size)
		if n := a.Counters; n != nil {
			text += fmt.Sprintf(", buffers: %d", n.BuffersDelivered)
			for _, loss := range []struct {
				n    uint64
				what string
			}{
				{n.BuffersDiscarded, "buffers lost"}, {n.BytesUnwritten, "bytes not written"},
				{n.BytesOverSize, "bytes beyond --max-size"}, {n.RingDropped, "bytes left the ring"},
			} {
				if loss.n > 0 {
					text += fmt.Sprintf(", %s: %d", loss.what, loss.n)
				}
			}
			if n.RecordsDropped != nil && *n.RecordsDropped > 0 {
				text += fmt.Sprintf(", records lost by the library: %d", *n.RecordsDropped)
			}
		}
		if _, err := fmt.Fprintf(w, "%s\n  %s\n", text, record.Printable(a.Spool, false)); err != nil {
			return err
		}
	}
	return nil
}
