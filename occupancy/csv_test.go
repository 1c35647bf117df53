package occupancy

import (
	"errors"
	"io"
	"strings"
	"testing"
)

const head = "major,minor,block,regs,static_smem,dyn_smem"

func TestTableForms(t *testing.T) {
	added := "," + strings.Join(tableOut, ",")
	for _, c := range []struct{ name, in, want string }{
		{"plain", head + "\n9,0,256,64,32768,0\n", head + added + "\n9,0,256,64,32768,0,0,4,2,4,6,8,32\n"},
		{"no line end", head + "\n9,0,256,64,32768,0", head + added + "\n9,0,256,64,32768,0,0,4,2,4,6,8,32\n"},
		{"lines of Windows", head + "\r\n9,0,256,64,32768,0\r\n", head + added + "\r\n9,0,256,64,32768,0,0,4,2,4,6,8,32\r\n"},
		{"order and more columns", "name,regs,block,minor,major,dyn_smem,static_smem\n\"a,b\"\"\",64,256,0,9,0,32768\n",
			"name,regs,block,minor,major,dyn_smem,static_smem" + added + "\n\"a,b\"\"\",64,256,0,9,0,32768,0,4,2,4,6,8,32\n"},
		{"mark, case, blanks, quotes", "\xef\xbb\xbfMajor, minor ,\"block\",regs,static_smem,dyn_smem\n 9 ,\"0\",+256,64,32768,0\n",
			"Major, minor ,\"block\",regs,static_smem,dyn_smem" + added + "\n 9 ,\"0\",+256,64,32768,0,0,4,2,4,6,8,32\n"},
		{"blank lines", "\n" + head + "\n\n9,0,256,64,32768,0\n\n", head + added + "\n9,0,256,64,32768,0,0,4,2,4,6,8,32\n"},
		{"no rows", head + "\n", head + added + "\n"},
		{"nothing used", head + "\n5,0,32,0,0,0\n", head + added + "\n5,0,32,0,0,0,0,32,8,2147483647,2147483647,64,32\n"},
		{"too much", head + "\n8,0,2000,99999,2147483647,2147483647\n", head + added + "\n8,0,2000,99999,2147483647,2147483647,0,0,7,0,0,0,32\n"},
	} {
		var out strings.Builder
		stats, err := Table(strings.NewReader(c.in), &out)
		if err != nil || out.String() != c.want || stats.Refused != 0 {
			t.Errorf("%s: %+v, %v\n%s\nwant\n%s", c.name, stats, err, out.String(), c.want)
		}
	}
}

