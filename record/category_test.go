package record

import (
	"errors"
	"strings"
	"testing"
)

func TestCheckRuntimeCategory(t *testing.T) {
	for _, c := range []struct{ name, err string }{
		{"", ""}, {"cuda_runtime", ""}, {"musa_runtime", ""}, {"privateuse1_runtime", ""},
		{"kernel", "take it for events of kind kernel"}, {"gpu_memcpy", "kind memcpy"}, {"gpu_memset", "kind memset"}, {"cpu_op", "kind host"},
		{"user_annotation", "kind host"}, {"overhead", "kind overhead"}, {"cuda_sync", "kind sync"}, {"cuda_driver", "kind driver"}, {"gpu_user_annotation", "kind gpu_user_annotation"},
		{"foo", "do not know it; choose one of Runtime, cuda_runtime"}, {"ac2g", "do not know it"},
	} {
		err := CheckRuntimeCategory(c.name)
		if c.err == "" {
			if err != nil {
				t.Errorf("%q: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrCategory) || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %v, want %q", c.name, err, c.err)
		}
	}
}
