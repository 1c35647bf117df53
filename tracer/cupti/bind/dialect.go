package bind

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

var (
	// ErrNoLibrary: a vendor's library could not be opened.
	ErrNoLibrary = errors.New("the vendor's tracing library was not found")
	// ErrNoFunction: a vendor's library lacks a function without which nothing works.
	ErrNoFunction = errors.New("the vendor's tracing library lacks a function that tracing needs: it is too old, or another library")
)

// Dialect is what a vendor's library that is modelled on CUPTI has otherwise in the
// process. All of it is data; the code is CUPTI's.
type Dialect struct {
	*cupti.Dialect
	What   string // for people: "MUPTI"
	Prefix string // of functions, in place of "cupti"
	// NameQuery is the function that names calls, where it is not <Prefix>GetCallbackName;
	// it is then given the activity kind in place of the domain.
	NameQuery string
	// Loaded is the beginning of the file name of the library, Names what to ask the
	// loader for, and to look for in the vendor's folders (tracer.Vendor).
	Loaded string
	Names  []string
	// Env are variables that name the library, after tracer.EnvLibrary.
	Env []string
	// Marks are beginnings of file names by which a process that uses the vendor's
	// devices is known.
	Marks []string
	// EndUnknown says that the iterator's result at the end of a buffer is not known.
	// It is at its end where the last record ends as the buffer does.
	EndUnknown bool
	// OneKernelKind says that the two kinds of kernel records exclude each other, and
	// that where the usual one is refused the program has the other one on.
	OneKernelKind bool
	// Gap is what the library does not record, for people; "" if nothing is known of any.
	Gap string
	// CUDADriver says that the vendor's driver answers to CUDA's functions about devices.
	CUDADriver bool
	// FlushLimit is how long a flush may take. One that takes longer is given up, and
	// the library not called again: a flush of MUPTI may wait for ever.
	FlushLimit time.Duration
}

// OpenDialect finds the library of a dialect and resolves its functions, as Open
// does for CUPTI. Errors are ErrNoLibrary or ErrNoFunction.
func OpenDialect(d *Dialect, getenv func(string) string) (*Binding, error) {
	f, err := d.find(getenv)
	if err != nil {
		return nil, err
	}
	b := &Binding{notes: f.notes, out: dl.NewOut(), d: d}
	if d.Gap != "" {
		b.notes = append(b.notes, d.Gap)
	}
	if err := b.fn.resolve(f.lib, d.symbol); err != nil {
		return nil, fmt.Errorf("%w (%s): %w", ErrNoFunction, d.What, err)
	}
	if d.NameQuery != "" {
		b.fn.getCallbackName = f.lib.Func(d.NameQuery)
	}
	b.info = tracer.BindingInfo{Tracer: d.Tracer, Path: f.lib.Path(d.symbol("cuptiActivityEnable")), How: f.how}
	b.info.HandleThreads = b.fn.setThreadIDType == 0
	// A version is said to people, and nothing goes by it.
	if b.fn.getVersion != 0 && b.call("cuptiGetVersion", b.fn.getVersion, dl.OutPtr(b.out, 0)) == nil {
		b.info.APIVersion = uint32(b.out[0])
	}
	b.look.init(d.Layouts, b.info.Path, b.fn.getNextRecord, b.fn.getCallbackName)
	if err := b.look.speak(d, b.info.APIVersion); err != nil {
		return nil, err
	}
	if d.FlushLimit > 0 {
		b.flushes = new(flushWorker)
		b.look.alone = b.flushes.isStuck
	}
	return b, nil
}

// symbol is the vendor's name of a function of CUPTI.
func (d *Dialect) symbol(cuptiName string) string {
	if d == nil {
		return cuptiName
	}
	return d.Prefix + strings.TrimPrefix(cuptiName, "cupti")
}

// table is the decoder's side, nil for CUPTI.
func (d *Dialect) table() *cupti.Dialect {
	if d == nil {
		return nil
	}
	return d.Dialect
}

// kernelsOn reports whether kernels are recorded though the library refused their
// kind: the program's own profiler has the other one on, which excludes this one.
// Otherwise it tries that.
func (b *Binding) kernelsOn(err error) bool {
	re, ok := err.(*ResultError)
	if b.d == nil || !b.d.OneKernelKind || !ok || re.Code != resultNotCompatible {
		return false
	}
	other := b.call(fmt.Sprintf("cuptiActivityEnable(%d)", cupti.KindKernel), b.fn.enable, uintptr(cupti.KindKernel))
	if other == nil {
		b.enabled.kinds = append(b.enabled.kinds, cupti.KindKernel)
	}
	return other == nil
}

