package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/gate"
)

const gateLong = `Make the checks of a configuration and come to one verdict for a pipeline: the rules
of validate, structure against baselines or traces, times against other runs with
budgets by operator, and occupancy. The worst verdict of the checks is the gate's;
checks marked as advisory are told and do not count.

The traces are those of the command line, or those that the configuration names under
new. Paths in it are relative to its folder. Keys that it does not know are refused,
with the line, and so are two checks of one name. --init writes a configuration that
explains itself. --baseline does without one.

A check whose input cannot be used is incomparable, and the others are made all the
same. docs/ci.md tells how to use it in GitHub Actions and GitLab.

` + outputsHelp + `

Exit status:
  0    all checks came to pass or improvement
  1    regression: something is worse, or different
  2    inconclusive: something could not be judged
  3    incomparable: a trace is incomplete or cannot be used, the configuration is wrong,
       or the command line is
  125  the results could not be written`

func newGate() *cobra.Command {
	var out outputs
	var config, base string
	var schema, create bool
	cmd := &cobra.Command{
		Use:   "gate [--config FILE] [TRACE...]",
		Short: "Make the checks of a configuration and come to one verdict",
		Long:  gateLong,
		Example: `  flagos-trace gate --init
  flagos-trace gate --config gate.yaml trace.json.gz
  flagos-trace gate --baseline torch-cuda trace.json.gz
  flagos-trace gate -o junit=gate.xml -o sarif=gate.sarif --format text,github run*.json.gz`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w := cmd.OutOrStdout()
			switch {
			case schema:
				_, err := w.Write(verdict.ReportSchema())
				return fail(err)
			case create && len(args) > 0:
				return badInput(errors.New("--init takes no traces"))
			case create:
				return writeExample(cmd, config)
			}
			if err := out.check(); err != nil {
				return badInput(err)
			}
			c, err := loadGate(cmd, config, base)
			if err != nil {
				return badInput(err)
			}
			if err := out.apart(append(c.Inputs(args), base)...); err != nil {
				return badInput(err)
			}
			return out.write(w, c.Run(args, time.Now()), nil)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return badInput(flagError(err)) })
	f := cmd.Flags()
	f.StringVar(&config, "config", "gate.yaml", "configuration `file`; - is standard input")
	f.StringVar(&base, "baseline", "", "instead of a configuration: check the rules of validate, and the structure against this embedded baseline, baseline file or trace")
	f.BoolVar(&create, "init", false, "write a configuration to begin with, and end")
	out.addFlags(f)
	f.BoolVar(&schema, "schema", false, "print the schema of the JSON and end")
	return cmd
}

// loadGate is the configuration of a file, or the one for a base.
func loadGate(cmd *cobra.Command, config, base string) (*gate.Config, error) {
	if base == "" && cmd.Flags().Changed("baseline") {
		return nil, errors.New("--baseline is empty: it names what traces are held against, such as torch-cuda")
	}
	if base != "" {
		if cmd.Flags().Changed("config") {
			return nil, errors.New("--baseline stands instead of --config: give one of them")
		}
		return gate.Against(base), nil
	}
	c, err := gate.Load(config)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; flagos-trace gate --init writes one", err)
	}
	return c, err
}

// writeExample writes the example where there is no file yet.
func writeExample(cmd *cobra.Command, path string) error {
	if path == "-" {
		_, err := cmd.OutOrStdout().Write(gate.Example)
		return fail(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return badInput(fmt.Errorf("%s is there already, and is not written over; --config names another", path))
	}
	if err == nil {
		_, err = f.Write(gate.Example)
		err = errors.Join(err, f.Close())
	}
	return fail(err)
}