func TestTableRefused(t *testing.T) {
	for _, c := range []struct{ row, status, reason string }{
		{"9,0,0,64,0,0", "1", "line 2: block is 0"},
		{"9,0,-5,64,0,0", "1", "block is -5"},
		{"9,0,32,-1,0,0", "1", "regs is -1"},
		{"9,0,32,1,-1,0", "1", "static_smem -1"},
		{"9,0,32,1,0,-1", "1", "dyn_smem -1"},
		{"9,0,4294967296,1,0,0", "1", "above 2147483647"},
		{"9,0,32,1,0,9223372036854775807", "1", "above 2147483647"},
		{"3,5,32,1,0,0", "2", "capability 3.5"},
		{"-1,0,32,1,0,0", "2", "capability -1.0"},
		{"13,0,32,1,0,0", "2", "capability 13.0"},
	} {
		var out strings.Builder
		stats, err := Table(strings.NewReader(head+"\n"+c.row+"\n9,0,32,1,0,0\n"), &out)
		lines := strings.Split(out.String(), "\n")
		if err != nil || stats.Rows != 2 || stats.Refused != 1 || len(stats.Reasons) != 1 || !strings.Contains(stats.Reasons[0], c.reason) ||
			lines[1] != c.row+","+c.status+",,,,,," || !strings.HasSuffix(lines[2], ",0,32,8,256,228,64,32") {
			t.Errorf("%s: %+v, %v\n%s", c.row, stats, err, out.String())
		}
	}
	stats, err := Table(strings.NewReader(head+strings.Repeat("\n9,0,0,0,0,0", 100)), io.Discard)
	if err != nil || stats.Refused != 100 || len(stats.Reasons) != maxTableReasons {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestTableErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "empty; the first line must name"},
		{"no header", "9,0,256,64,32768,0\n", "line 1: no column major, minor"},
		{"column missing", "major,minor,block,regs,static_smem\n", "line 1: no column dyn_smem"},
		{"column twice", head + ",regs\n", "line 1: column regs is there twice"},
		{"done already", head + ",status\n", "line 1: column status is there already"},
		{"few columns", head + "\n9,0,256,64,32768,0\n9,0,256\n", "line 3: 3 columns; the first line has 6"},
		{"many columns", head + "\n9,0,256,64,32768,0,1\n", "line 2: 7 columns"},
		{"no number", head + "\n9,0,256,64,32768,x\n", `line 2: dyn_smem is "x": not a whole number`},
		{"empty number", head + "\n9,0,256,,32768,0\n", `line 2: regs is "": not a whole number`},
		{"fraction", head + "\n9.0,0,256,1,32768,0\n", `line 2: major is "9.0"`},
		{"sign", head + "\n9,0,-,1,32768,0\n", `line 2: block is "-"`},
		{"overflow", head + "\n9,0,99999999999999999999,1,32768,0\n", "line 2: block is \"99999999999999999999\": it does not fit 64 bits"},
		{"open quote", head + "\n9,0,\"256,1,32768,0\n", "line 2: a quote is not closed"},
		{"long line", head + "\n" + strings.Repeat("9", maxTableLine+1), "line 2: longer than"},
	} {
		stats, err := Table(strings.NewReader(c.in), io.Discard)
		if !errors.Is(err, ErrTable) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v, want %q", c.name, stats, err, c.want)
		}
	}
	broken := errors.New("broken")
	if _, err := Table(io.MultiReader(strings.NewReader(head+"\n"), readError{broken}), io.Discard); !errors.Is(err, broken) {
		t.Errorf("reading: %v", err)
	}
	if _, err := Table(strings.NewReader(head+strings.Repeat("\n9,0,1,1,1,1", 10000)), writeError{broken}); !errors.Is(err, broken) {
		t.Errorf("writing: %v", err)
	}
}

type readError struct{ err error }

func (e readError) Read([]byte) (int, error) { return 0, e.err }

type writeError struct{ err error }

func (e writeError) Write([]byte) (int, error) { return 0, e.err }

// TestTableMemory: what Table allocates does not grow with the rows.
func TestTableMemory(t *testing.T) {
	allocs := func(rows int) float64 {
		in := head + "\n" + strings.Repeat("9,0,256,64,32768,0\n", rows)
		return testing.AllocsPerRun(2, func() {
			if _, err := Table(strings.NewReader(in), io.Discard); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocs(10), allocs(10000); many > few+5 {
		t.Errorf("%v allocations for 10 rows, %v for 10000", few, many)
	}
}

// FuzzTable: any text gives rows of one width or an error; no row is lost.
func FuzzTable(f *testing.F) {
	f.Add(head + "\n9,0,256,64,32768,0\n3,5,1,1,1,1\n9,0,0,1,1,1\n")
	f.Add("a,\"b,c\"," + head + "\r\n1,2,12,1,31,-1,,\r\n\r\n")
	f.Add(head + "\n9,0,\"")
	f.Fuzz(func(t *testing.T, in string) {
		var out strings.Builder
		stats, err := Table(strings.NewReader(in), &out)
		if err != nil && !errors.Is(err, ErrTable) {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if out.Len() > 0 && int64(len(lines)) != stats.Rows+1 {
			t.Fatalf("%d lines for %d rows, %v", len(lines), stats.Rows, err)
		}
		// Read it again: a table that has its columns is refused, and nothing else.
		if err == nil {
			if _, again := Table(strings.NewReader(out.String()), io.Discard); !errors.Is(again, ErrTable) || !strings.Contains(again.Error(), "already") {
				t.Fatalf("read again: %v", again)
			}
		}
	})
}
