// Package gate makes the checks that a configuration asks for and comes to one
// verdict: structure against baselines, times against other runs with budgets by
// operator, the rules of package validate, and occupancy.
//
// Life cycle: Load a configuration, Run it once over the traces, and write the
// verdict.Report that comes out. Example is a configuration that explains itself.
//
//	c, err := gate.Load("gate.yaml")
//	report := c.Run(nil, time.Now())
//	err = report.Write(os.Stdout, "markdown", "1.0")
//
// # Traps
//
//   - Paths in a configuration are relative to its folder; those on the command line
//     are not.
//   - What cannot be read makes a check incomparable, and the other checks are made
//     all the same; only a configuration that cannot be used is an error.
//   - A check without a trace to judge is incomparable, not passed.
//   - Traces are read again by each kind of check: "-" will not do.
package gate
