package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/internal/version"
)

// Exit statuses of every command. Those that only record has are described in
// its help.
const (
	exitOK      = 0
	exitFinding = 1   // check or doctor found something
	exitUsage   = 2   // the command line is wrong
	exitFailure = 125 // flagos-trace itself failed
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run executes a command line and returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	var failed *failure
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, &failed):
		// Cobra's own errors are about the command line.
		fmt.Fprintf(stderr, "%s: %s\nRun '%s --help' for usage.\n", cmd.CommandPath(), errorText(err), cmd.CommandPath())
		return exitUsage
	case failed.err != nil:
		fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), errorText(failed.err))
	}
	return failed.status
}

// failure is the error of a command that was understood and did not succeed. A
// nil err is a status with nothing to say.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// fail marks an error as the tool's own failure, unless it has a status already.
func fail(err error) error {
	if f := (*failure)(nil); err == nil || errors.As(err, &f) {
		return err
	}
	return &failure{exitFailure, err}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "flagos-trace",
		Short: "Record GPU traces of any program in Kineto's format",
		Long: `flagos-trace records what a program does on the GPU - kernels, copies, API calls -
and writes the trace that torch.profiler would have written, without a change to
the program. Open it in Perfetto (https://ui.perfetto.dev) or chrome://tracing.

Exit status:
  0      done
  1      check, validate: the trace breaks a rule; repair: something remains;
         doctor: a recording would fail; occupancy: the kernel cannot be launched, or a
         gate fails; diff, gate: a regression
  2      the command line is wrong; diff, gate: inconclusive
  3      merge, ranks: clocks cannot be aligned; diff, gate: incomparable, input that
         cannot be used, or the command line is wrong
  125    flagos-trace itself failed
  128+n  signal n ended it
record passes on the program's own status; see flagos-trace record --help.`,
		Example: `  flagos-trace record -- python train.py
  flagos-trace check trace.json.gz`,
		Version:           version.Full(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.InitDefaultVersionFlag()
	root.AddCommand(newRecord(), newCat(), newCut(), newMerge(), newRanks(), newSummary(), newCtl(), newRecover(), newDoctor(), newImport(), newCheck(), newValidate(), newRepair(), newOccupancy(), newBaseline(), newDiff(), newGate(), newPprof(), newExport(), newOpen(), newReport(), newVersion())
	return root
}
