package bind

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

func mapped(paths ...string) dl.MapList {
	var l dl.MapList
	for i, p := range paths {
		l = append(l, dl.Map{Start: uint64(i) << 20, End: uint64(i+1) << 20, Path: p})
	}
	return l
}

func TestMajorOrder(t *testing.T) {
	for _, c := range []struct {
		maps dl.MapList
		want string
	}{
		{nil, "13 12 11"},
		{mapped("/x/libcudart.so.12"), "12 13 11"},
		{mapped("/x/libcudart.so.13.0.96"), "13 12 11"},
		{mapped("/x/libcublas.so.12"), "12 13 11"},
		{mapped("/x/libcuda.so.580.82.07"), "13 12 11"},
		{mapped("/x/libcuda.so.550.54.14"), "12 13 11"},
		{mapped("/x/libcuda.so.470.1"), "11 13 12"},
		{mapped("/x/libcuda.so.1"), "13 12 11"},
		{mapped("/x/libcuda.so.550.54.14", "/x/libcudart.so.13"), "13 12 11"},
	} {
		if got := strings.Join(majorOrder(c.maps), " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.maps, got, c.want)
		}
	}
}

func TestCandidates(t *testing.T) {
	const site = "/env/lib/python3.12/site-packages/nvidia"
	for _, c := range []struct {
		what  string
		maps  dl.MapList
		env   map[string]string
		files []string
		want  []candidate // the first ones
	}{
		{"wheels of CUDA 13", mapped(site + "/cu13/lib/libcudart.so.13"), nil, []string{site + "/cu13/lib/libcupti.so.13"},
			[]candidate{{site + "/cu13/lib/libcupti.so.13", "beside the CUDA runtime"}, {"libcupti.so.13", "loader search"}}},
		{"wheels of CUDA 12", mapped(site + "/cuda_runtime/lib/libcudart.so.12"), nil, []string{site + "/cuda_cupti/lib/libcupti.so.12"},
			[]candidate{{site + "/cuda_cupti/lib/libcupti.so.12", "beside the CUDA runtime"}, {"libcupti.so.12", "loader search"}}},
		{"toolkit", mapped("/usr/local/cuda-12.8/targets/x86_64-linux/lib/libcudart.so.12.8.57"), nil, []string{"/usr/local/cuda-12.8/extras/CUPTI/lib64/libcupti.so.12"},
			[]candidate{{"/usr/local/cuda-12.8/extras/CUPTI/lib64/libcupti.so.12", "beside the CUDA runtime"}, {"libcupti.so.12", "loader search"}}},
		{"CUDA_HOME", nil, map[string]string{"CUDA_HOME": "/opt/cuda"}, []string{"/opt/cuda/extras/CUPTI/lib64/libcupti.so.13"},
			[]candidate{{"/opt/cuda/extras/CUPTI/lib64/libcupti.so.13", "CUDA_HOME"}, {"libcupti.so.13", "loader search"}}},
		{"nothing", nil, nil, nil,
			[]candidate{{"libcupti.so.13", "loader search"}, {"libcupti.so.12", "loader search"}, {"libcupti.so.11", "loader search"}, {"libcupti.so", "loader search"}}},
	} {
		glob := func(pattern string) (found []string) {
			for _, f := range c.files {
				if strings.HasPrefix(f, strings.TrimSuffix(pattern, "*")) {
					found = append(found, f)
				}
			}
			return found
		}
		got := candidates(c.maps, func(v string) string { return c.env[v] }, glob)
		if len(got) < len(c.want) || !reflect.DeepEqual(got[:len(c.want)], c.want) {
			t.Errorf("%s: got %v, want first %v", c.what, got, c.want)
		}
	}
}

func TestOverrideThatCannotBeOpened(t *testing.T) {
	_, err := Open(func(v string) string {
		if v == "FLAGOS_CUPTI_LIBRARY" {
			return "/no/such/libcupti.so"
		}
		return ""
	})
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "FLAGOS_CUPTI_LIBRARY=/no/such/libcupti.so") {
		t.Errorf("%v", err)
	}
}

func TestNotCUPTI(t *testing.T) {
	_, err := Open(func(v string) string {
		if v == "FLAGOS_TRACER_LIBRARY" {
			return "libc.so.6"
		}
		return ""
	})
	if !errors.Is(err, ErrMissingSymbol) || !errors.Is(err, dl.ErrSymbol) {
		t.Errorf("%v", err)
	}
}

func TestResultError(t *testing.T) {
	for code, want := range map[uint32]error{15: ErrTooNew, 14: ErrOtherClient, 39: ErrOtherClient, 35: ErrNotPermitted} {
		if err := error(&ResultError{Func: "f", Code: code}); !errors.Is(err, want) {
			t.Errorf("%d: %v is not %v", code, err, want)
		}
	}
	if err := (&ResultError{Func: "f", Code: 7, Text: "T"}); err.Error() != "f returned 7 (T)" || err.Unwrap() != nil {
		t.Errorf("%v %v", err, err.Unwrap())
	}
}
