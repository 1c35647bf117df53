package fakegpu

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

//go:embed csrc workload.py
var sources embed.FS

// ErrNoCompiler says that there is no gcc to build the libraries with.
var ErrNoCompiler = errors.New("fakegpu: gcc not found in PATH: install it, or skip what needs the look-alike libraries")

// A CUPTI names one build of the activity library.
type CUPTI string

// The builds of the activity library. The version that each reports, and with it
// its record sizes, can be changed by FAKECUPTI_VERSION.
const (
	CUPTI13         CUPTI = "cupti13"          // libcupti.so.13, version 130001
	CUPTI12         CUPTI = "cupti12"          // libcupti.so.12, version 26, without functions newer than 12.8
	CUPTI13NoLists  CUPTI = "cupti13-nolists"  // libcupti.so.13 without cuptiActivityEnableRuntimeApi and -DriverApi
	CUPTI13Minimal  CUPTI = "cupti13-minimal"  // libcupti.so.13 with ten functions
	CUPTI13Unusable CUPTI = "cupti13-unusable" // libcupti.so.13 without cuptiActivityRegisterCallbacks
	NoCUPTI         CUPTI = ""                 // driver and runtime only
)

// Builds of the look-alike of a framework's profiler, in Dir: with all imports
// bound when it is loaded and then locked, with each bound at its first call, and
// with calls through the import table itself.
const (
	KinetoNow   = "libfakekineto-now.so"
	KinetoLazy  = "libfakekineto-lazy.so"
	KinetoNoPLT = "libfakekineto-noplt.so"
)

// Paths says where the pieces of a build are, as absolute paths.
type Paths struct {
	Dir        string // the whole build
	Workload   string // fakegpu-workload, a C program
	WorkloadPy string // workload.py, the same for python3
	DumpInject string // libdumpinject.so, a minimal injected client for tests
	Kineto     string // fakegpu-kineto, a program that profiles itself
}

func pathsIn(dir string) Paths {
	return Paths{
		Dir:        dir,
		Workload:   filepath.Join(dir, "fakegpu-workload"),
		WorkloadPy: filepath.Join(dir, "workload.py"),
		DumpInject: filepath.Join(dir, "libdumpinject.so"),
		Kineto:     filepath.Join(dir, "fakegpu-kineto"),
	}
}

// LibraryPath returns the directories a program must search for its libraries,
// as a value of LD_LIBRARY_PATH, before those it has now.
func (p Paths) LibraryPath(c CUPTI) string {
	path := filepath.Join(p.Dir, "lib")
	if c != NoCUPTI {
		path += ":" + filepath.Join(p.Dir, string(c))
	}
	if old := os.Getenv("LD_LIBRARY_PATH"); old != "" {
		path += ":" + old
	}
	return path
}

// Env returns the environment variables (NAME=value) with which a program finds
// the look-alike libraries instead of the vendor's.
func (p Paths) Env(c CUPTI) []string {
	return []string{"LD_LIBRARY_PATH=" + p.LibraryPath(c)}
}

// TB is the part of testing.TB that Get uses.
type TB interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

var shared struct {
	sync.Once
	paths Paths
	err   error
}

// Get returns the libraries, built in the user's cache directory at the first
// call. It skips the test when there is no compiler and fails it when they do
// not compile.
func Get(tb TB) Paths {
	tb.Helper()
	shared.Do(func() { shared.paths, shared.err = Build("") })
	switch {
	case errors.Is(shared.err, ErrNoCompiler):
		tb.Skip(shared.err)
	case shared.err != nil:
		tb.Fatal(shared.err)
	}
	return shared.paths
}

// Build compiles the libraries below cache, or below the user's cache directory
// when cache is empty, unless a build of these sources is there already. It is
// safe to call from several processes at once.
func Build(cache string) (Paths, error) { return BuildWith("gcc", cache) }

// BuildWith is Build with another compiler, such as aarch64-linux-gnu-gcc: what it builds
// is for that one's architecture.
func BuildWith(compiler, cache string) (Paths, error) {
	gcc, err := exec.LookPath(compiler)
	switch {
	case err != nil && compiler == "gcc":
		return Paths{}, ErrNoCompiler
	case err != nil:
		return Paths{}, fmt.Errorf("fakegpu: no compiler: %w", err)
	}
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			base = os.TempDir()
		}
		cache = filepath.Join(base, "flagos-trace", "fakegpu")
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return Paths{}, fmt.Errorf("fakegpu: %w", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Paths{}, fmt.Errorf("fakegpu: %w", err)
	}
	key, err := buildKey(gcc)
	if err != nil {
		return Paths{}, err
	}
	final := filepath.Join(cache, key)
	unlock, err := lock(final + ".lock")
	if err != nil {
		return Paths{}, fmt.Errorf("fakegpu: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(final); err == nil {
		return pathsIn(final), nil
	}
	tmp, err := os.MkdirTemp(cache, key+".tmp")
	if err != nil {
		return Paths{}, fmt.Errorf("fakegpu: %w", err)
	}
	defer os.RemoveAll(tmp)
	if err := compile(gcc, tmp); err != nil {
		return Paths{}, err
	}
	if err := os.Rename(tmp, final); err != nil {
		return Paths{}, fmt.Errorf("fakegpu: %w", err)
	}
	return pathsIn(final), nil
}

// buildKey hashes what the result of a build depends on.
func buildKey(gcc string) (string, error) {
	version, err := exec.Command(gcc, "-v").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fakegpu: gcc -v: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", version, strings.Join(cflags, " "))
	for _, s := range steps() {
		fmt.Fprintln(h, s)
	}
	err = fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(data))
		h.Write(data)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("fakegpu: %w", err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}
