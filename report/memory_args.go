package report

import (
	"bytes"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// memoryArgs is what is read of the arguments of an event of memory; -1 is absent.
type memoryArgs struct {
	memoryKey
	allocated, reserved int64
}

var noMemory = memoryArgs{memoryKey{-1, -1}, -1, -1}

// readMemory reads arguments. Where a key stands twice, the last one counts.
func readMemory(args []byte) memoryArgs {
	a := noMemory
	if a.plain(args) {
		return a
	}
	a = noMemory
	for m := chrome.WalkMembers(args); m.Next(); {
		if to := a.member(m.Key); to != nil {
			if v, ok := m.Value.Int(); ok {
				*to = v
			}
		}
	}
	return a
}

// member is where the value of a key goes; nil: nowhere.
func (a *memoryArgs) member(key []byte) *int64 {
	switch string(key) {
	case allocatedKey:
		return &a.allocated
	case "Total Reserved":
		return &a.reserved
	case "Device Type":
		return &a.deviceType
	case "Device Id":
		return &a.device
	}
	return nil
}

// plain reads arguments as torch writes them: integers and truth values, one blank
// behind each comma and colon. It returns false, having read something or not, where
// they are anything else before all is known.
func (a *memoryArgs) plain(args []byte) bool {
	for {
		if len(args) == 0 || args[0] != '"' {
			return false
		}
		end := 1 + bytes.IndexByte(args[1:], '"')
		// A key that has a quote has a backslash before it.
		if end <= 1 || args[end-1] == '\\' || len(args) < end+4 || args[end+1] != ':' || args[end+2] != ' ' {
			return false
		}
		to := a.member(args[1:end])
		args = args[end+3:]
		n := 0
		switch {
		case args[0] == 't':
			args = bytes.TrimPrefix(args, []byte("true"))
		case args[0] == 'f':
			args = bytes.TrimPrefix(args, []byte("false"))
		case to == nil:
			if n = wholeLen(args); n == 0 {
				return false
			}
		default:
			if n = wholeLen(args); n == 0 || n > maxWhole {
				return false
			}
			*to = whole(args[:n])
		}
		args = args[n:]
		if len(args) == 0 {
			return true
		}
		if len(args) < 2 || args[0] != ',' || args[1] != ' ' {
			return false
		}
		args = args[2:]
		if to == &a.deviceType && a.known() && bytes.IndexByte(args, 'T') < 0 && bytes.IndexByte(args, 'D') < 0 {
			return true // none of the keys is in what is left
		}
	}
}

func (a *memoryArgs) known() bool {
	return a.allocated >= 0 && a.reserved >= 0 && a.deviceType >= 0 && a.device >= 0
}

// maxWhole is how long the text of an integer is at most that an int64 surely holds.
const maxWhole = 18

// wholeLen is the length of the integer that a text begins with, 0 if there is none.
func wholeLen(text []byte) int {
	n := 0
	if text[0] == '-' {
		n = 1
	}
	first := n
	for n < len(text) && text[n]-'0' <= 9 {
		n++
	}
	if n == first {
		return 0
	}
	return n
}

// whole is the value of the text of an integer.
func whole(text []byte) (v int64) {
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	for _, c := range digits {
		v = v*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		v = -v
	}
	return v
}
