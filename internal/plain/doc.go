// Package plain shows text that is not ours - names of kernels, operators, files - so
// that it does nothing but be read: not to a terminal, not to whatever reads the log
// of a CI job line by line, and not to the eye, as marks that turn the direction of
// writing would.
//
// [Text] is for what people read, [JSON] for documents: there the same characters
// become JSON's escapes, and the value stays what it was.
//
// Traps:
//   - A text that has such an escape in it as letters looks the same afterwards: what
//     Text returns is to be read, never to be parsed.
//   - What makes a table or markup of it (|, <, %, ...) is left alone; each form
//     escapes its own.
package plain
