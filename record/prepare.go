package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// prepare fills in what Options leave open and checks, before the program
// starts, all that would make the recording end without a trace.
func prepare(o *Options) error {
	if len(o.Command) == 0 {
		return ErrNoCommand
	}
	if err := checkFiles(); err != nil {
		return err
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	switch o.API {
	case "":
		o.API = tracer.APIKineto
	case tracer.APIMinimal, tracer.APIKineto, tracer.APIAll:
	default:
		return fmt.Errorf("unknown level of API recording %q: use %s, %s or %s", o.API, tracer.APIMinimal, tracer.APIKineto, tracer.APIAll)
	}
	if err := CheckRuntimeCategory(o.RuntimeCategory); err != nil {
		return err
	}
	path, err := checkOutput(o.Output, o.NoClobber)
	if err != nil {
		return err
	}
	o.Output = path
	// Traces of ranks and of other processes have a longer name; 2^22 is the most a pid can be.
	if !outfile.IsStream(path) {
		if err := checkCreate(insert(rankName(path, maxRank), "4194304")); err != nil {
			return err
		}
	}
	if o.SummaryFile != "" {
		if o.SummaryFile, err = checkOutput(o.SummaryFile, false); err != nil {
			return err
		}
	}
	return nil
}

// checkOutput returns the path to write to, which is the target where the given
// one is a symbolic link, after it has made sure that it can be written.
func checkOutput(path string, noClobber bool) (string, error) {
	if path == "" {
		return "", errors.New("no output file given")
	}
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return "", fmt.Errorf("cannot write to %s: it is a folder; name a file in it", path)
	case err == nil && !st.Mode().IsRegular():
		return path, nil
	case err == nil && noClobber:
		return "", fmt.Errorf("%w: %s; remove it, choose another name, or allow overwriting", ErrExists, path)
	case err == nil:
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("cannot write to %s: %w; create the folder first", path, err)
	} else if !st.IsDir() {
		return "", fmt.Errorf("cannot write to %s: %s is not a folder", path, dir)
	}
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return "", fmt.Errorf("cannot write to %s: the folder %s: %w", path, dir, err)
	}
	return path, checkCreate(path)
}

// checkCreate tries whether a file can be written under that name, and leaves
// nothing of it.
func checkCreate(path string) error {
	f, err := outfile.Create(path)
	switch {
	case errors.Is(err, unix.ENAMETOOLONG):
		return fmt.Errorf("cannot write to %s: %w, with what a rank, a process id and a temporary name add to it", path, unix.ENAMETOOLONG)
	case err != nil:
		return fmt.Errorf("cannot write to %s: %w", path, err)
	}
	f.Abort()
	return nil
}

// wantFiles is how many files the recorder has open at once beside those it was
// started with: three of the Go runtime's poller, a pidfd, a pipe to start the
// program, and what is being read.
const wantFiles = 8

// checkFiles refuses a limit of open files that is too low. It comes before the
// first file is opened: where its poller cannot be had the Go runtime ends the
// process with a traceback.
func checkFiles() error {
	var fds []int
	var err error
	for range wantFiles {
		var fd int
		if fd, err = unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 0); err != nil {
			break
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	if errors.Is(err, unix.EMFILE) {
		return fmt.Errorf("only %d more files may be opened and recording takes %d: raise the limit (ulimit -n)", len(fds), wantFiles)
	}
	return nil
}

// makeSpoolDir makes a private folder for the spools: beside the output, where
// there must be room anyway, or under the folder asked for. Its path is absolute
// since the program may change its working directory.
func makeSpoolDir(o *Options) (string, error) {
	parent, pattern := o.SpoolDir, "flagos-trace-*"
	switch {
	case parent == "" && outfile.IsStream(o.Output):
		parent = os.TempDir()
	case parent == "":
		parent, pattern = filepath.Dir(o.Output), ".flagos-trace-*"
	}
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	if o.SpoolDir != "" {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			return "", fmt.Errorf("cannot make the spool folder: %w", err)
		}
	}
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return "", fmt.Errorf("cannot make the spool folder: %w", err)
	}
	return dir, nil
}
