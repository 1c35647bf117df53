// Package spool is the log between the traced process and the recorder.
//
// A spool is one file per traced process: a header and frames, each with a
// length and a CRC32C, appended with plain writes. Whatever was appended is
// readable after the process is killed; a torn tail is cut and counted, and all
// before it is read. Frames hold activity buffers as the vendor library
// completed them, and what only the process knew: names behind pointers, record
// strides and offsets, API names, device attributes, threads, clock samples,
// counters and diagnoses. Nothing is decoded here.
//
// Life cycle: the agent Creates a Writer, appends frames from one thread and
// Closes it with an End frame; the recorder Opens a Reader and calls Next until
// io.EOF, then asks Torn.
//
// Format, little-endian throughout: 8 bytes of magic, a u32 format version, 4
// bytes of zero; then frames. A frame is a 16-byte head {type u32, length u32,
// crc u32, sequence u32}, the payload of length bytes, and zeros up to the next
// multiple of 8. The CRC is CRC32C over type, length, sequence and payload. The
// sequence counts the frames the writer tried to append, from 0 for the header,
// so that a frame it had to give up shows as a gap.
//
// A spool of which only the newest part is kept is a row of such files, see
// Segments; each begins with what is needed to read its buffers.
//
// Beside a spool its process listens on a socket, SocketName, for a Request.
//
// Traps:
//   - A Frame's payload is valid only until the next call of Next.
//   - Frames that describe a buffer (names, strides, offsets) stand before it.
//   - io.EOF is an answer for now: a spool may still grow, and Next may be called
//     again. Torn speaks of what stands behind the last good frame at that time.
package spool
