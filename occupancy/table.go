package occupancy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrTable: a table that cannot be read. The error names the line and what is wrong.
var ErrTable = errors.New("occupancy: table")

// The columns that Table needs, and those that it adds, in this order.
var (
	tableIn  = []string{"major", "minor", "block", "regs", "static_smem", "dyn_smem"}
	tableOut = []string{"status", "blocks_per_sm", "limiting", "by_regs", "by_smem", "by_warps", "by_blocks"}
)

// The statuses of a row: those of NVIDIA's calculator.
const (
	tableOK            = 0
	tableInvalid       = 1 // the configuration cannot be: no threads, something negative
	tableUnknownDevice = 2 // nothing is known of the compute capability
)

// maxTableLine bounds a line, in bytes.
const maxTableLine = 1 << 16

// TableStats counts what Table did.
type TableStats struct {
	Rows    int64
	Refused int64    // rows with a status that is not 0
	Reasons []string // of the first few of them, with their lines
}

const maxTableReasons = 5

// Table reads configurations as CSV, with a header that names the columns, and writes
// them with the columns of their theoretical occupancy added: status, blocks_per_sm,
// limiting (the bits of Limit), by_regs, by_smem, by_warps, by_blocks. Columns may
// stand in any order, others are passed on, blank lines are left out. The device is
// what every one of the compute capability has, with shared memory up to the opt-in
// limit and the largest carve-out.
//
// A configuration that needs too much is a row like any other, with 0 blocks. One that
// cannot be has status 1, an unknown compute capability status 2; the columns behind
// are then empty. A row that is not made of numbers ends it with an error that wraps
// ErrTable; the rows before it are written. Memory does not grow with the rows.
func Table(r io.Reader, w io.Writer) (TableStats, error) {
	t := table{in: bufio.NewReaderSize(r, maxTableLine), out: bufio.NewWriterSize(w, 1<<16)}
	err := t.run()
	if flush := t.out.Flush(); err == nil {
		err = flush
	}
	return t.stats, err
}

type table struct {
	in    *bufio.Reader
	out   *bufio.Writer
	line  int64
	stats TableStats

	columns []int // of the needed columns, their places in a row
	width   int   // columns of a row
	fields  [][]byte
	scratch []byte

	major, minor int64 // of dev, which is nil if they are unknown
	dev          *Device
	devices      map[[2]int64]*Device
}

func (t *table) fault(format string, args ...any) error {
	return fmt.Errorf("%w: line %d: %w", ErrTable, t.line, fmt.Errorf(format, args...))
}

func (t *table) run() error {
	t.devices = map[[2]int64]*Device{}
	t.major = -1
	for {
		row, end, err := t.next()
		if err != nil {
			if err != io.EOF {
				return err
			}
			if t.columns == nil {
				return fmt.Errorf("%w: empty; the first line must name the columns %s", ErrTable, strings.Join(tableIn, ","))
			}
			return nil
		}
		if len(row) == 0 {
			continue
		}
		if t.columns == nil {
			err = t.header(row)
		} else {
			err = t.row(row)
		}
		if err != nil {
			return err
		}
		t.scratch = append(t.scratch, end...)
		if _, err := t.out.Write(t.scratch); err != nil {
			return err
		}
	}
}

// next reads a line; end is how it ended.
func (t *table) next() (row []byte, end string, err error) {
	t.line++
	row, err = t.in.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, "", t.fault("longer than %d bytes", maxTableLine)
	case err == io.EOF && len(row) > 0:
	case err != nil:
		return nil, "", err
	}
	row, end = bytes.TrimSuffix(row, []byte("\n")), "\n"
	if cut, ok := bytes.CutSuffix(row, []byte("\r")); ok {
		row, end = cut, "\r\n"
	}
	return row, end, nil
}

func (t *table) header(row []byte) error {
	row = bytes.TrimPrefix(row, []byte("\xef\xbb\xbf")) // a byte order mark, as spreadsheets write
	if err := t.split(row); err != nil {
		return err
	}
	var names, missing []string
	for _, f := range t.fields {
		names = append(names, strings.ToLower(string(value(f))))
	}
	for _, name := range tableIn {
		i := slices.Index(names, name)
		switch {
		case i < 0:
			missing = append(missing, name)
		case slices.Contains(names[i+1:], name):
			return t.fault("column %s is there twice", name)
		}
		t.columns = append(t.columns, i)
	}
	for _, name := range tableOut {
		if slices.Contains(names, name) {
			return t.fault("column %s is there already: it is one of those to add", name)
		}
	}
	if len(missing) > 0 {
		return t.fault("no column %s: the first line must name the columns %s", strings.Join(missing, ", "), strings.Join(tableIn, ","))
	}
	t.width = len(names)
	t.scratch = append(t.scratch[:0], row...)
	for _, name := range tableOut {
		t.scratch = append(append(t.scratch, ','), name...)
	}
	return nil
}

