package record

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Limits say when to record, and how much. They hold for each process. Zero
// values are no limit.
type Limits struct {
	// Paused records nothing until a start is asked for over the control socket.
	Paused bool
	// Delay records nothing until so long after a process began to use the device;
	// Duration ends a window so long after it was opened.
	Delay, Duration time.Duration
	// MaxSize is how many bytes of data a process may record; what comes later is
	// left out, and counted as a loss.
	MaxSize int64
	// RingTime and RingBytes keep only about the last of the data. What leaves is
	// no loss: the window begins behind it.
	RingTime  time.Duration
	RingBytes int64
}

// Least values of limits: several activity buffers, of 256 KiB or as the user has
// them, must find room, and a ring is removed by quarters.
const (
	MinMaxSize   = 4 << 20
	MinRingBytes = 8 << 20
	MinRingTime  = 100 * time.Millisecond
)

// maxLimitTime is the longest time an agent takes.
const maxLimitTime = 366 * 24 * time.Hour

// ErrLimits is wrapped by errors about Limits that cannot be kept.
var ErrLimits = errors.New("limits cannot be kept")

// Check reports limits that are out of range or exclude each other.
func (l *Limits) Check() error {
	for _, d := range []struct {
		name     string
		d, least time.Duration
	}{{"delay", l.Delay, time.Millisecond}, {"duration", l.Duration, time.Millisecond}, {"ring", l.RingTime, MinRingTime}} {
		if d.d != 0 && (d.d < d.least || d.d > maxLimitTime) {
			return fmt.Errorf("%w: a %s of %v is not between %v and %v", ErrLimits, d.name, d.d, d.least, maxLimitTime)
		}
	}
	switch {
	case l.MaxSize != 0 && l.MaxSize < MinMaxSize:
		return fmt.Errorf("%w: a size of %d bytes is less than %d", ErrLimits, l.MaxSize, MinMaxSize)
	case l.RingBytes != 0 && l.RingBytes < MinRingBytes:
		return fmt.Errorf("%w: a ring of %d bytes is less than %d", ErrLimits, l.RingBytes, MinRingBytes)
	case l.MaxSize != 0 && (l.RingBytes != 0 || l.RingTime != 0):
		return fmt.Errorf("%w: a largest size keeps the first of the data, a ring the last of it: choose one", ErrLimits)
	case l.Paused && l.Delay != 0:
		return fmt.Errorf("%w: recording is to start by itself after a delay and to wait for a start: choose one", ErrLimits)
	}
	return nil
}

// Environment variables of Limits.
const (
	envPaused    = "FLAGOS_TRACE_PAUSED"
	envDelay     = "FLAGOS_TRACE_DELAY_MS"
	envDuration  = "FLAGOS_TRACE_DURATION_MS"
	envMaxSize   = "FLAGOS_TRACE_MAX_SIZE"
	envRingTime  = "FLAGOS_TRACE_RING_MS"
	envRingBytes = "FLAGOS_TRACE_RING_BYTES"
)

// envLimits lists them.
var envLimits = []string{envPaused, envDelay, envDuration, envMaxSize, envRingTime, envRingBytes}

// env puts them into the agent's settings; "" stands for one that is not set.
func (l *Limits) env(set map[string]string) {
	for _, name := range envLimits {
		set[name] = ""
	}
	if l.Paused {
		set[envPaused] = "1"
	}
	for name, n := range map[string]int64{
		envDelay: l.Delay.Milliseconds(), envDuration: l.Duration.Milliseconds(), envRingTime: l.RingTime.Milliseconds(),
		envMaxSize: l.MaxSize, envRingBytes: l.RingBytes,
	} {
		if n > 0 {
			set[name] = strconv.FormatInt(n, 10)
		}
	}
}
