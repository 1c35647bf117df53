package occupancy

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Errors that the functions of this package wrap; test with errors.Is.
var (
	// ErrMissing: a device property that the calculation needs is unknown.
	ErrMissing = errors.New("occupancy: device property unknown")
	// ErrDevice: a device property has a value that cannot be.
	ErrDevice = errors.New("occupancy: device property out of range")
	// ErrUnsupported: no limits are known for the compute capability, or not
	// the one that the kernel's configuration asks for.
	ErrUnsupported = errors.New("occupancy: unsupported compute capability")
	// ErrKernel: the launch configuration cannot be.
	ErrKernel = errors.New("occupancy: invalid kernel configuration")
)

// Device holds the properties of one NVIDIA GPU that bound occupancy, as
// cudaGetDeviceProperties reports them. Zero means unknown (of a compute
// capability, a major of zero does; a minor of zero is a value). The values
// must fit 31 bits.
type Device struct {
	ComputeMajor, ComputeMinor int64
	NumSMs                     int64 // streaming multiprocessors
	MaxThreadsPerBlock         int64
	MaxThreadsPerSM            int64 // resident threads
	RegsPerBlock               int64 // 32-bit registers
	RegsPerSM                  int64 // 32-bit registers
	WarpSize                   int64 // threads
	SharedMemPerBlock          int64 // bytes; what a kernel may use without opting in
	SharedMemPerBlockOptin     int64 // bytes; what it may use after opting in; not needed below 7.0
	SharedMemPerSM             int64 // bytes
	// ReservedSharedMemPerBlock, in bytes, is what the driver adds to every
	// block's shared memory. Below 8.0 there is no such reserve: zero is then
	// the value and is not unknown. Deliberately not filled by itself; see
	// FillReserved.
	ReservedSharedMemPerBlock int64
}

// FillReserved sets ReservedSharedMemPerBlock from the compute capability where
// it is unknown: 1024 bytes from 8.0 on, none below. Kineto's deviceProperties do
// not carry the property, so a device read from a trace needs this. It reports
// whether the reserve is known now: false when the compute capability is unknown
// or has no row in this package's table. Source: NVIDIA Ampere GPU Architecture
// Tuning Guide, on shared-memory capacity (1 KB reserved for each thread block),
// and the tuning guides of the later architectures.
func (d *Device) FillReserved() bool {
	if d.ReservedSharedMemPerBlock != 0 {
		return true
	}
	a := lookup(d.ComputeMajor, d.ComputeMinor)
	if a == nil {
		return false
	}
	d.ReservedSharedMemPerBlock = a.reserved
	return true
}

// Check says whether Calculate can work with the device under opts: nil, or an
// error (ErrUnsupported, ErrMissing or ErrDevice) that names every property at
// fault. Calculate makes the same check; calling Check once spares a caller from
// meeting the same error at every kernel.
//
// In Kineto mode NumSMs is needed too: NVIDIA's calculator, as Kineto calls it,
// refuses a device without SMs.
func (d *Device) Check(opts Options) error {
	_, err := d.arch(opts)
	return err
}

// arch checks the device and finds its limits.
func (d *Device) arch(opts Options) (*arch, error) {
	a := lookup(d.ComputeMajor, d.ComputeMinor)
	if a == nil || !d.complete(a, opts) {
		return nil, d.fault(a, opts)
	}
	return a, nil
}

// positive31 is 1 <= v <= MaxInt32 in one comparison.
func positive31(v int64) bool { return uint64(v-1) < math.MaxInt32 }

func (d *Device) complete(a *arch, opts Options) bool {
	return positive31(d.MaxThreadsPerBlock) && positive31(d.MaxThreadsPerSM) &&
		positive31(d.RegsPerBlock) && positive31(d.RegsPerSM) &&
		positive31(d.WarpSize) && positive31(d.SharedMemPerBlock) && positive31(d.SharedMemPerSM) &&
		(positive31(d.SharedMemPerBlockOptin) || !needsOptin(a, opts)) &&
		(positive31(d.NumSMs) || opts.Mode != Kineto) &&
		(positive31(d.ReservedSharedMemPerBlock) || d.ReservedSharedMemPerBlock == 0 && a.reserved == 0) &&
		(a.carveouts == nil || a.carveout(d.SharedMemPerSM) >= 0)
}

func needsOptin(a *arch, opts Options) bool { return a.optin && opts.Mode != Kineto }

// fault describes what complete rejected.
func (d *Device) fault(a *arch, opts Options) error {
	if a == nil {
		if d.ComputeMajor == 0 {
			return fmt.Errorf("%w: compute capability", ErrMissing)
		}
		return fmt.Errorf("%w: %d.%d (limits are known from %d.0 to %d.x)", ErrUnsupported,
			d.ComputeMajor, d.ComputeMinor, archs[0].major, archs[len(archs)-1].major)
	}
	var missing, wrong []string
	note := func(name string, v int64, needed bool) {
		switch {
		case positive31(v) || v == 0 && !needed:
		case v == 0:
			missing = append(missing, name)
		case needed:
			wrong = append(wrong, fmt.Sprintf("%s is %d", name, v))
		}
	}
	note("MaxThreadsPerBlock", d.MaxThreadsPerBlock, true)
	note("MaxThreadsPerSM", d.MaxThreadsPerSM, true)
	note("RegsPerBlock", d.RegsPerBlock, true)
	note("RegsPerSM", d.RegsPerSM, true)
	note("WarpSize", d.WarpSize, true)
	note("SharedMemPerBlock", d.SharedMemPerBlock, true)
	note("SharedMemPerBlockOptin", d.SharedMemPerBlockOptin, needsOptin(a, opts))
	note("SharedMemPerSM", d.SharedMemPerSM, true)
	note("NumSMs", d.NumSMs, opts.Mode == Kineto)
	if r := d.ReservedSharedMemPerBlock; r != 0 || a.reserved != 0 {
		note("ReservedSharedMemPerBlock", r, true)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrMissing, strings.Join(missing, ", "))
	}
	if a.carveouts != nil && d.SharedMemPerSM > 0 && a.carveout(d.SharedMemPerSM) < 0 {
		wrong = append(wrong, fmt.Sprintf("SharedMemPerSM is %d, above the largest carve-out of %d.%d, %d",
			d.SharedMemPerSM, d.ComputeMajor, d.ComputeMinor, a.carveouts[len(a.carveouts)-1]))
	}
	return fmt.Errorf("%w: %s", ErrDevice, strings.Join(wrong, "; "))
}
