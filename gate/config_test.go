package gate

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// TestBadConfigs: each mistake is told with its place.
func TestBadConfigs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "it is empty"},
		{"version: 1\n", "asks for no check"},
		{"validate: {}\n", "version is 0"},
		{"version: 2\nvalidate: {}\n", "version is 2"},
		{"version: 1.5\nvalidate: {}\n", "line 1: `1.5` is not what belongs here, a whole number"},
		{"version: 1\nperformance: [{base: a, budgets: [{operator: a, max_count: 1.9}]}]\n", "line 2: `1.9` is not what belongs here, a whole number"},
		{"version: 1\nvalidate:\nstructure:\n", "line 3: structure is empty: it needs a list of checks"},
		{"version: 1\nvalidate:\nperformance: []\n", "line 3: performance is empty"},
		{"version: 1\nstructure:\n  - base: a\n  -\n", "line 4: an entry of structure is empty"},
		{"version: 1\nvalidat: {}\n", `line 2: there is no key "validat" here; there are version, new, structure, performance, validate, occupancy`},
		{"version: 1\nstructure:\n  - base: torch-cuda\n    scop: device\n", `line 4: there is no key "scop" here; there are name, new, member`},
		{"version: 1\nperformance:\n  - base: a\n    budgets:\n      - operator: a\n        max: 3\n", `line 6: there is no key "max" here; there are operator`},
		{"version: 1\nvalidate: {fail_on: 3, advisory: maybe}\n", "line 2: `maybe` is not what belongs here, true or false"},
		{"version: 1\nvalidate: {}\nvalidate: {}\n", "line 3"},
		{"version: 1\nvalidate: {}\n---\nversion: 1\n", "more than one document"},
		{"version: 1\nvalidate: {fail_on: never}\n", `fail_on is "never"`},
		{"version: 1\nvalidate: {rules: [moon]}\n", `there is no rule "moon"`},
		{"version: 1\nvalidate: {severity: {x: bad}}\n", `severity is "bad"`},
		{"version: 1\nvalidate: {accept: [{assertion: x}]}\n", "accept 1: it needs an assertion and a reason"},
		{"version: 1\nvalidate: {accept: [{assertion: x, reason: y, expires: soon}]}\n", `expires is "soon"`},
		{"version: 1\nstructure: [{scope: moon}]\n", `structure 1: scope is "moon"`},
		{"version: 1\nstructure: [{accept: [{assertion: moon, reason: y}]}]\n", `structure 1: accept: there is no assertion "moon"; there are categories`},
		{"version: 1\nstructure: [{vendor: moon}]\n", `structure 1: vendor is "moon", which nobody knows; there are amd, ascend,`},
		{"version: 1\nstructure: [{parity: moon}]\n", `parity is "moon"`},
		{"version: 1\nperformance: [{}]\n", "performance 1: base is missing"},
		{"version: 1\nperformance: [{base: a, alpha: 2}]\n", "alpha is 2"},
		{"version: 1\nperformance: [{base: a, min_effect: 0}]\n", "min_effect is 0"},
		{"version: 1\nperformance: [{base: a, alpha: much}]\n", "line 2: `much` is not what belongs here, a number"},
		{"version: 1\nperformance: [{base: a, correction: luck}]\n", `correction is "luck"`},
		{"version: 1\nperformance: [{base: a, metrics: [luck]}]\n", `metrics has "luck"`},
		{"version: 1\nperformance: [{base: a, budgets: [{max_count: 1}]}]\n", "budget 1: it needs an operator"},
		{"version: 1\nperformance: [{base: a, budgets: [{operator: a}]}]\n", "it needs max_increase"},
		{"version: 1\nperformance: [{base: a, budgets: [{operator: a, kernel: b, max_count: 1}]}]\n", "names both kernel and operator"},
		{"version: 1\nperformance: [{base: a, budgets: [{operator: a, max_increase: -1}]}]\n", "max_increase is -1"},
		{"version: 1\nperformance: [{base: a, budgets: [{operator: a, max_time: 3}]}]\n", "a time such as 1.5ms"},
		{"version: 1\noccupancy:\n", "it needs min, min_achieved or ratchet"},
		{"version: 1\noccupancy: {min: 101}\n", "min is 101"},
		{"version: 1\nnew: {a: b}\nvalidate:\n", "line 2"},
		{"version: [\n", "line"},
	} {
		_, err := Parse([]byte(c.text))
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n%v\nwant %s", c.text, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "gate.") {
			t.Errorf("%q: names a type of Go: %v", c.text, err)
		}
	}
}

// TestExample: the example is a configuration as it stands, and with all that is
// commented out.
func TestExample(t *testing.T) {
	c, err := Parse(Example)
	if err != nil || c.Validate == nil || len(c.Structure) != 1 || len(c.Performance) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	// A setting that is not in use has no single space behind its #, as text has.
	hidden := regexp.MustCompile(`(?m)^( *)#([^ \n]|  )`)
	all := hidden.ReplaceAll(hidden.ReplaceAll(Example, []byte("$1$2")), []byte("$1$2"))
	if c, err = Parse(all); err != nil {
		t.Fatalf("%v:\n%s", err, all)
	}
	if len(c.Performance) != 1 || len(c.Performance[0].Budgets) != 3 || c.Occupancy == nil || c.Occupancy.Ratchet == "" || !c.Validate.Advisory ||
		len(c.Structure[0].Accept) != 1 || c.Structure[0].Severity["metadata"] != "note" || c.Structure[0].Vendor == "" {
		t.Errorf("not all is in use: %+v", c)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(string(Example))
	f.Add("version: 1\nvalidate: {fail_on: note}\nnew: a\n")
	f.Add("version: 1\nperformance: [{base: a, budgets: [{operator: a, max_time: 1ms}]}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Parse([]byte(text)); err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("%v", err)
		}
	})
}
