package record

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// devices turns what the process read of its devices into Kineto's form.
func devices(from []tracer.Device) []timeline.Device {
	list := make([]timeline.Device, 0, len(from))
	for _, d := range from {
		t := timeline.Device{ID: d.ID, Name: d.Name}
		for k, v := range d.Attributes {
			t.Properties = append(t.Properties, timeline.DeviceProperty{Key: k, Value: v})
		}
		chrome.SortProperties(t.Properties)
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b timeline.Device) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// versions are the metadata by which readers of Kineto's traces know the
// library, the runtime and the driver. What is not known is left out, and other
// vendors' libraries have no such keys.
func versions(b tracer.BindingInfo) (list []timeline.Property) {
	if v, ok := tracer.VendorOf(b.Tracer); ok && !v.Injects {
		return nil
	}
	for _, v := range []struct {
		key string
		n   uint32
	}{
		{"cupti_version", b.APIVersion},
		{"cuda_runtime_version", b.Runtime},
		{"cuda_driver_version", b.Driver},
	} {
		if v.n != 0 {
			list = append(list, timeline.Property{Key: v.key, Raw: strconv.AppendUint(nil, uint64(v.n), 10)})
		}
	}
	return list
}
