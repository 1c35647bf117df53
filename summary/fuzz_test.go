package summary

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// FuzzSummary: whatever a trace holds, sums are right, the critical path ends, and JSON
// and tables can be written.
func FuzzSummary(f *testing.F) {
	for _, w := range []*writer{program(), new(writer).op("aten::mm", 0, 10, 1), new(writer).kernel("k", 7, 0, 10, 0, "").kernel("k", 7, 5, 10, 0, "")} {
		f.Add([]byte(`{"traceEvents":[` + strings.Join(w.events, ",") + "]}"))
	}
	f.Add([]byte(`[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9007199254740,"dur":9223372036854775,"args":{"correlation":1}},
		{"ph":"X","cat":"cuda_runtime","name":"cudaDeviceSynchronize","pid":0,"tid":7,"ts":-5,"dur":0,"args":{"correlation":1}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{Workers: 1})
		if err != nil {
			return
		}
		o := Options{ByShape: true}
		total := newTotals(&o)
		var parts []*part
		r := reader{o: &o}
		if err := r.document(d, func(p *part) {
			total.add(p)
			p.release()
			parts = append(parts, p)
		}); err != nil || len(parts) == 0 {
			return
		}
		s := total.summary(parts)
		for _, c := range s.Checks {
			if !c.OK() {
				t.Errorf("%s: %d ns of %d ns", c.Of, c.SumNS, c.TotalNS)
			}
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
		for _, table := range s.Tables() {
			table.WriteCSV(&bytes.Buffer{})
		}
	})
}
