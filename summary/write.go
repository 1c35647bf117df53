package summary

import (
	_ "embed"
	"io"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// JSONSchema is the JSON Schema (draft 2020-12) of what WriteJSON writes.
//
//go:embed schema.json
var JSONSchema []byte

// WriteJSON writes the summary; its form is named by Schema. What a terminal would obey
// in a name is written as an escape. Errors are w's.
func (s *Summary) WriteJSON(w io.Writer) error { return plain.JSON(w, s, " ") }
