package record

import (
	"bytes"
	"strings"
	"testing"
)

// A vendor without a tracer that FlagOS is told to use is told of, before the program
// runs and in its trace, and the program runs all the same.
func TestRunsOnUntracedVendor(t *testing.T) {
	for _, c := range []struct {
		value string
		times int
	}{{"enflame", 2}, {"cuda", 0}} {
		cmd := recorder(t, t.TempDir(), nil, "sh", "-c", "exit 7")
		cmd.Env = append(cmd.Env, "FLAGOS_ACCELERATOR="+c.value)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if got := status(t, cmd.Run()); got != 7 || strings.Count(errs.String(), "its library TOPSPTI has no public header") != c.times {
			t.Errorf("%s: status %d\n%s", c.value, got, &errs)
		}
	}
}
