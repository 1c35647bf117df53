package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
)

// structureFlags are the flags of diff that only the comparison of structure knows.
var structureFlags = []string{"baseline", "parity", "scope", "vendor", "exceptions", "capabilities"}

// added returns the names of the flags that add adds.
func added(f *pflag.FlagSet, add func(*pflag.FlagSet)) (names []string) {
	before := map[string]bool{}
	f.VisitAll(func(x *pflag.Flag) { before[x.Name] = true })
	add(f)
	f.VisitAll(func(x *pflag.Flag) {
		if !before[x.Name] {
			names = append(names, x.Name)
		}
	})
	return names
}

// checkMode refuses flags that would be ignored: those of a mode that was not chosen.
func checkMode(f *pflag.FlagSet, perf bool, perfFlags []string) (err error) {
	f.Visit(func(x *pflag.Flag) {
		switch {
		case err != nil:
		case perf && x.Name == "baseline":
			err = errors.New("--baseline names structure, in which there are no times: with --perf give a trace as BASE")
		case perf && slices.Contains(structureFlags, x.Name):
			err = fmt.Errorf("--%s is about structure, and --perf compares times: leave one of them out", x.Name)
		case !perf && x.Name != "perf" && slices.Contains(perfFlags, x.Name):
			err = fmt.Errorf("--%s goes with --perf, which compares times; without --perf diff compares structure", x.Name)
		}
	})
	return err
}

// onceStdin says so if standard input is to be read more than once.
func onceStdin(names ...string) error {
	n := 0
	for _, name := range names {
		if name == "-" {
			n++
		}
	}
	if n > 1 {
		return errors.New("- is given more than once: standard input can be read once; write the other trace to a file and name that")
	}
	return nil
}

// flagError says what is wrong with a flag's value in words of people.
func flagError(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	what, ok := map[string]string{"float64": "a number", "int": "a whole number", "bool": "true or false"}[bad.GetFlag().Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s is %q; it is %s", bad.GetFlag().Name, bad.GetValue(), what)
}
