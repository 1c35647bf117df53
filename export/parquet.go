package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// Errors of Parquet. Others are those of the system.
var (
	// ErrThere: the folder has that rank already.
	ErrThere = errors.New("that rank is there already")
	// ErrForeign: a folder that would be replaced has other files in it.
	ErrForeign = errors.New("there are files that no export made")
)

// unknown is the value of a partition that has none, as Hive, Spark, Trino and DuckDB
// know it.
const unknown = "__HIVE_DEFAULT_PARTITION__"

// rowsPerGroup bounds the memory of a writer: it holds one row group.
const rowsPerGroup = 64 << 10

// Parquet writes tables into a folder: rank=R/step=S/part.parquet. Nothing stands
// there under its name before Close.
type Parquet struct {
	dir, stage string
	overwrite  bool
	about      [][2]string
	files      map[string]int // by partition
	rows       uint64
	bytes      int64
}

// NewParquet starts an export to a folder, which need not be there. overwrite has the
// ranks of the export replace those that are there.
func NewParquet(dir string, overwrite bool) (*Parquet, error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file: name a folder", dir)
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(filepath.Dir(full), "."+filepath.Base(full)+".*.part")
	if err != nil {
		return nil, err
	}
	return &Parquet{dir: dir, stage: stage, overwrite: overwrite, files: map[string]int{}}, nil
}

// About adds an entry to the metadata of every file that is written from then on.
func (p *Parquet) About(key, value string) { p.about = append(p.about, [2]string{key, value}) }

// partition is where a row goes.
type partition struct {
	rank, step int64 // -1: unknown
}

func (p partition) path() string {
	text := func(n int64) string {
		if n < 0 {
			return unknown
		}
		return strconv.FormatInt(n, 10)
	}
	return filepath.Join("rank="+text(p.rank), "step="+text(p.step))
}

// Add writes the rows of a table: partition by partition, in the order of events.
func (p *Parquet) Add(b *Table) error {
	lists := map[partition][]uint32{}
	var order []partition
	for i := range uint32(b.Len()) {
		k := partition{-1, -1}
		if n, ok := b.Rank(i); ok {
			k.rank = int64(n)
		}
		if n, ok := b.Step(i); ok && n >= 0 {
			k.step = n
		}
		if _, ok := lists[k]; !ok {
			order = append(order, k)
			if err := p.free(k); err != nil {
				return err
			}
		}
		lists[k] = append(lists[k], i)
	}
	for _, k := range order {
		if err := p.write(k.path(), b, lists[k]); err != nil {
			return err
		}
	}
	return nil
}

// free reports that the rank of a partition may not be written.
func (p *Parquet) free(k partition) error {
	rank := filepath.Join(p.dir, filepath.Dir(k.path()))
	if _, err := os.Lstat(rank); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !p.overwrite {
		return fmt.Errorf("%s: %w", rank, ErrThere)
	}
	return filepath.WalkDir(rank, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == rank || strings.HasPrefix(d.Name(), "step=")):
		case d.Type().IsRegular() && strings.HasPrefix(d.Name(), "part") && filepath.Ext(path) == ".parquet":
		default:
			return fmt.Errorf("%s: %w: %s", rank, ErrForeign, d.Name())
		}
		return nil
	})
}

// write writes a file of rows.
func (p *Parquet) write(partition string, b *Table, rows []uint32) (err error) {
	dir := filepath.Join(p.stage, partition)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := "part.parquet"
	if n := p.files[partition]; n > 0 {
		name = fmt.Sprintf("part-%d.parquet", n)
	}
	p.files[partition]++
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := p.rowsTo(f, b, rows); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p.bytes += info.Size()
	return nil
}

