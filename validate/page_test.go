package validate

import "testing"

// TestPage keeps docs/rules.md equal to the table.
func TestPage(t *testing.T) { golden(t, "../docs/rules.md", Page()) }

// TestTable: every rule says all that a report needs.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for i := range rules {
		r := &rules[i]
		if r.ID == "" || r.Title == "" || r.Why == "" || r.Fix == "" || r.Applies == "" || seen[r.ID] {
			t.Errorf("rule %d: %+v", i, r)
		}
		seen[r.ID] = true
	}
	torch := 0
	for _, r := range Rules() {
		if r.Torch != "" {
			torch++
		}
	}
	if torch != 6 {
		t.Errorf("%d of torch's 6 rules", torch)
	}
}