// split cuts a line at its commas; those within quotes are text.
func (t *table) split(row []byte) error {
	t.fields = t.fields[:0]
	start, quoted := 0, false
	for i, c := range row {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			t.fields = append(t.fields, row[start:i])
			start = i + 1
		}
	}
	if quoted {
		return t.fault("a quote is not closed on its line")
	}
	t.fields = append(t.fields, row[start:])
	return nil
}

// value is a field without the blanks and quotes around it.
func value(f []byte) []byte {
	f = bytes.TrimSpace(f)
	if len(f) >= 2 && f[0] == '"' && f[len(f)-1] == '"' {
		f = bytes.TrimSpace(f[1 : len(f)-1])
	}
	return f
}

func (t *table) row(row []byte) error {
	if err := t.split(row); err != nil {
		return err
	}
	if len(t.fields) != t.width {
		return t.fault("%d columns; the first line has %d", len(t.fields), t.width)
	}
	var v [6]int64
	for i, at := range t.columns {
		var err error
		if v[i], err = integer(value(t.fields[at])); err != nil {
			return t.fault("%s is %q: %w", tableIn[i], t.fields[at], err)
		}
	}
	t.stats.Rows++
	status, r, reason := t.calculate(&v)
	t.scratch = append(append(t.scratch[:0], row...), ',')
	t.scratch = strconv.AppendInt(t.scratch, int64(status), 10)
	if status != tableOK {
		t.scratch = append(t.scratch, ",,,,,,"...)
		t.stats.Refused++
		if len(t.stats.Reasons) < maxTableReasons {
			t.stats.Reasons = append(t.stats.Reasons, fmt.Sprintf("line %d: %s", t.line, reason()))
		}
		return nil
	}
	for _, n := range [...]int64{r.ActiveBlocksPerSM, int64(r.Limiting), r.ByRegs, r.BySharedMem, r.ByWarps, r.ByBlocks} {
		t.scratch = strconv.AppendInt(append(t.scratch, ','), n, 10)
	}
	return nil
}

var (
	errNotNumber = errors.New("not a whole number")
	errTooLarge  = errors.New("it does not fit 64 bits")
)

// integer is strconv.ParseInt in base 10 without the string that it wants.
func integer(s []byte) (int64, error) {
	digits, negative := s, false
	if len(digits) > 0 && (digits[0] == '-' || digits[0] == '+') {
		negative, digits = digits[0] == '-', digits[1:]
	}
	if len(digits) == 0 {
		return 0, errNotNumber
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errNotNumber
		}
		if n > (math.MaxInt64-int64(c-'0'))/10 {
			return 0, errTooLarge
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, nil
}

// calculate answers for a row; reason describes a status that is not 0.
func (t *table) calculate(v *[6]int64) (status int, r Result, reason func() string) {
	major, minor, block, regs, static, dynamic := v[0], v[1], v[2], v[3], v[4], v[5]
	switch {
	case block < 1:
		return tableInvalid, r, func() string { return fmt.Sprintf("block is %d: it must have a thread", block) }
	case regs < 0 || static < 0 || dynamic < 0:
		return tableInvalid, r, func() string {
			return fmt.Sprintf("regs is %d, static_smem %d, dyn_smem %d: none can be negative", regs, static, dynamic)
		}
	case max(block, regs, static, dynamic) > math.MaxInt32:
		return tableInvalid, r, func() string {
			return fmt.Sprintf("block is %d, regs %d, static_smem %d, dyn_smem %d: none can be above %d", block, regs, static, dynamic, math.MaxInt32)
		}
	}
	if major != t.major || minor != t.minor {
		dev, seen := t.devices[[2]int64{major, minor}]
		if !seen {
			if d, ok := ForCapability(major, minor); ok {
				dev = &d
				t.devices[[2]int64{major, minor}] = dev
			}
		}
		t.major, t.minor, t.dev = major, minor, dev
	}
	if t.dev == nil {
		return tableUnknownDevice, r, func() string { return fmt.Sprintf("compute capability %d.%d is not known", major, minor) }
	}
	k := Kernel{
		Block: [3]int32{int32(block), 1, 1},
		// Far above what a thread may have; Calculate takes no more than 16 bits.
		RegsPerThread:   int32(min(regs, math.MaxUint16)),
		StaticSharedMem: int32(static), DynamicSharedMem: int32(dynamic),
	}
	r, err := Calculate(t.dev, &k, Options{})
	if err != nil {
		return tableInvalid, r, func() string { return err.Error() }
	}
	return tableOK, r, nil
}
