package load

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/compare"
)

// each calls f with the one trace of a file, or the one of that name in an archive.
func each(path, member string, o chrome.ReadOptions, f func(*chrome.Document) error) error {
	found := false
	o.Member = member
	err := chrome.ReadEach(path, o, func(d *chrome.Document) error {
		if found {
			return fmt.Errorf("%s holds more than one trace: name one with --member, such as %q", path, d.Name[len(path)+1:])
		}
		found = true
		return f(d)
	})
	if err == nil && !found {
		err = fmt.Errorf("%s holds no trace %q", path, member)
	}
	if err != nil {
		return plainError{err}
	}
	return nil
}

// plainError is an error without the names of packages in its text, which tell
// developers something, and the users of a command nothing.
type plainError struct{ error }

var packageNames = strings.NewReplacer("chrome: read trace: ", "", "chrome: ", "", "unpack: ", "")

func (e plainError) Error() string { return packageNames.Replace(e.error.Error()) }

func (e plainError) Unwrap() error { return e.error }

// inArchive is the name of a trace in an archive, and nothing for other files: of the
// sides of a comparison often only one is an archive.
func inArchive(path, member string) string {
	f, err := os.Open(path)
	if err != nil {
		return member // reading it says what is wrong
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return member // a pipe can be read once
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil || string(head) != "PK\x03\x04" {
		return ""
	}
	return member
}

// Document reads the one trace of a file, or the one of that name in an archive.
func Document(path, member string, o chrome.ReadOptions) (doc *chrome.Document, err error) {
	err = each(path, member, o, func(d *chrome.Document) error { doc = d; return nil })
	return doc, err
}

// Observe reads a trace and looks at it.
func Observe(path, member string) (o *shape.Observation, err error) {
	var w shape.Watch
	err = each(path, inArchive(path, member), w.Options(chrome.ReadOptions{}), func(d *chrome.Document) error {
		if d.Trace.Events.Len() == 0 {
			return fmt.Errorf("%s holds no events: is it a trace?", path)
		}
		o, err = w.Observe(d)
		return err
	})
	return o, err
}

// Run reads a trace for a comparison of times.
func Run(path, member string) (compare.Input, error) {
	doc, err := Document(path, inArchive(path, member), chrome.ReadOptions{DropArgs: true})
	if err != nil || doc.Trace.Events.Len() == 0 {
		if what := baselineOf(path); what != "" {
			return compare.Input{}, fmt.Errorf("%s is %s, which holds the structure of traces and no times: give the trace of a run that its times are to be held against", path, what)
		}
	}
	if err != nil {
		return compare.Input{}, err
	}
	return compare.FromDocument(doc), nil
}

// baselineOf says what kind of baseline is called so, "" if none is.
func baselineOf(path string) string {
	if _, err := os.Stat(path); err != nil {
		if _, err := baseline.Embedded(path); err == nil {
			return "an embedded baseline"
		}
		return ""
	}
	if text, err := BaselineText(path); err == nil && text != nil {
		return "a baseline"
	}
	return ""
}

// Side reads a baseline file or a trace; member names a trace in an archive.
func Side(path, member string) (*baseline.Side, error) {
	text, err := BaselineText(path)
	if err != nil {
		return nil, err
	}
	if text != nil {
		return baseline.FromFile(path, text)
	}
	o, err := Observe(path, member)
	if err != nil {
		return nil, err
	}
	return baseline.FromTrace(o), nil
}

// Both reads the two sides of a comparison: at the same time where there is more than
// one processor, for each side has stretches that keep one busy only, and else one
// after the other, so that the second takes the place of the first in memory.
func Both(base, now func() (*baseline.Side, error)) (a, b *baseline.Side, err error) {
	var failed [2]error
	var wait sync.WaitGroup
	together := runtime.GOMAXPROCS(0) >= 2
	if together {
		wait.Go(func() { b, failed[1] = now() })
	}
	a, failed[0] = base()
	wait.Wait()
	if !together && failed[0] == nil {
		runtime.GC()
		b, failed[1] = now()
	}
	if err := cmp.Or(failed[0], failed[1]); err != nil {
		return nil, nil, err
	}
	return a, b, nil
}

// Named is an embedded baseline, or what is in the file of that name.
func Named(name, member string) (*baseline.Side, error) {
	side, err := baseline.Embedded(name)
	if err == nil {
		return side, nil
	}
	if name == "-" {
		return nil, errors.New("standard input will not do for a baseline: name a file")
	}
	if _, missing := os.Stat(name); missing != nil && !strings.ContainsAny(name, "/.") {
		return nil, err
	}
	return Side(name, member)
}

// maxBaseline is the largest file that is looked at as a baseline.
const maxBaseline = 32 << 20

// BaselineText returns the text of a file that is a baseline, nil if it is none.
func BaselineText(path string) ([]byte, error) {
	if path == "-" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBaseline {
		return nil, err
	}
	head := make([]byte, 1024)
	n, _ := io.ReadFull(f, head)
	if head = bytes.TrimSpace(head[:n]); len(head) == 0 || head[0] != '{' || bytes.Contains(head, []byte(`"traceEvents"`)) {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil || !shape.IsBaseline(text) {
		return nil, err
	}
	return text, nil
}
