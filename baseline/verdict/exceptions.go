package verdict

import (
	"errors"
	"fmt"

	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
)

// ErrExceptions: a file of accepted exceptions cannot be used.
var ErrExceptions = errors.New("verdict: bad file of exceptions")

// ReadExceptions reads accepted exceptions: a YAML (or JSON) list of entries with
// assertion, subject, reason and expires. A text without entries, as where the last was
// mended, has none. Errors wrap ErrExceptions.
func ReadExceptions(text []byte) (list []Exception, err error) {
	if err := strictyaml.Read(text, &list); errors.Is(err, strictyaml.ErrEmpty) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExceptions, err)
	}
	for i, e := range list {
		if err := e.Check(); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrExceptions, i+1, err)
		}
	}
	return list, nil
}

// Check says what an exception lacks, or what of it cannot be understood.
func (e Exception) Check() error {
	if e.Assertion == "" || e.Reason == "" {
		return errors.New("it needs an assertion and a reason")
	}
	_, _, err := e.Until()
	return err
}
