package capability

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
)

//go:embed vendors.yaml
var text []byte

// ErrTable: a table cannot be used.
var ErrTable = errors.New("capability: bad table")

// Table says what vendors' libraries cannot deliver.
type Table struct {
	Aliases map[string]string    `yaml:"aliases"` // other names of vendors
	Vendors map[string][]Missing `yaml:"vendors"`
}

// Missing is one thing that a vendor's library cannot deliver.
type Missing struct {
	Assertion string `yaml:"assertion"` // about what, as flagos-trace diff names it
	Subject   string `yaml:"subject"`   // such as "arg:kernel/grid"; * stands for anything
	Reason    string `yaml:"reason"`
	Source    string `yaml:"source"`
	// Unknown: nobody has written whether the library can. Its reason says so.
	Unknown bool `yaml:"unknown"`
}

var builtin = sync.OnceValues(func() (*Table, error) { return Read(text) })

// Default is the table that comes with this package.
func Default() *Table {
	t, err := builtin()
	if err != nil {
		panic("capability: the embedded table: " + err.Error()) // a test reads it
	}
	return t
}

// Read reads a table. Errors wrap ErrTable. Whether there are such assertions is for the
// caller to see.
func Read(text []byte) (*Table, error) {
	t := &Table{}
	if err := strictyaml.Read(text, t); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTable, err)
	}
	for vendor, list := range t.Vendors {
		for _, m := range list {
			if m.Assertion == "" || m.Subject == "" || m.Reason == "" || m.Source == "" {
				return nil, fmt.Errorf("%w: %s: an entry needs assertion, subject, reason and source: %+v", ErrTable, vendor, m)
			}
		}
	}
	return t, nil
}

// Vendor is the name under which a vendor stands in the table.
func (t *Table) Vendor(name string) string {
	if to, ok := t.Aliases[name]; ok {
		return to
	}
	return name
}

// Knows reports whether the table has entries for a vendor.
func (t *Table) Knows(vendor string) bool { return len(t.Vendors[t.Vendor(vendor)]) > 0 }

// Why returns the entry about a subject of an assertion, nil if there is none.
func (t *Table) Why(vendor, assertion, subject string) *Missing {
	list := t.Vendors[t.Vendor(vendor)]
	for i := range list {
		if m := &list[i]; m.Assertion == assertion && Match(m.Subject, subject) {
			return m
		}
	}
	return nil
}

// Match reports whether a pattern, in which * stands for any text, fits a text.
func Match(pattern, text string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '*' {
			for k := len(text); k >= i; k-- {
				if Match(pattern[i+1:], text[k:]) {
					return true
				}
			}
			return false
		}
		if i >= len(text) || pattern[i] != text[i] {
			return false
		}
	}
	return len(pattern) == len(text)
}
