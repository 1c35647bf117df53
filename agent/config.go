package agent

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/flagos-ai/flagos-trace/tracer"
	"golang.org/x/sys/unix"
)

// Environment variables between the recorder and the agent.
const (
	EnvDir         = "FLAGOS_TRACE_DIR"             // spool directory; without it nothing is recorded
	EnvAPI         = "FLAGOS_TRACE_API"             // minimal, kineto (default) or all
	EnvSync        = "FLAGOS_TRACE_SYNC"            // 0 leaves waits and device events out
	EnvNVTX        = "FLAGOS_TRACE_NVTX"            // 1 records ranges and marks of NVTX
	EnvOverhead    = "FLAGOS_TRACE_OVERHEAD"        // 0 leaves the tracer's own overhead out
	EnvDebug       = "FLAGOS_TRACE"                 // "debug" writes a log beside the spool
	EnvChain       = "FLAGOS_TRACE_CHAIN"           // another injection library, started after this one
	EnvExitTimeout = "FLAGOS_TRACE_EXIT_TIMEOUT_MS" // how long exit may wait for the last records
	EnvBufferSize  = "FLAGOS_TRACE_BUFFER_SIZE"     // bytes of an activity buffer
	EnvPerThread   = "FLAGOS_TRACE_PER_THREAD"      // 1 gives every launching thread buffers of its own
	EnvFlush       = "FLAGOS_TRACE_FLUSH_MS"        // how often finished records are fetched
	EnvBuffers     = "FLAGOS_TRACE_BUFFERS"         // number of activity buffers
	EnvPaused      = "FLAGOS_TRACE_PAUSED"          // 1 enables nothing until a start
	EnvDelay       = "FLAGOS_TRACE_DELAY_MS"        // the same, until so long after the injection
	EnvDuration    = "FLAGOS_TRACE_DURATION_MS"     // a window ends by itself after so long
	EnvMaxSize     = "FLAGOS_TRACE_MAX_SIZE"        // bytes of a spool, beyond which buffers are left out
	EnvRingBytes   = "FLAGOS_TRACE_RING_BYTES"      // only about the last so many bytes are kept
	EnvRing        = "FLAGOS_TRACE_RING_MS"         // only what was written in about the last so long is kept
)

const (
	defaultExitTimeout = 5 * time.Second
	// defaultBufferSize is small: a flush that is not forced hands over a buffer
	// only once all its records are finished, and with a device that is always
	// busy that is when it is full. Of 2 MiB, 360 ms of training were not yet
	// handed over; see docs/validation.md.
	defaultBufferSize = 256 << 10
	defaultBuffers    = 512
	minBufferSize     = 64 << 10
	maxBufferSize     = 32 << 20
	maxBuffers        = 1024
	maxExitTimeout    = time.Minute
	minMaxSize        = 64 << 10
	minRingBytes      = 256 << 10
	maxMillis         = 366 * 24 * 3600 * 1000 // of delays and durations
)

// errDir says that the spool directory cannot be used.
var errDir = errors.New("spool directory cannot be used")

type config struct {
	dir         string
	options     tracer.Options
	debug       bool
	chain       string
	temp        string
	exitTimeout time.Duration
	flushEvery  time.Duration
	bufferSize  int
	buffers     int
	paused      bool // nothing is armed at the injection
	delay       time.Duration
	duration    time.Duration // 0 is without limit, as in what follows
	maxSize     int64
	ringBytes   int64
	ringTime    time.Duration
	notes       []string // values that were not understood
}

// configFrom reads the configuration. A value it does not understand is noted
// and replaced by the default: a typing error must not cost the trace.
func configFrom(getenv func(string) string) config {
	c := config{
		dir:     getenv(EnvDir),
		chain:   getenv(EnvChain),
		temp:    getenv("TMPDIR"),
		debug:   getenv(EnvDebug) == "debug",
		options: tracer.Options{API: tracer.APIKineto, Sync: true, Overhead: true},
	}
	if c.temp == "" {
		c.temp = "/tmp"
	}
	switch v := tracer.APILevel(getenv(EnvAPI)); v {
	case "":
	case tracer.APIMinimal, tracer.APIKineto, tracer.APIAll:
		c.options.API = v
	default:
		c.note(EnvAPI, string(v), string(tracer.APIKineto))
	}
	c.options.Sync = c.onOff(getenv, EnvSync)
	c.options.Overhead = c.onOff(getenv, EnvOverhead)
	c.options.NVTX = getenv(EnvNVTX) != "" && c.onOff(getenv, EnvNVTX)
	c.options.PerThread = getenv(EnvPerThread) != "" && c.onOff(getenv, EnvPerThread)
	c.flushEvery = time.Duration(c.number(getenv, EnvFlush, int(flushEvery.Milliseconds()), 10, 10_000)) * time.Millisecond
	c.exitTimeout = time.Duration(c.number(getenv, EnvExitTimeout, int(defaultExitTimeout.Milliseconds()), 0, int(maxExitTimeout.Milliseconds()))) * time.Millisecond
	c.bufferSize = c.number(getenv, EnvBufferSize, defaultBufferSize, minBufferSize, maxBufferSize) &^ 4095
	c.buffers = c.number(getenv, EnvBuffers, defaultBuffers, 1, maxBuffers)
	millis := func(name string) time.Duration {
		return time.Duration(c.number(getenv, name, 0, 0, maxMillis)) * time.Millisecond
	}
	c.delay, c.duration, c.ringTime = millis(EnvDelay), millis(EnvDuration), millis(EnvRing)
	c.maxSize = int64(c.number(getenv, EnvMaxSize, 0, minMaxSize, math.MaxInt))
	c.ringBytes = int64(c.number(getenv, EnvRingBytes, 0, minRingBytes, math.MaxInt))
	c.paused = c.delay > 0 || getenv(EnvPaused) != "" && c.onOff(getenv, EnvPaused)
	return c
}

func (c *config) note(name, value, used string) {
	c.notes = append(c.notes, fmt.Sprintf("%s=%q is not understood; %s is used", name, value, used))
}

func (c *config) onOff(getenv func(string) string, name string) bool {
	switch v := getenv(name); v {
	case "", "1", "on", "true":
		return true
	case "0", "off", "false":
		return false
	default:
		c.note(name, v, "on")
		return true
	}
}

func (c *config) number(getenv func(string) string, name string, def, low, high int) int {
	v := getenv(name)
	if v == "" {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		c.note(name, v, strconv.Itoa(def))
		return def
	}
	return n
}

// usable reports whether spools can be made in the directory.
func (c *config) usable() error {
	var st unix.Stat_t
	if err := unix.Stat(c.dir, &st); err != nil {
		return fmt.Errorf("%w: %s: %w", errDir, c.dir, err)
	} else if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("%w: %s is not a directory", errDir, c.dir)
	}
	if err := unix.Access(c.dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%w: %s: %w", errDir, c.dir, err)
	}
	return nil
}
