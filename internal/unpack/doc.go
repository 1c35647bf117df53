// Package unpack reads the text of a trace from whatever it is in: plain, gzip,
// zstd, a zip archive of such files; a file or a pipe.
//
// Traps: an error of a decompressor and one of the file below it look alike. Text
// keeps them apart (ErrDamaged), because data that is cut or damaged gives what came
// before, and a disk that fails gives nothing to trust. Compressed data that is made
// to fill memory (ErrRatio) is refused by how much its text outgrows it, also where it
// is packed twice, in an archive; text that is not compressed has no bound.
package unpack
