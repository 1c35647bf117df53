package verdict

import (
	_ "embed"
	"io"
)

// Schema is the JSON Schema (draft 2020-12) of what WriteJSON writes. Fields are
// added without a new version; one is never renamed, removed or given another
// meaning within a version.
//
//go:embed schema.json
var Schema []byte

// WriteJSON writes the whole result.
func WriteJSON(w io.Writer, r *Result) error { return writeJSON(w, r) }
