package summary

import (
	_ "embed"
	"encoding/json"
	"io"
)

// JSONSchema is the JSON Schema (draft 2020-12) of what WriteJSON writes.
//
//go:embed schema.json
var JSONSchema []byte

// WriteJSON writes the summary; its form is named by Schema. Errors are w's.
func (s *Summary) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(s)
}
