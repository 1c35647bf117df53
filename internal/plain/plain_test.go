package plain

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		in    string
		lines bool
		want  string
	}{
		{"plain \"text\" \\ 'x'", false, "plain \"text\" \\ 'x'"},
		{"größe 大小 \u202f", false, "größe 大小 \u202f"},
		{"\x1b[31mred\a\x00\x7f", false, `\x1b[31mred\a\x00\x7f`},
		{"a\nb\tc\r", false, `a\nb\tc\r`},
		{"a\nb\tc\r", true, "a\nb" + `\tc\r`},
		{"x\n::error::pwned", false, `x\n::error::pwned`},
		{"\u009b2J", false, `\u009b2J`},       // CSI of the C1 set
		{"\x9b2J \xff", false, `\x9b2J \xff`}, // the same to terminals of 8 bits
		{"\ufffd", false, "\ufffd"},
		{"a\u202egnp.exe\u2066\u200f\u061c", false, `a\u202egnp.exe\u2066\u200f\u061c`},
		{"\u2028\u2029\u200b\ufeff", true, `\u2028\u2029\u200b\ufeff`},
		{"\U000e0041", false, `\U000e0041`}, // a tag: seen by nobody
	} {
		if got := Text(c.in, c.lines); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// TestJSON: what would act is escaped, and is the same when it is read.
func TestJSON(t *testing.T) {
	in := map[string]string{"k\u202e": "\u009b2J\x7f\u2066\U000e0041<b>&größe\n\u2028"}
	var b bytes.Buffer
	if err := JSON(&b, in, " "); err != nil {
		t.Fatal(err)
	}
	if want := "{\n \"k\\u202e\": \"\\u009b2J\\u007f\\u2066\\udb40\\udc41<b>&größe\\n\\u2028\"\n}\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	var out map[string]string
	if err := json.Unmarshal(b.Bytes(), &out); err != nil || out["k\u202e"] != in["k\u202e"] {
		t.Errorf("%q, %v", out, err)
	}
	b.Reset()
	if err := JSON(&b, "a\xffb", ""); err != nil || strings.TrimSpace(b.String()) != `"a\ufffdb"` {
		t.Errorf("%q, %v", b.String(), err)
	}
}
