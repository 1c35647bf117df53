package tracer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/event"
)

// ErrUnknownTracer is returned for a tracer this build has no decoder for.
var ErrUnknownTracer = errors.New("no decoder for this tracer")

// Config says how to decode one process's buffers.
type Config struct {
	// APIVersion is what the library said of itself in the traced process.
	APIVersion uint32
	// NSPerTick is the length of one unit of the records' times in nanoseconds;
	// 0 means 1. It only scales the limits of plausibility: decoding never
	// converts times.
	NSPerTick float64
	// API says which API calls become events.
	API APILevel
	// Strings receives the names. It must not be nil.
	Strings *event.Strings
}

var decoders = map[string]func(Config) (Decoder, error){}

// Register makes a tracer's decoder known under its name. It is called from
// init functions.
func Register(name string, open func(Config) (Decoder, error)) { decoders[name] = open }

// NewDecoder returns a decoder for the named tracer.
func NewDecoder(name string, c Config) (Decoder, error) {
	open, ok := decoders[name]
	if !ok {
		known := make([]string, 0, len(decoders))
		for n := range decoders {
			known = append(known, n)
		}
		slices.Sort(known)
		return nil, fmt.Errorf("%w: %q (this build has: %s)", ErrUnknownTracer, name, strings.Join(known, ", "))
	}
	return open(c)
}
