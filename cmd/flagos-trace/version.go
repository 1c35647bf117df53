package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/internal/version"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s %s/%s %s\n", version.Full(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return fail(err)
		},
	}
}
