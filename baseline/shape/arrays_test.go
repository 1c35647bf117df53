package shape

import (
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

func TestArrayForms(t *testing.T) {
	for text, want := range map[string]string{
		`[1,2,3]`: "3 integer", `[ 1, -2 ,3 ]`: "3 integer", `[1.5, 2]`: "2 integer|number", `[1e9]`: "1 number", `[]`: "0", `[ ]`: "0",
		`["1","2",null]`: "3 null|string", `[[1,2],[3]]`: "2 array", `[true, 1]`: "2 boolean|integer", `["a,b"]`: "1 string",
	} {
		var f forms
		f.add(chrome.Value(text))
		if got := f.names(); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	var f forms
	for n := range maxForms + 1 {
		f.add(chrome.Value("[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]"))
	}
	if got := f.names(); got != nil {
		t.Errorf("many lengths: %q", got)
	}
	for _, c := range []struct {
		form, among string
		fits        bool
	}{{"3 integer", "3 integer", true}, {"2 integer", "3 integer", false}, {"3 string", "3 integer", false}, {"3 integer", "3 number", true}, {"3 number", "3 integer", false}, {"0", "0", true}, {"0", "3 integer", false}} {
		if got := ArrayFits(c.form, []string{c.among}); got != c.fits {
			t.Errorf("%s among %s: %v", c.form, c.among, got)
		}
	}
	for form, want := range map[string]string{"3 integer": "an array of 3 integers", "1 string": "an array of 1 string", "0": "an empty array", "2 integer|number": "an array of 2 integers or numbers"} {
		if got := ArrayText(form); got != want {
			t.Errorf("%s: %s", form, got)
		}
	}
	// A trace whose arrays have many lengths says nothing of them, nor does the union.
	three, many, none := &Arg{Types: []string{"array"}, Arrays: []string{"3 integer"}}, &Arg{Types: []string{"array"}}, &Arg{Types: []string{"integer"}}
	if got := mergeArrays(three, many); got != nil {
		t.Errorf("with many: %q", got)
	}
	if got := mergeArrays(three, none); !slices.Equal(got, three.Arrays) {
		t.Errorf("with none: %q", got)
	}
}
