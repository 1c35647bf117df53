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
	path, err := checkOutput(o.Output, o.NoClobber)
	if err != nil {
		return err
	}
	o.Output = path
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
	return path, nil
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
