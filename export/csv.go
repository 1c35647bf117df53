package export

import (
	"encoding/csv"
	"io"
	"strconv"
)

// CSV writes tables as comma-separated values (RFC 4180), with the names of columns
// first. What has no value is an empty field.
type CSV struct {
	w    *csv.Writer
	rows uint64
}

// NewCSV returns a writer to w, which it buffers.
func NewCSV(w io.Writer) *CSV {
	c := &CSV{w: csv.NewWriter(w)}
	names := make([]string, numColumns)
	for i := range Columns {
		names[i] = Columns[i].Name
	}
	c.w.Write(names)
	return c
}

// Add writes the rows of a table. Errors are those of the writer.
func (c *CSV) Add(b *Table) error {
	var r Row
	fields := make([]string, numColumns)
	for i := range uint32(b.Len()) {
		b.Row(i, &r)
		for col := range r {
			fields[col] = r[col].field(Columns[col].Type)
		}
		if err := c.w.Write(fields); err != nil {
			return err
		}
		c.rows++
	}
	return nil
}

// Close writes what is buffered, and returns the number of rows.
func (c *CSV) Close() (rows uint64, err error) {
	c.w.Flush()
	return c.rows, c.w.Error()
}

func (v *Value) field(t Type) string {
	switch {
	case !v.Set:
		return ""
	case t == Text:
		return v.Text
	case t == Double:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	}
	return strconv.FormatInt(v.Int, 10)
}
