package report

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestData: integers are written as encoding/json does, and the rest is not
// mistaken for them.
func TestData(t *testing.T) {
	reports := map[string]*Report{
		"none":  {},
		"rows":  {Sides: []*Side{{Traces: []*TraceView{{Rows: []Row{{Pieces: Pieces{}}, {Pieces: Pieces{one(-5, 20, 3, 1), one(1, 1<<62, 2, 3)}}, {}}}, {}}}, {}}},
		"names": {Names: []string{`"pieces":null`, "</script>"}, Sides: []*Side{{Label: `"pieces":null`, Traces: []*TraceView{{Rows: []Row{{Label: `"pieces":null`, Pieces: Pieces{one(1, 2, 3, 0)}}}}}}}},
		"taken": {Sides: []*Side{{Findings: []byte(`{"pieces":null}`), Traces: []*TraceView{{Rows: []Row{{Pieces: Pieces{one(4, 5, 0, 0)}}}}}}}},
	}
	for name, r := range reports {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.writeData(&b); err != nil || !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, b.Bytes(), want)
		}
		if again, _ := json.Marshal(r); !bytes.Equal(again, want) {
			t.Errorf("%s: the report was changed", name)
		}
	}
}
