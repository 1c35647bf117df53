// Command build-fakegpu builds the look-alike GPU libraries and the workload
// into a directory:
//
//	build-fakegpu bin/fakegpu
//
// It prints the environment that makes a program use them.
package main

import (
	"fmt"
	"os"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

func main() {
	if len(os.Args) != 2 || os.Args[1] == "" || os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, "usage: build-fakegpu DIR")
		os.Exit(2)
	}
	p, err := fakegpu.Install(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("built %s\nrun with:\n", p.Dir)
	for _, e := range p.Env(fakegpu.CUPTI13) {
		fmt.Printf("  export %s\n", e)
	}
}
