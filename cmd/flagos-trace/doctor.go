package main

import (
	"errors"
	"fmt"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/doctor"
)

const doctorLong = `Find out whether a recording would work here, and if not, why and what to do.

It looks at the agent, at variables and limits that matter, at the devices and the
vendors' libraries, and at Python and torch (torch is not imported). Then
flagos-trace-probe, a tiny program, uses the first device, CUDA's or Ascend's: alone,
and recorded as any program would be, so that the library that is used, its version,
its records and their clock are seen at work. A run that hangs is ended after 10 s.
The probe takes some memory of the device for a moment; --no-probe leaves the device
alone.

Every finding has a status - ok, warn, fail, or skip for what does not apply - and,
for warn and fail, a fix. The last lines are the verdict and what to mend first.

With --json the findings are an object: verdict (ok, warn or fail), summary,
findings (id, group, status, seen, fix), and the completeness record of each trial
recording. Ids stay the same from version to version.

Exit status:
  0    all is well, or there are warnings only
  1    a recording would fail
  2    the command line is wrong
  125  flagos-trace itself failed`

func newDoctor() *cobra.Command {
	var o doctor.Options
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Tell whether a recording would work here, and what to mend",
		Long:  doctorLong,
		Example: `  flagos-trace doctor
  flagos-trace doctor --json > doctor.json
  flagos-trace doctor --python .venv/bin/python -o /data/run7.json.gz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := doctor.ThisSystem()
			if err != nil {
				return fail(err)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
			defer stop()
			r, err := doctor.Examine(ctx, s, o)
			if err != nil {
				return fail(fmt.Errorf("interrupted: %w", err))
			}
			if asJSON {
				err = r.WriteJSON(cmd.OutOrStdout())
			} else {
				err = r.Print(cmd.OutOrStdout(), verbose)
			}
			if err != nil && !errors.Is(err, unix.EPIPE) {
				return fail(err)
			}
			if r.Verdict == doctor.Fail {
				return &failure{status: exitFinding}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVarP(&verbose, "verbose", "v", false, "show checks that were skipped, too")
	f.StringVarP(&o.Output, "output", "o", "trace.json.gz", "`file` that would be recorded to")
	f.BoolVar(&o.Chain, "chain", false, "examine a recording with --chain")
	f.BoolVar(&o.NoProbe, "no-probe", false, "do not use the device")
	f.StringVar(&o.Python, "python", "", "`interpreter` that runs the program (default: python3 in PATH)")
	return cmd
}
