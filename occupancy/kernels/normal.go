package kernels

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Normalize makes names of the same kernel from different builds equal, so that a
// ratchet finds it again. What is dropped is what changes without the kernel
// changing: white space between tokens, the "void" in front, the hash of an unnamed namespace (with
// the file it is in), addresses and long hashes, and the number that
// torch.compile appends to the kernels it generates, which counts those of a
// program. Names that differ in types, tile sizes or template arguments stay
// different. It is idempotent.
func Normalize(name string) string {
	name = visible(spaces.ReplaceAllString(toValid(name), " "))
	name = strings.TrimSpace(name)
	// Demanglers differ in the blank between two closing brackets.
	for strings.Contains(name, "> >") {
		name = strings.ReplaceAll(name, "> >", ">>")
	}
	name = commas.ReplaceAllString(name, ", ")
	for strings.HasPrefix(name, "void ") {
		name = strings.TrimPrefix(name, "void ")
	}
	name = unnamed.ReplaceAllString(name, "(anonymous namespace)")
	name = strings.ReplaceAll(name, "<unnamed>", "(anonymous namespace)")
	name = address.ReplaceAllString(name, "0x*")
	if inductor.MatchString(name) {
		name = number.ReplaceAllString(name, "_*")
	}
	name = word.ReplaceAllStringFunc(name, func(s string) string {
		// A hash has both letters and digits; a long word or number is none.
		if len(s) >= leastHash && strings.Trim(s, "0123456789abcdef") == "" &&
			strings.ContainsAny(s, "0123456789") && strings.ContainsAny(s, "abcdef") {
			return "*"
		}
		return s
	})
	return strings.TrimSpace(name)
}

// visible puts ? for what is not seen. It is no matter of printing: files of ratchets
// have names with it.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

var (
	spaces = regexp.MustCompile(`\s+`)
	commas = regexp.MustCompile(` ?, ?`)
	// nvcc's names of unnamed namespaces: a hash, the length of the file's name
	// and the name, another hash.
	unnamed = regexp.MustCompile(`\b_(?:GLOBAL__N__|INTERNAL_)[0-9a-f]{8,}_\w*`)
	address = regexp.MustCompile(`\b0x[0-9a-fA-F]{6,16}\b`)
	word    = regexp.MustCompile(`[0-9A-Za-z]+`)
	// The kinds of kernels that torch.compile generates: pointwise, reductions,
	// persistent and split ones, scans, templates, foreach.
	inductor = regexp.MustCompile(`^triton_(?:poi|red|per|spl|mix|tem|for|unk)_fused(?:_\w*?)?_\d+$`)
	number   = regexp.MustCompile(`_\d+$`)
)

const leastHash = 16 // hexadecimal digits

// toValid replaces what is not UTF-8, which JSON could not hold.
func toValid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
