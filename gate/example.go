package gate

import _ "embed"

// Example is a configuration that explains itself. It works as it is where there are
// traces in a folder traces beside it.
//
//go:embed example.yaml
var Example []byte
