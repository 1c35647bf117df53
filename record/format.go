package record

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// grouped writes a count with its thousands apart.
func grouped(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration writes nanoseconds in the unit that leaves one to three digits before
// the point.
func duration(ns int64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%d ns", ns)
	case ns < 999_995:
		return fmt.Sprintf("%.2f us", float64(ns)/1e3)
	case ns < 999_995_000:
		return fmt.Sprintf("%.2f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.2f s", float64(ns)/1e9)
}

// size writes bytes in binary units.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 1023.95 && unit < 3 {
		f /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %s", f, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}

// percent writes a share. One that rounds to nothing is shown as small, and one
// that rounds to everything as less than that.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.0005:
		return "<0.1%"
	case share < 1 && share >= 0.9995:
		return ">99.9%"
	}
	return fmt.Sprintf("%.1f%%", share*100)
}

// shorten fits a kernel's name into columns. Names of one template differ at
// their ends as often as at their beginnings, so the middle goes.
func shorten(name string, columns int) string {
	name = strings.TrimPrefix(name, "void ")
	n := utf8.RuneCountInString(name)
	if n <= columns {
		return name
	}
	r := []rune(name)
	tail := (columns - 3) / 3
	head := columns - 3 - tail
	return string(r[:head]) + "..." + string(r[n-tail:])
}
