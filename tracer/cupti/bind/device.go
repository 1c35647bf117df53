package bind

import (
	"errors"
	"fmt"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

// ErrNoDriver: the driver library is not in the process, or not initialised.
var ErrNoDriver = errors.New("the CUDA driver is not initialised in this process")

// deviceAttributes are CUdevice_attribute numbers by the name they are reported
// under: Kineto's where it has the field. Source: cuda.h. Sizes are in bytes,
// rates in kHz, widths in bits.
var deviceAttributes = []struct {
	name string
	id   uintptr
}{
	{"maxThreadsPerBlock", 1},
	{"sharedMemPerBlock", 8},
	{"warpSize", 10},
	{"regsPerBlock", 12},
	{"clockRate", 13},
	{"numSms", 16},
	{"memoryClockRate", 36},
	{"memoryBusWidth", 37},
	{"l2CacheSize", 38},
	{"maxThreadsPerMultiprocessor", 39},
	{"computeMajor", 75},
	{"computeMinor", 76},
	{"sharedMemPerMultiprocessor", 81},
	{"regsPerMultiprocessor", 82},
	{"sharedMemPerBlockOptin", 97},
	{"maxBlocksPerMultiprocessor", 106},
	{"reservedSharedMemPerBlock", 111},
}

// Devices reads the attributes of the devices and the versions of driver and
// runtime. The error is ErrNoDriver when it is too early to ask. Devices that
// the library does not support make it return ErrUnsupportedDevice beside the
// complete list.
func (b *Binding) Devices() ([]tracer.Device, error) {
	cuda, ok := dl.Loaded("libcuda.so.1", "libcuda.so")
	switch {
	case !ok && b.d == nil:
		return nil, ErrNoDriver
	case !ok || b.d != nil && !b.d.CUDADriver:
		return []tracer.Device{}, nil // nobody knows how to ask
	}
	count, get := cuda.Func("cuDeviceGetCount"), cuda.Func("cuDeviceGet")
	name, attribute := cuda.Func("cuDeviceGetName"), cuda.Func("cuDeviceGetAttribute")
	if count == 0 || get == 0 || attribute == 0 {
		return nil, fmt.Errorf("%w: %s", dl.ErrSymbol, "cuDeviceGetCount, cuDeviceGet or cuDeviceGetAttribute")
	}
	out := dl.NewOut()
	if r, _, _ := purego.SyscallN(count, dl.OutPtr(out, 0)); uint32(r) != 0 {
		return nil, fmt.Errorf("%w: cuDeviceGetCount returned %d", ErrNoDriver, uint32(r))
	}
	n := int32(out[0])
	b.versions(cuda)
	list := []tracer.Device{}
	var bad error
	for i := range n {
		out[0] = 0
		if r, _, _ := purego.SyscallN(get, dl.OutPtr(out, 0), uintptr(i)); uint32(r) != 0 {
			continue
		}
		dev := uintptr(uint32(out[0]))
		d := tracer.Device{ID: uint32(i), Attributes: map[string]int64{}}
		if name != 0 {
			text := dl.NewBytes(256)
			if r, _, _ := purego.SyscallN(name, dl.BytesPtr(text), uintptr(len(text)), dev); uint32(r) == 0 {
				d.Name = cstring(text)
			}
		}
		for _, a := range deviceAttributes {
			out[0] = 0
			if r, _, _ := purego.SyscallN(attribute, dl.OutPtr(out, 0), a.id, dev); uint32(r) == 0 {
				d.Attributes[a.name] = int64(int32(out[0]))
			}
		}
		if mem := cuda.Func("cuDeviceTotalMem_v2"); mem != 0 {
			out[0] = 0
			if r, _, _ := purego.SyscallN(mem, dl.OutPtr(out, 0), dev); uint32(r) == 0 {
				d.Attributes["totalGlobalMem"] = int64(out[0])
			}
		}
		if err := b.supported(dev, d); err != nil && bad == nil {
			bad = err
		}
		list = append(list, d)
	}
	return list, bad
}

// supported asks the library whether it can trace a device. A library that
// cannot tell is taken to support it.
func (b *Binding) supported(dev uintptr, d tracer.Device) error {
	yes := dl.NewOut()
	no := func() bool { return int32(yes[0]) == 0 }
	refused := ""
	if b.fn.deviceSupported != 0 && b.call("", b.fn.deviceSupported, dev, dl.OutPtr(yes, 0)) == nil && no() {
		refused = "cuptiDeviceSupported"
	}
	major, ok1 := d.Attributes["computeMajor"]
	minor, ok2 := d.Attributes["computeMinor"]
	yes[0] = 0
	if ok1 && ok2 && b.fn.capabilitySupported != 0 && b.call("", b.fn.capabilitySupported, uintptr(major), uintptr(minor), dl.OutPtr(yes, 0)) == nil && no() {
		refused = "cuptiComputeCapabilitySupported"
	}
	if refused == "" {
		return nil
	}
	return fmt.Errorf("%w: device %d, %s, compute capability %d.%d, %s says no (%s, API version %d)",
		ErrUnsupportedDevice, d.ID, d.Name, major, minor, refused, b.info.Path, b.info.APIVersion)
}

// versions reads the driver's version and, where the runtime is a library of its
// own in the process, the runtime's.
func (b *Binding) versions(cuda *dl.Library) {
	out := dl.NewOut()
	if fn := cuda.Func("cuDriverGetVersion"); fn != 0 {
		if r, _, _ := purego.SyscallN(fn, dl.OutPtr(out, 0)); uint32(r) == 0 {
			b.info.Driver = uint32(out[0])
		}
	}
	names := []string{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}
	if maps, err := dl.Maps(); err == nil {
		names = append(names, maps.Files("libcudart")...)
	}
	rt, ok := dl.Loaded(names...)
	if !ok {
		return
	}
	out[0] = 0
	if fn := rt.Func("cudaRuntimeGetVersion"); fn != 0 {
		if r, _, _ := purego.SyscallN(fn, dl.OutPtr(out, 0)); uint32(r) == 0 {
			b.info.Runtime = uint32(out[0])
		}
	}
}

func cstring(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
