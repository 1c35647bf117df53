// Package strictyaml reads the YAML that people write for us - configurations, lists of
// exceptions, tables - and says what is wrong with it in their words: the line, the
// key, and which keys there are. A key that nobody knows is an error, for it is a
// setting that would not be in force.
//
// Traps:
//   - The document is one; a second behind it would be ignored, and is an error.
//   - Aliases are followed by the decoder, which refuses documents that grow by them
//     beyond measure.
package strictyaml