func (p *Parquet) rowsTo(f io.Writer, b *Table, rows []uint32) error {
	options := []parquet.WriterOption{schema, parquet.Compression(&codec{}), parquet.MaxRowsPerRowGroup(rowsPerGroup)}
	for _, kv := range p.about {
		options = append(options, parquet.KeyValueMetadata(kv[0], kv[1]))
	}
	w := parquet.NewGenericWriter[any](f, options...)
	var r Row
	batch := make([]parquet.Row, 0, 64)
	text := make([]byte, 0, 64<<10) // of the batch, which the writer copies
	for at := 0; at < len(rows); {
		batch, text = batch[:0], text[:0]
		for ; at < len(rows) && len(batch) < cap(batch); at++ {
			b.Row(rows[at], &r)
			var row parquet.Row
			row, text = values(&r, batch[:len(batch)+1][len(batch)], text)
			batch = append(batch, row)
		}
		if _, err := w.WriteRows(batch); err != nil {
			return err
		}
		p.rows += uint64(len(batch))
	}
	return w.Close()
}

// values appends the cells of a row as they stand in a file, which has neither those
// of its folder's name. Texts are appended to text.
func values(r *Row, to parquet.Row, text []byte) (parquet.Row, []byte) {
	to = to[:0]
	n := 0
	for col := range Columns {
		if col == colRank || col == colStep {
			continue
		}
		v, c := &r[col], &Columns[col]
		value := parquet.NullValue()
		if v.Set {
			switch c.Type {
			case Int64:
				value = parquet.Int64Value(v.Int)
			case Int32:
				value = parquet.Int32Value(int32(v.Int))
			case Double:
				value = parquet.DoubleValue(v.Float)
			case Text:
				from := len(text)
				text = append(text, v.Text...)
				value = parquet.ByteArrayValue(text[from:])
			}
		}
		level := 0
		if v.Set && !c.Always {
			level = 1
		}
		to = append(to, value.Level(0, level, n))
		n++
	}
	return to, text
}

// schema is that of a file, its columns in the order of Columns.
var schema = func() *parquet.Schema {
	g := parquet.Group{}
	var order []string
	for col := range Columns {
		c := &Columns[col]
		if col == colRank || col == colStep {
			continue
		}
		var n parquet.Node
		switch c.Type {
		case Int64:
			n = parquet.Int(64)
		case Int32:
			n = parquet.Int(32)
		case Double:
			n = parquet.Leaf(parquet.DoubleType)
		case Text:
			n = parquet.String()
			if col != colArgs {
				n = parquet.Encoded(n, &parquet.RLEDictionary)
			}
		}
		if !c.Always {
			n = parquet.Optional(n)
		}
		g[c.Name] = n
		order = append(order, c.Name)
	}
	return parquet.NewSchema("event", ordered{g, order})
}()

// ordered is a group whose fields are not in the order of their names.
type ordered struct {
	parquet.Group
	order []string
}

// Fields returns the fields in the order of the table.
func (o ordered) Fields() []parquet.Field {
	fields := o.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(o.order, a.Name()) - slices.Index(o.order, b.Name())
	})
	return fields
}

// Stats says what an export wrote.
type Stats struct {
	Rows  uint64
	Files int
	Bytes int64
}

// Close puts what was written in its place: rank by rank, each whole or not at all.
func (p *Parquet) Close() (Stats, error) {
	s := Stats{Rows: p.rows, Bytes: p.bytes}
	for _, n := range p.files {
		s.Files += n
	}
	defer p.Abort()
	if err := os.MkdirAll(p.dir, 0o777); err != nil {
		return s, err
	}
	ranks, err := os.ReadDir(p.stage)
	if err != nil {
		return s, err
	}
	for _, rank := range ranks {
		to := filepath.Join(p.dir, rank.Name())
		if p.overwrite {
			if err := os.RemoveAll(to); err != nil {
				return s, err
			}
		}
		if err := os.Rename(filepath.Join(p.stage, rank.Name()), to); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Abort removes what was written and not put in its place. After Close it does
// nothing.
func (p *Parquet) Abort() error { return os.RemoveAll(p.stage) }