// offered reports whether the vendor's library can record events of a kind.
func (d *Dialect) offered(k event.Kind) bool { return d == nil || tracer.Offered(d.Tracer, k) }

// Detect reports how near the vendor's devices are: in the process by what is named or mapped,
// on the machine by the vendor's folder of software.
func (d *Dialect) Detect(getenv func(string) string) tracer.Presence {
	maps, err := dl.Maps()
	if err != nil {
		maps = nil
	}
	if slices.ContainsFunc(d.Env, func(v string) bool { return getenv(v) != "" }) {
		return tracer.InProcess
	}
	for _, m := range d.Marks {
		if strings.HasPrefix(path.Base(getenv(tracer.EnvLibrary)), m) || len(maps.Files(m)) > 0 {
			return tracer.InProcess
		}
	}
	v, _ := tracer.VendorOf(d.Tracer)
	near := tracer.Absent
	for _, root := range roots(v, getenv) {
		if unix.Access(root, unix.F_OK) == nil {
			near = tracer.OnMachine
		}
		// The PPU's libraries have NVIDIA's names: where they lie tells.
		if slices.ContainsFunc(maps, func(m dl.Map) bool { return strings.HasPrefix(m.Path, path.Clean(root)+"/") }) {
			return tracer.InProcess
		}
	}
	return near
}

// find looks for the library where the environment says, among what is loaded, where
// the loader looks, and in the vendor's folders.
func (d *Dialect) find(getenv func(string) string) (found, error) {
	maps, err := dl.Maps()
	if err != nil {
		maps = nil // no process map: the loader's own search remains
	}
	loaded := maps.Files(d.Loaded)
	for _, v := range append([]string{tracer.EnvLibrary}, d.Env...) {
		if p := getenv(v); p != "" {
			lib, err := dl.Open(p)
			if err != nil {
				return found{}, fmt.Errorf("%w: %s=%s: %w", ErrNoLibrary, v, p, err)
			}
			f := found{lib: lib, how: v}
			for _, l := range loaded {
				if at := lib.Path(d.symbol("cuptiActivityEnable")); at != l {
					f.notes = append(f.notes, fmt.Sprintf("two copies of %s in the process: %s, named by %s, and %s, loaded by the program; what the one records the other does not", d.What, at, v, l))
				}
			}
			return f, nil
		}
	}
	for _, p := range loaded {
		if lib, ok := dl.Loaded(p); ok {
			f := found{lib: lib, how: "already loaded"}
			if len(loaded) > 1 {
				f.notes = append(f.notes, fmt.Sprintf("several copies of %s in the process: %s; what the one records the others do not", d.What, strings.Join(loaded, ", ")))
			}
			return f, nil
		}
	}
	missing := &dl.NotFoundError{What: d.What}
	for _, c := range d.candidates(getenv, dl.Glob) {
		lib, err := dl.Open(c.name)
		if err == nil {
			return found{lib: lib, how: c.how}, nil
		}
		missing.Tried = append(missing.Tried, dl.Attempt{Name: c.name, Reason: err.Error()})
	}
	return found{}, errors.Join(fmt.Errorf("%w: install the %s that belongs to the program's software, or name it in %s", ErrNoLibrary, d.What, tracer.EnvLibrary), missing)
}

// roots are the folders of the vendor's software: those that the environment names, or
// else the usual ones.
func roots(v tracer.Vendor, getenv func(string) string) (list []string) {
	for _, h := range v.Homes {
		if root := getenv(h); root != "" {
			list = append(list, root)
		}
	}
	if list == nil {
		list = v.Roots
	}
	return list
}

func (d *Dialect) candidates(getenv func(string) string, glob func(string) []string) (list []candidate) {
	v, _ := tracer.VendorOf(d.Tracer)
	for _, root := range roots(v, getenv) {
		for _, folder := range v.Folders {
			for _, n := range d.Names {
				for _, p := range glob(path.Join(root, folder, n)) {
					list = append(list, candidate{p, root})
				}
			}
		}
	}
	for _, n := range d.Names {
		list = append(list, candidate{n, "loader search"})
	}
	return list
}
