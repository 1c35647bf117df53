package shape

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestIdentity: files are known by their schema, or as those of older versions by
// format and version; what is of a newer form is told as that.
func TestIdentity(t *testing.T) {
	const rest = `, "categories": {"kernel": {"presence": "always"}}}`
	for _, c := range []struct {
		head, want string
		ours       bool
	}{
		{`{"schema": "flagos-trace.baseline/1", "format": "flagos-trace-baseline", "version": 1`, "", true},
		{`{"format": "flagos-trace-baseline", "version": 1`, "", true},
		{`{"schema": "flagos-trace.baseline/1"`, "", true},
		{`{"schema": "flagos-trace.baseline/2"`, "its form is flagos-trace.baseline/2, and this program knows flagos-trace.baseline/1", true},
		{`{"format": "flagos-trace-baseline", "version": 2`, "it is of version 2, and this program knows up to 1", true},
		{`{"schema": "flagos-trace.diff/1"`, `its "schema" is "flagos-trace.diff/1", not "flagos-trace.baseline/1"`, false},
		{`{"format": "x"`, `its "format" is "x", not "flagos-trace-baseline"`, false},
		{`{"schema": "flagos-trace.baseline/1", "note": 3`, "byte 47: note is of JSON's type number, which does not belong there", true},
		{`{"schema": "flagos-trace.baseline/1", "moon": 3`, `unknown field "moon"`, true},
		{`{"schema": 3`, "byte 12: schema is of JSON's type number, which does not belong there", false},
		{`{"schema": x`, "byte 12: invalid character 'x'", false},
	} {
		s, err := Read([]byte(c.head + rest))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !errors.Is(err, ErrBaseline) || !strings.Contains(err.Error(), ": "+c.want)):
			t.Errorf("%s: %v, want %s", c.head, err, c.want)
		case err != nil && (strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "shape.")):
			t.Errorf("%s: names a type of Go: %v", c.head, err)
		}
		if got := IsBaseline([]byte(c.head + rest)); got != c.ours {
			t.Errorf("%s: a baseline: %v", c.head, got)
		}
		if err != nil {
			continue
		}
		var b bytes.Buffer
		if err := s.Write(&b); err != nil || !strings.HasPrefix(b.String(), "{\n  \"schema\": \"flagos-trace.baseline/1\",\n  \"format\": \"flagos-trace-baseline\",\n  \"version\": 1,\n") {
			t.Errorf("%s, %v", b.String(), err)
		}
	}
}
