package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/record"
)

// parseLimits reads --max-size and --ring and checks all limits.
func parseLimits(l *record.Limits, maxSize, ring string) error {
	var err error
	if l.MaxSize, l.RingBytes, l.RingTime = 0, 0, 0; maxSize != "" {
		if l.MaxSize, err = parseBytes(maxSize); err != nil {
			return fmt.Errorf("--max-size %s: %w", maxSize, err)
		}
	}
	if ring != "" {
		// "5m" is five minutes, "5M" five megabytes.
		if d, err := time.ParseDuration(ring); err == nil && d != 0 {
			l.RingTime = d
		} else if l.RingBytes, err = parseBytes(ring); err != nil {
			return fmt.Errorf("--ring %s: give a time such as 30s or 5m, or a size such as 512M", ring)
		}
	}
	return l.Check()
}

// parseBytes reads a number of bytes with K, M, G or T, each 1024 of the one
// before it, behind it.
func parseBytes(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(text, "B"), "i")
	unit := int64(1)
	if i := strings.IndexAny(number, "KMGT"); i >= 0 && i == len(number)-1 {
		unit = 1 << (10 * (1 + strings.IndexByte("KMGT", number[i])))
		number = number[:i]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("give a number of bytes above 0, such as 1000000, 512M or 2G")
	}
	return n * unit, nil
}
