package fakegpu

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

var cflags = []string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE"}

// A step is one run of the compiler, in the directory of the build. Sources are
// given as globs below csrc; flags may name objects of earlier steps.
type step struct {
	out     string
	sources []string
	flags   []string
}

func steps() []step {
	shared := func(soname string) []string { return []string{"-shared", "-Wl,-z,defs", "-Wl,-soname," + soname} }
	all := []step{
		{"lib/libcuda.so.1", []string{"cuda/*.c"}, append(shared("libcuda.so.1"), "-ldl", "-lpthread")},
		{"lib/libcudart.so.13", []string{"cudart/*.c"}, append(shared("libcudart.so.13"), "-Llib", "-l:libcuda.so.1", "-lpthread", "-Wl,-rpath,$ORIGIN")},
		{"libdumpinject.so", []string{"tools/dumpinject.c"}, []string{"-shared", "-ldl", "-lpthread"}},
		{"fakegpu-workload", []string{"tools/workload.c", "tools/train.c", "tools/progress.c", "tools/storm.c", "tools/nvtx.c", "tools/libraries.c"}, []string{"-ldl", "-lpthread"}},
	}
	for _, version := range []string{"130001", "26"} {
		all = append(all, step{"obj/cupti-" + version + ".o", []string{"cupti/*.c"}, []string{"-r", "-nostdlib", "-DFAKECUPTI_DEFAULT_VERSION=" + version}})
	}
	for _, c := range []struct {
		name    CUPTI
		soname  string
		version string
		exports string // version script below maps, if not everything is exported
	}{
		{CUPTI13, "libcupti.so.13", "130001", ""},
		{CUPTI12, "libcupti.so.12", "26", "cupti12"},
		{CUPTI13NoLists, "libcupti.so.13", "130001", "nolists"},
		{CUPTI13Minimal, "libcupti.so.13", "130001", "minimal"},
		{CUPTI13Unusable, "libcupti.so.13", "130001", "unusable"},
	} {
		flags := append([]string{"obj/cupti-" + c.version + ".o"}, shared(c.soname)...)
		flags = append(flags, "-Llib", "-l:libcuda.so.1", "-lpthread", "-Wl,-rpath,$ORIGIN/../lib")
		if c.exports != "" {
			flags = append(flags, "-Wl,--version-script,csrc/maps/"+c.exports+".map")
		}
		all = append(all, step{filepath.Join(string(c.name), c.soname), nil, flags})
	}
	// A profiler that imports the activity library, bound in each of the ways there
	// are.
	for _, k := range []struct {
		name  string
		flags []string
	}{
		{KinetoNow, []string{"-Wl,-z,now", "-Wl,-z,relro"}},
		{KinetoLazy, []string{"-Wl,-z,lazy", "-Wl,-z,norelro"}},
		{KinetoNoPLT, []string{"-fno-plt", "-Wl,-z,now", "-Wl,-z,relro"}},
	} {
		flags := append(shared(k.name), k.flags...)
		flags = append(flags, "-L"+string(CUPTI13), "-l:libcupti.so.13", "-Llib", "-l:libcuda.so.1", "-lpthread")
		all = append(all, step{k.name, []string{"kineto/kineto.c"}, flags})
	}
	all = append(all, ascendSteps()...)
	all = append(all, alikeSteps()...)
	return append(all, step{"fakegpu-kineto", []string{"kineto/run.c", "tools/libraries.c"}, []string{"-ldl", "-lpthread"}})
}

// compile writes the sources into dir and builds everything there.
func compile(gcc, dir string) error {
	if err := writeSources(dir); err != nil {
		return fmt.Errorf("fakegpu: %w", err)
	}
	for _, s := range steps() {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(s.out)), 0o755); err != nil {
			return fmt.Errorf("fakegpu: %w", err)
		}
		args := append([]string{}, cflags...)
		args = append(args, "-o", s.out)
		for _, glob := range s.sources {
			files, err := filepath.Glob(filepath.Join(dir, "csrc", glob))
			if err != nil || len(files) == 0 {
				return fmt.Errorf("fakegpu: no sources match %s", glob)
			}
			for _, f := range files {
				rel, err := filepath.Rel(dir, f)
				if err != nil {
					return fmt.Errorf("fakegpu: %w", err)
				}
				args = append(args, rel)
			}
		}
		cmd := exec.Command(gcc, append(args, s.flags...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("fakegpu: building %s: %s: %w\n%s", s.out, strings.Join(cmd.Args, " "), err, out)
		}
	}
	return nil
}

func writeSources(dir string) error {
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(path))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		data, err := sources.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
	if err != nil {
		return err
	}
	// workload.py reads the list of kernels beside it.
	kernels, err := sources.ReadFile("csrc/tools/kernels.inc")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "kernels.inc"), kernels, 0o644)
}
