package kernels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/occupancy"
)

// Device is a device on which kernels of a trace ran.
type Device struct {
	ID   int64
	Name string
	// Given is set for the device of Options, which has no ID.
	Given bool
	// Properties are those that the calculation takes; zero is unknown.
	Properties occupancy.Device
	// Fault says why nothing can be calculated for the device, "" if it can.
	Fault string

	// foreign: Kineto's arithmetic for CUDA does not apply to it either.
	foreign bool
}

// deviceTable holds the devices of a trace's deviceProperties.
type deviceTable struct {
	list []*Device
	bad  int // entries without an id
}

// maxDevices bounds what is kept of a nonsensical list.
const maxDevices = 1 << 16

func (t *deviceTable) read(v chrome.Value) {
	for item := range chrome.Elements(v) {
		d := readDevice(item)
		if d == nil || len(t.list) >= maxDevices {
			t.bad++
			continue
		}
		i := slices.IndexFunc(t.list, func(o *Device) bool { return o.ID == d.ID })
		if i < 0 {
			t.list = append(t.list, d)
		} else if *t.list[i] != *d {
			// A trace of several hosts may be put together like this.
			t.list[i].foreign = true
			t.list[i].Fault = fmt.Sprintf("the trace has different properties for device %d: %q and %q", d.ID, t.list[i].Name, d.Name)
		}
	}
}

// readDevice reads an entry of deviceProperties, nil without an id.
func readDevice(item chrome.Value) *Device {
	d := &Device{ID: -1}
	p := &d.Properties
	vendor := ""
	for m := chrome.WalkMembers(item); m.Next(); {
		n, ok := m.Value.Int()
		if !ok || n < 0 || m.Value.IsString() {
			n = 0
		}
		switch string(m.Key) {
		case "name":
			d.Name = string(m.Value.Text(nil))
		case "vendor":
			vendor = string(m.Value.Text(nil))
		case "id":
			if ok && n <= math.MaxUint32 && !m.Value.IsString() {
				d.ID = n
			}
		case "computeMajor":
			p.ComputeMajor = n
		case "computeMinor":
			p.ComputeMinor = n
		case "numSms":
			p.NumSMs = n
		case "maxThreadsPerBlock":
			p.MaxThreadsPerBlock = n
		case "maxThreadsPerMultiprocessor":
			p.MaxThreadsPerSM = n
		case "regsPerBlock":
			p.RegsPerBlock = n
		case "regsPerMultiprocessor":
			p.RegsPerSM = n
		case "warpSize":
			p.WarpSize = n
		case "sharedMemPerBlock":
			p.SharedMemPerBlock = n
		case "sharedMemPerBlockOptin":
			p.SharedMemPerBlockOptin = n
		case "sharedMemPerMultiprocessor":
			p.SharedMemPerSM = n
		case "reservedSharedMemPerBlock":
			p.ReservedSharedMemPerBlock = n
		case "maxSharedMemoryPerMultiProcessor":
			vendor = "AMD" // the key is Kineto's for ROCm alone
		}
	}
	if d.ID < 0 {
		return nil
	}
	d.settle(vendor)
	return d
}

// settle fills in what follows from the rest and finds out whether the device can
// be calculated with.
func (d *Device) settle(vendor string) {
	p := &d.Properties
	if vendor == "" {
		vendor = vendorOf(d.Name)
	}
	d.foreign = true
	switch {
	case strings.HasPrefix(vendor, "AMD"), strings.HasPrefix(vendor, "Advanced Micro Devices"):
		d.Fault = "an AMD device: occupancy there follows from vector and scalar registers and LDS, which the trace does not carry"
		return
	case vendor != "" && !strings.HasPrefix(vendor, "NVIDIA"):
		d.Fault = fmt.Sprintf("a device of %s, whose limits are not known", vendor)
		return
	case p.WarpSize != 0 && p.WarpSize != 32:
		d.Fault = fmt.Sprintf("its warp size is %d: no NVIDIA device, and the limits of others are not known", p.WarpSize)
		return
	}
	d.foreign = false
	p.FillReserved()
	if err := p.Check(occupancy.Options{}); err != nil {
		d.Fault = bare(err)
	} else if p.NumSMs < 1 || p.NumSMs > math.MaxInt32 {
		d.Fault = "device property unknown: NumSMs"
	}
}

// vendors are words that names of devices which are not NVIDIA's begin with or
// hold. A name without any is judged by the device's properties.
var vendors = []struct{ word, vendor string }{
	{"AMD", "AMD"}, {"Radeon", "AMD"}, {"Instinct", "AMD"}, {"gfx", "AMD"},
	{"Intel", "Intel"}, {"MTT ", "Moore Threads"}, {"MUSA", "Moore Threads"}, {"Ascend", "Huawei"}, {"MetaX", "MetaX"}, {"MXC", "MetaX"},
	{"Iluvatar", "Iluvatar"}, {"BI-V", "Iluvatar"}, {"MLU", "Cambricon"}, {"Hygon", "Hygon"}, {"DCU", "Hygon"}, {"Kunlun", "Kunlunxin"},
}

func vendorOf(name string) string {
	for _, v := range vendors {
		if strings.Contains(name, v.word) {
			return v.vendor
		}
	}
	return ""
}

// bare is an error of package occupancy without the package's name.
func bare(err error) string { return strings.TrimPrefix(err.Error(), "occupancy: ") }

// givenDevice makes a Device of the one that stands in, nil without one.
func givenDevice(o *Options) *Device {
	if o.Device == nil {
		return nil
	}
	d := &Device{ID: -1, Name: o.DeviceName, Given: true, Properties: *o.Device}
	d.settle("")
	return d
}

// find looks up the device of a launch. reason says why nothing can be calculated,
// foreign that it is not a device of NVIDIA, as far as anybody can tell.
func (t *deviceTable) find(l *launch, given *Device) (d *Device, reason string, foreign bool) {
	var missing string
	switch {
	case l.known&FactDevice == 0:
		missing = "the kernel's device is unknown"
	case len(t.list) == 0:
		missing = "the trace has no deviceProperties; name the device"
	default:
		for _, d := range t.list {
			if d.ID == l.device {
				return d, d.Fault, d.foreign
			}
		}
		missing = fmt.Sprintf("device %d is not among the trace's deviceProperties; name the device", l.device)
		if !slices.ContainsFunc(t.list, func(d *Device) bool { return !d.foreign }) {
			// Those that are there tell what the rest is.
			return nil, fmt.Sprintf("device %d is not among the trace's deviceProperties, and those are: %s", l.device, t.list[0].Fault), true
		}
	}
	if given == nil {
		return nil, missing, false
	}
	return given, given.Fault, given.foreign
}
