package record

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVendorsFor(t *testing.T) {
	for _, c := range []struct {
		what, name string
		env        []string
		nodes      string
		want       string
		named      bool
		err        error
	}{
		{"named", "NPU", nil, "", "ascend", true, nil},
		{"nothing", "auto", nil, "", "none is known", false, nil},
		{"the machine's", "", nil, "/dev/davinci0", "ascend", false, nil},
		{"two of the machine's", "", nil, "/dev/davinci0 /dev/nvidiactl", "cupti, ascend", false, nil},
		{"FlagOS'", "", []string{"FLAGOS_ACCELERATOR=cuda"}, "/dev/davinci0", "cupti", false, nil},
		{"none of ours", "", []string{"FLAGOS_ACCELERATOR=abacus"}, "/dev/davinci0", "ascend", false, nil},
		{"unknown", "abacus", nil, "", "", false, ErrVendor},
	} {
		list, named, err := vendorsFor(c.name, c.env, func(p string) bool { return c.nodes != "" && strings.Contains(" "+c.nodes+" ", " "+p+" ") })
		if !errors.Is(err, c.err) || err == nil && (tracersOf(list) != c.want || named != c.named) {
			t.Errorf("%s: %s %v %v", c.what, tracersOf(list), named, err)
		}
	}
}

func TestVendorEnv(t *testing.T) {
	dir, spaced := t.TempDir(), filepath.Join(t.TempDir(), "a b")
	for _, d := range []string{dir, spaced, filepath.Join(dir, "cann", "tools", "mspti", "lib64"), filepath.Join(dir, "ld")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ours := filepath.Join(dir, preloadName)
	inCANN, inPath := filepath.Join(dir, "cann/tools/mspti/lib64/libmspti.so"), filepath.Join(dir, "ld/libmspti.so")
	for _, f := range []string{ours, filepath.Join(spaced, preloadName), inCANN, inPath} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, c := range []struct {
		what    string
		o       Options
		env     []string
		agent   string
		preload string
		library string
		buffer  string
		err     string
	}{
		{"CUDA", Options{Vendor: "cuda"}, []string{"LD_PRELOAD=/x.so"}, dir + "/a", "/x.so", "", "", ""},
		{"Ascend", Options{Vendor: "ascend"}, nil, dir + "/a", ours, "", "2097152", ""},
		{"what was there stays, behind", Options{Vendor: "ascend"}, []string{"LD_PRELOAD=/x.so:/y.so", "FLAGOS_TRACE_BUFFER_SIZE=65536"}, dir + "/a", ours + ":/x.so:/y.so", "", "65536", ""},
		{"its library, too", Options{Vendor: "npu", Preload: true}, []string{"ASCEND_HOME_PATH=" + dir + "/cann", "LD_LIBRARY_PATH=" + dir + "/ld"}, dir + "/a", ours + ":" + inCANN, inCANN, "2097152", ""},
		{"where the loader looks", Options{Vendor: "npu", Preload: true}, []string{"LD_LIBRARY_PATH=/none:" + dir + "/ld"}, dir + "/a", ours + ":" + inPath, inPath, "2097152", ""},
		{"where the loader looks, below the working folder", Options{Vendor: "npu", Preload: true}, []string{"LD_LIBRARY_PATH=none:ld"}, dir + "/a", ours + ":" + inPath, inPath, "2097152", ""},
		{"named", Options{Vendor: "npu", Preload: true}, []string{"FLAGOS_TRACER_LIBRARY=" + inPath}, dir + "/a", ours + ":" + inPath, inPath, "2097152", ""},
		{"named in vain", Options{Vendor: "npu", Preload: true}, []string{"FLAGOS_TRACER_LIBRARY=/none/libmspti.so"}, dir + "/a", "", "", "", "FLAGOS_TRACER_LIBRARY is set to /none/libmspti.so"},
		{"not found", Options{Vendor: "npu", Preload: true}, []string{"LD_LIBRARY_PATH=/nowhere"}, dir + "/a", "", "", "", "looked for in: /nowhere, "},
		{"nothing to preload", Options{Vendor: "cuda", Preload: true}, nil, dir + "/a", "", "", "", "none of the libraries of the devices here (cupti) needs it"},
		{"a folder with a blank", Options{Vendor: "ascend"}, nil, spaced + "/a", "", "", "", "takes colons and blanks"},
		{"an agent without it", Options{Vendor: "ascend"}, nil, "/none/a", "", "", "", "no such file"},
	} {
		set := map[string]string{}
		err := vendorEnv(set, c.env, c.agent, &c.o)
		if c.err != "" {
			if !errors.Is(err, ErrPreload) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if err != nil || set[envPreload] != c.preload || set[envPreloaded] != c.library || set[envBufferSize] != c.buffer {
			t.Errorf("%s: %v %q", c.what, err, set)
		}
	}
}
