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
	// Env are variables of the traced process's environment that decoding may need,
	// as far as the spool kept them.
	Env map[string]string
	// Strings receives the names. It must not be nil.
	Strings *event.Strings
}

var (
	decoders = map[string]func(Config) (Decoder, error){}
	offered  = map[string][]event.Kind{}
)

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

// Offers says which kinds of events a tracer's library can record at all, and
// therefore which may be missed. It is called from init functions, for a library
// that does not have all that CUPTI has.
func Offers(name string, kinds ...event.Kind) { offered[name] = kinds }

// Offered reports whether a tracer's library can record a kind of events.
func Offered(name string, k event.Kind) bool {
	kinds, limited := offered[name]
	return !limited || slices.Contains(kinds, k)
}
