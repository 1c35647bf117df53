package record

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
)

// report prints and writes the summary and returns all that failed.
func (f *finisher) report(failed []error) error {
	err := errors.Join(failed...)
	sum := &f.result.Summary
	for _, e := range failed {
		if e != nil {
			sum.Failures = append(sum.Failures, e.Error())
		}
	}
	sum.addCosts()
	if !f.options.JSON {
		_ = sum.Print(f.options.Log, f.options.Width) // where stderr is gone there is nobody to tell
	}
	if f.options.SummaryFile != "" {
		err = errors.Join(err, writeSummary(f.options.SummaryFile, sum))
	}
	return err
}

// conclude writes the summary for scripts, once nothing is left to come of it.
func conclude(o *Options, r *Result, err error) {
	if !o.JSON {
		return
	}
	s := r.Summary
	s.SpoolDir = r.SpoolDir
	if err != nil && len(s.Failures) == 0 {
		s.Failures = []string{err.Error()}
	}
	if data, err := json.Marshal(s); err == nil {
		_, _ = o.Log.Write(append(data, '\n')) // where stderr is gone there is nobody to tell
	}
	r.Concluded = true
}

// writeSummary writes the summary beside its place and moves it there.
func writeSummary(name string, s *Summary) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := outfile.Create(name)
	if err == nil {
		defer f.Abort()
		if _, err = f.Write(append(data, '\n')); err == nil {
			err = f.Commit()
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	return nil
}
