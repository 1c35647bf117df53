package summary

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/measure"
)

// Unit says what the numbers of a column are.
type Unit string

// Units.
const (
	Text   Unit = ""
	Number Unit = "1"
	NS     Unit = "ns"
	Bytes  Unit = "B"
	Rate   Unit = "B/s"
	Share  Unit = "share" // from 0 to 1
)

// Column is one column of a table. Key is that of the JSON, where there is one.
type Column struct {
	Key, Title string
	Unit       Unit
	// Wide columns are for those who ask for more.
	Wide bool
}

// Table is a part of a summary as rows and columns. A cell is a string, an int64, a
// float64, or nil where the trace does not say.
type Table struct {
	Name    string // "operators"
	Title   string
	Note    string // what has to be known to read it
	Columns []Column
	Rows    [][]any
}

// TableNames are the names of the tables, in the order of Tables.
var TableNames = []string{
	"devices", "operators", "kernels", "modules", "annotations", "steps", "copies", "collectives", "calls", "gaps",
	"occupancy", "path", "ranks",
}

// Tables returns the tables of a summary, in the order of TableNames; those without a
// row, too.
func (s *Summary) Tables() []*Table {
	return []*Table{
		s.devices(), s.operators(), s.kernelTable(), s.scopes("modules", "Modules", s.Modules), s.scopes("annotations", "Annotations", s.Annotations),
		s.steps(), s.copies(), s.collectives(), s.calls(), s.gapTable(), s.occupancyTable(), s.path(), s.rankTable(),
	}
}

// Table returns a table by its name, nil where there is no such.
func (s *Summary) Table(name string) *Table {
	if i := slices.Index(TableNames, name); i >= 0 {
		return s.Tables()[i]
	}
	return nil
}

// Sort puts the rows into the order of a column: the largest first, or texts from A on.
// It reports whether there is such a column.
func (t *Table) Sort(key string) bool {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Key == key })
	if i < 0 {
		return false
	}
	slices.SortStableFunc(t.Rows, func(a, b []any) int { return compareCells(a[i], b[i]) })
	return true
}

func compareCells(a, b any) int {
	number := func(v any) (float64, bool) {
		switch v := v.(type) {
		case int64:
			return float64(v), true
		case float64:
			return v, true
		}
		return 0, false
	}
	x, isX := number(a)
	y, isY := number(b)
	switch {
	case isX && isY:
		return cmp.Compare(y, x)
	case isX:
		return -1
	case isY:
		return 1
	}
	s, _ := a.(string)
	t, _ := b.(string)
	return cmp.Compare(s, t)
}

// WriteCSV writes the table under a line of the columns' keys, numbers as they are: ns,
// bytes, shares from 0 to 1. An empty cell is unknown. Errors are w's.
func (t *Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := make([]string, len(t.Columns))
	for i := range t.Columns {
		head[i] = t.Columns[i].Key
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, row := range t.Rows {
		for i, v := range row {
			switch v := v.(type) {
			case nil:
				head[i] = ""
			case float64:
				head[i] = strconv.FormatFloat(v, 'f', -1, 64)
			default:
				head[i] = fmt.Sprint(v)
			}
		}
		if err := c.Write(head); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// measureColumns are those of Measures.
func measureColumns(of string) []Column {
	return []Column{
		{Key: "count", Title: of, Unit: Number},
		{Key: "device_ns", Title: "device", Unit: NS},
		{Key: "device_share", Title: "share", Unit: Share},
		{Key: "mean_ns", Title: "mean", Unit: NS, Wide: true},
		{Key: "overlap_ns", Title: "overlapped", Unit: NS, Wide: true},
		{Key: "idle_ns", Title: "idle before", Unit: NS, Wide: true},
		{Key: "launches", Title: "launches", Unit: Number, Wide: true},
		{Key: "mean_launch_delay_ns", Title: "launch delay", Unit: NS, Wide: true},
	}
}

// cells are those of measureColumns, of the share in what the summary is about; of nil
// they are unknown.
func (s *Summary) cells(m *measure.Measures) []any {
	if m == nil || s.Work == nil {
		return make([]any, 8)
	}
	total := s.Work.DeviceNS
	return []any{
		m.Works, m.DeviceNS, share(m.DeviceNS, total), mean(m.DeviceNS, m.Works), m.OverlapNS, m.IdleNS, m.Launches, mean(m.DelayNS, m.Launches),
	}
}

// cells are the measures and the total, unknown where there is no device work.
func (w *Work) cells() (*measure.Measures, any) {
	if w == nil {
		return nil, nil
	}
	return &w.Measures, w.DeviceTotalNS
}

func share(part, whole int64) any {
	if whole <= 0 {
		return nil
	}
	return float64(part) / float64(whole)
}

func mean(sum, n int64) any {
	if n == 0 {
		return nil
	}
	return sum / n
}

func optional[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
