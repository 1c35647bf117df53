package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/internal/unpack"
	"github.com/flagos-ai/flagos-trace/occupancy"
	"github.com/flagos-ai/flagos-trace/record"
)

const occupancyTableLong = `Calculate the occupancy of many configurations, a row each.

The input is CSV with a first line that names the columns major, minor (the compute
capability), block (threads), regs (of a thread), static_smem and dyn_smem (bytes of a
block), in any order. Other columns are passed on, blank lines are left out, and
compressed input is recognized by its content. Added to each row are:

  status         0; 1: the configuration cannot be; 2: unknown compute capability
  blocks_per_sm  blocks that an SM holds; 0: it cannot be launched
  limiting       what limits them, a sum of 1 warps, 2 registers, 4 shared memory,
                 8 blocks; 16 barriers
  by_regs, by_smem, by_warps, by_blocks
                 blocks that each resource alone allows; 2147483647: it does not limit

The numbers are those of NVIDIA's calculator for a device of the compute capability,
with shared memory up to the limit that a kernel may opt in to. A row with a status
other than 0 has the columns behind empty, and is named on standard error. A row that
is not made of numbers ends it. Memory does not grow with the rows.

Exit status:
  0    every row has status 0
  1    some have not, or the input is not such a table; the line is named
  2    the command line is wrong
  125  a file could not be read or written`

func newOccupancyTable() *cobra.Command {
	var in, out string
	cmd := &cobra.Command{
		Use:   "table --in file [--out file]",
		Short: "Calculate the occupancy of a table of configurations",
		Long:  occupancyTableLong,
		Example: `  flagos-trace occupancy table --in configs.csv --out occupancy.csv
  zcat configs.csv.gz | flagos-trace occupancy table --in - > occupancy.csv`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			stats, err := runTable(in, out, cmd.OutOrStdout())
			for _, reason := range stats.Reasons {
				fmt.Fprintln(cmd.ErrOrStderr(), record.Printable(fmt.Sprintf("%s: %s", in, reason), false))
			}
			if more := stats.Refused - int64(len(stats.Reasons)); more > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: and %s\n", record.Printable(in, false), number(int(more), "more row"))
			}
			switch {
			case errors.Is(err, occupancy.ErrTable), errors.Is(err, unpack.ErrDamaged):
				return &failure{exitFinding, fmt.Errorf("%s: %w", in, err)}
			case err != nil:
				return fail(err)
			case stats.Refused > 0:
				return &failure{status: exitFinding}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&in, "in", "", "CSV `file` of configurations, - for standard input")
	f.StringVar(&out, "out", "-", "`file` to write, - for standard output")
	if err := cmd.MarkFlagRequired("in"); err != nil {
		panic(err) // the name above is wrong
	}
	return cmd
}

// runTable reads and writes. A file that is written is whole or not there.
func runTable(in, out string, stdout io.Writer) (stats occupancy.TableStats, err error) {
	f := os.Stdin
	if in != "-" {
		if f, err = os.Open(in); err != nil {
			return stats, err
		}
		defer f.Close()
	}
	r, err := unpack.New(f)
	if err != nil {
		return stats, err
	}
	defer r.Close()
	table := func(w io.Writer) error {
		stats, err = occupancy.Table(r, w)
		return err
	}
	if out == "-" {
		return stats, ignorePipe(table(stdout))
	}
	err = writeOut(out, table)
	return stats, err
}
