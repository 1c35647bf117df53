package cupti

import (
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// Every API version in the table must give every decoded kind a layout whose
// fields lie inside the record.
func TestLayoutsAreComplete(t *testing.T) {
	for _, api := range []uint32{17, 18, 19, 20, 21, 22, 23, 24, 26, 27, 28, 130000, 130001} {
		d, err := NewDecoder(tracer.Config{APIVersion: api, Strings: new(event.Strings)})
		if err != nil {
			t.Fatalf("API %d: %v", api, err)
		}
		for _, kind := range []uint32{KindMemcpy, KindMemset, KindKernel, KindDriver, KindRuntime, KindConcurrentKernel,
			KindOverhead, KindContext, KindMarker, KindMemcpy2, KindCudaEvent, KindSynchronization, KindExternalCorrelation} {
			if d.kinds[kind].decode == nil {
				t.Errorf("API %d: kind %d is not decoded", api, kind)
			}
			r, _ := revisionFor(api, kind)
			for name, s := range r.fields() {
				if uint32(s.offset)+uint32(s.size) > r.bytes {
					t.Errorf("API %d: kind %d: field %s ends behind the record", api, kind, name)
				}
			}
			if r.bytes%8 != 0 {
				t.Errorf("API %d: kind %d: %d bytes is no multiple of 8", api, kind, r.bytes)
			}
		}
	}
}

// Newer revisions only append: a field two revisions share stands at one place.
func TestRevisionsArePrefixes(t *testing.T) {
	for kind, list := range revisions {
		for i := 1; i < len(list); i++ {
			for name, s := range list[i-1].fields() {
				if strings.HasPrefix(name, "pad") {
					continue
				}
				if n, ok := list[i].fields()[name]; ok && n.offset != s.offset {
					t.Errorf("kind %d: %s moved from %d to %d in API %d", kind, name, s.offset, n.offset, list[i].since)
				}
			}
			if list[i].bytes < list[i-1].bytes || list[i].since <= list[i-1].since {
				t.Errorf("kind %d: revision of API %d is out of order", kind, list[i].since)
			}
		}
	}
}

func TestTableStride(t *testing.T) {
	for _, c := range []struct{ api, kind, want uint32 }{
		{17, KindConcurrentKernel, 176}, {18, KindConcurrentKernel, 200}, {26, KindConcurrentKernel, 208},
		{130001, KindConcurrentKernel, 216}, {130400, KindConcurrentKernel, 216},
		{24, KindMemcpy, 88}, {26, KindMemcpy, 96}, {24, KindSynchronization, 40}, {26, KindSynchronization, 56},
		{26, 54, 64}, {24, 54, 0}, {130001, 99, 0}, {16, KindMemcpy, 0},
	} {
		if got, ok := TableStride(c.api, c.kind); got != c.want || ok != (c.want != 0) {
			t.Errorf("TableStride(%d, %d) = %d, %v; want %d", c.api, c.kind, got, ok, c.want)
		}
	}
	if off, ok := KernelNameOffset(130001, KindConcurrentKernel); off != 104 || !ok {
		t.Errorf("KernelNameOffset = %d, %v", off, ok)
	}
	if _, ok := KernelNameOffset(130001, KindMemcpy); ok {
		t.Error("a copy has no kernel name")
	}
}

func TestTooOldVersion(t *testing.T) {
	if _, err := NewDecoder(tracer.Config{APIVersion: 13, Strings: new(event.Strings)}); err == nil {
		t.Error("API version 13 was accepted")
	}
}

func TestCallbackNames(t *testing.T) {
	for _, c := range []struct {
		domain, id uint32
		want       string
	}{
		{DomainRuntime, 211, "cudaLaunchKernel"}, {DomainRuntime, 214, "cudaLaunchKernel"},
		{DomainRuntime, 430, "cudaLaunchKernelExC"}, {DomainRuntime, 41, "cudaMemcpyAsync"},
		{DomainRuntime, 165, "cudaDeviceSynchronize"}, {DomainDriver, 307, "cuLaunchKernel"},
		{DomainDriver, 442, "cuLaunchKernel"}, {DomainDriver, 652, "cuLaunchKernelEx"},
		{DomainDriver, 243, "cuMemAlloc_v2"}, {DomainDriver, 421, "cuMemcpyHtoDAsync_v2"},
		{DomainRuntime, 0, ""}, {DomainRuntime, 100000, ""}, {3, 1, ""},
	} {
		if got, ok := CallbackName(c.domain, c.id); got != c.want || ok != (c.want != "") {
			t.Errorf("CallbackName(%d, %d) = %q, %v; want %q", c.domain, c.id, got, ok, c.want)
		}
	}
}

func TestDisplayName(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"cudaLaunchKernel_v7000", "cudaLaunchKernel"}, {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"},
		{"cuMemAlloc_v2", "cuMemAlloc_v2"}, {"cuMemcpyHtoD_v2_ptds", "cuMemcpyHtoD_v2"},
		{"cudaGetDeviceProperties_v2_v12000", "cudaGetDeviceProperties_v2"}, {"_v7000", "_v7000"}, {"", ""}, {"x_v70a0", "x_v70a0"},
	} {
		if got := DisplayName(c.raw); got != c.want {
			t.Errorf("DisplayName(%q) = %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestShown(t *testing.T) {
	for _, c := range []struct {
		level  tracer.APILevel
		domain uint32
		name   string
		want   bool
	}{
		{tracer.APIKineto, DomainRuntime, "cudaGetDevice", false}, {tracer.APIKineto, DomainRuntime, "cudaMalloc", true},
		{tracer.APIKineto, DomainDriver, "cuLaunchKernelEx", true}, {tracer.APIKineto, DomainDriver, "cuGetProcAddress_v2", false},
		{tracer.APIKineto, DomainDriver, "cuMemcpyHtoDAsync_v2", true}, {tracer.APIKineto, DomainDriver, "cuMemMap", true},
		{tracer.APIMinimal, DomainRuntime, "cudaMalloc", false}, {tracer.APIMinimal, DomainRuntime, "cudaLaunchKernel", true},
		{tracer.APIMinimal, DomainRuntime, "cudaDeviceSynchronize", true},
		{tracer.APIAll, DomainDriver, "cuGetProcAddress_v2", true}, {tracer.APIAll, DomainRuntime, "cudaGetDevice", true},
	} {
		if got := Shown(c.level, c.domain, 0, c.name); got != c.want {
			t.Errorf("Shown(%s, %d, %s) = %v", c.level, c.domain, c.name, got)
		}
	}
}
