package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// useAnother is what is left to try with a library that does not deliver.
const useAnother = "use another libcupti, of the CUDA that the driver is for: name it in FLAGOS_CUPTI_LIBRARY"

// checkAlone judges the run without the recorder: what fails there is not the
// recorder's.
func checkAlone(e *exam) []Finding {
	const id = "probe.alone"
	u := e.alone
	switch {
	case u == nil && e.o.NoProbe:
		return one(id, Skip, "the device was left alone, as asked (--no-probe)", "")
	case u == nil:
		return one(id, Skip, "nothing was tried on the device: there is no "+probeName, "")
	case u.Err != nil:
		return one(id, Warn, fmt.Sprintf("%s cannot be run: %v", e.probe, u.Err), "chmod +x "+e.probe+", or build it on this system with `make build`")
	case u.NoDriver != "":
		return one(id, Skip, "there is no driver to try: "+u.NoDriver, "")
	case u.hung():
		return one(id, Fail, fmt.Sprintf("a small program, not recorded, was not done after %d s: it was at %q", probeSeconds, u.Step),
			"mend the driver first: nvidia-smi, and dmesg on the host, may say what is wrong with the device")
	case u.Call != nil:
		return one(id, Fail, "a small program, not recorded, fails: "+u.Call.String(), e.callFix(u))
	case !u.works():
		return one(id, Fail, fmt.Sprintf("a small program, not recorded, ended with status %d %s at %q", u.Out.Status, u.Out.Signal, u.Step),
			"mend the driver first: nvidia-smi, and dmesg on the host, may say what is wrong with the device")
	}
	return one(id, OK, fmt.Sprintf("%s, the first of %s: context, fill, copies and waiting work without the recorder", u.Device, counted(u.Devices, "device")), "")
}

// callFix says what to do about a call of the driver that failed. Codes are those
// of CUresult in cuda.h.
func (e *exam) callFix(u *use) string {
	switch u.Call.Code {
	case 2:
		return "free memory of the device: stop other processes on it, or choose another with CUDA_VISIBLE_DEVICES"
	case 34:
		return "take the folder of " + u.Libcuda + " out of LD_LIBRARY_PATH: that libcuda.so.1 is the toolkit's stub for linking, not the driver"
	case 46:
		return "choose another device with CUDA_VISIBLE_DEVICES, or wait: this one is in use by a process that has it for itself (nvidia-smi -q -d COMPUTE shows the mode)"
	case 100, 101:
		if v, set := e.s.lookup("CUDA_VISIBLE_DEVICES"); set {
			return fmt.Sprintf("unset CUDA_VISIBLE_DEVICES, or set it to a device that is there; it is %q", v)
		}
		return e.deviceFix()
	case 802:
		return "start NVIDIA's fabric manager, if this machine has NVSwitch: systemctl start nvidia-fabricmanager on the host"
	case 803:
		return "use the libcuda.so.1 that came with the kernel module: after an update of the driver, reboot; in a container, take a libcuda.so.1 of the image's own out of the loader's way"
	case 804:
		return "take the forward compatibility package (" + u.Libcuda + ") out of LD_LIBRARY_PATH, or update the driver: this device does not support the package"
	case 805:
		return "start the MPS daemon (nvidia-cuda-mps-control -d), or unset CUDA_MPS_PIPE_DIRECTORY"
	case 999:
		return "see that /dev/nvidia-uvm is there (nvidia-modprobe -u -c 0 as root makes it) and what dmesg says on the host"
	}
	return "mend the driver first: it fails without flagos-trace, too; nvidia-smi, and dmesg on the host, may say more"
}

// checkRecordings judges the trial recordings.
func checkRecordings(e *exam) []Finding {
	if len(e.recordings) == 0 {
		why := "no recording was tried"
		if e.alone != nil && e.alone.works() {
			why += ": see the failures above"
		}
		return one("probe.recording", Skip, why, "")
	}
	var list []Finding
	good := 0
	for i := range e.recordings {
		found := e.judge(&e.recordings[i])
		list = append(list, found...)
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Status == Fail }) {
			good++
		}
	}
	if good == 0 {
		return list
	}
	// A program with libraries of its own is recorded: that one without finds no
	// libcupti is no reason to fail.
	for i := range list {
		if f := &list[i]; f.Status == Fail && strings.Contains(f.Seen, diagnoseNotFound) {
			f.Status = Warn
		}
	}
	return list
}

// judge tells what became of one recording.
func (e *exam) judge(r *recording) []Finding {
	first := func(status Status, seen, fix string) []Finding {
		return one(r.id+".recording", status, "recording "+r.program+": "+seen, fix)
	}
	const debug = "record the program with FLAGOS_TRACE=debug and --spool-dir FOLDER: the agent's log in that folder says how far it came"
	c := r.completeness()
	switch {
	case errors.Is(r.err, errTemp):
		return first(Warn, r.err.Error(), "set TMPDIR to a folder that can be written to")
	case r.err != nil:
		return first(Fail, r.err.Error(), debug)
	case r.use.NotLoaded != "":
		return first(Warn, "a library cannot be loaded: "+r.use.NotLoaded, "install torch again, or name its libcupti in FLAGOS_CUPTI_LIBRARY")
	case c != nil && c.Tracer == "none":
		return first(Fail, "the driver did not load the agent", "use NVIDIA's own driver: "+e.libcuda()+" does not load the library that CUDA_INJECTION64_PATH names")
	case c != nil && c.Ended == timeline.EndUnavailable:
		// What else went wrong is of no interest beside what made it fail.
		found := slices.DeleteFunc(e.explain(r, c), func(f Finding) bool { return f.Status != Fail })
		if len(found) == 0 {
			return first(Fail, strings.Join(append([]string{"the vendor's library could not be used"}, c.Diagnoses...), "; "), debug)
		}
		return found
	case r.use.hung():
		return first(Fail, fmt.Sprintf("the program, which ends without the recorder, was not done after %d s: it was at %q", probeSeconds, r.use.Step), debug)
	case !r.use.works():
		return first(Fail, fmt.Sprintf("the program, which works without the recorder, ended with status %d %s at %q", r.use.Out.Status, r.summary.Signal, r.use.Step), debug)
	case c == nil:
		return first(Fail, "there is no trace", debug)
	}
	list := []Finding{{ID: r.id + ".library", Status: OK, Seen: fmt.Sprintf("recording %s: %s is used (%s), API version %d", r.program, c.Library, c.How, c.API)}}
	list = append(list, e.explain(r, c)...)
	list = append(list, layout(r, c))
	why := ""
	for _, f := range list {
		if f.Fix != "" && why == "" {
			why = f.Fix
		}
	}
	return append(list, records(r, c, why), clock(r, c), losses(r, c), times(e, r, c))
}

// records compares what arrived with what the probe did. known is the fix of the
// first thing that was found wrong, which is likely to be the reason.
func records(r *recording, c *timeline.Completeness, known string) Finding {
	f := Finding{ID: r.id + ".records", Status: OK}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(c.Received)) {
		parts = append(parts, fmt.Sprintf("%d %s", c.Received[kind], kind))
	}
	text := cmp.Or(strings.Join(parts, ", "), "none")
	sets, copies := c.Received["memset"], c.Received["memcpy"]
	fix := cmp.Or(known, useAnother)
	switch {
	case sets >= 1 && copies >= 2:
		f.Seen = "records arrived: " + text
	case sets+copies == 0:
		f.Status, f.Fix = Fail, fix
		f.Seen = "no record of a fill or copy arrived, and the program made one and two; records: " + text
	default:
		f.Status, f.Fix = Warn, fix
		f.Seen = fmt.Sprintf("%d of 1 fills and %d of 2 copies arrived; records: %s", sets, copies, text)
	}
	return f
}

func layout(r *recording, c *timeline.Completeness) Finding {
	f := Finding{ID: r.id + ".layout", Status: OK}
	switch c.Layout {
	case "", "table", "assumed":
		f.Status, f.Seen = Skip, fmt.Sprintf("the layout of records was not checked with the library: that of API version %d is assumed", c.API)
	case "verified":
		f.Seen = fmt.Sprintf("records are laid out as API version %d should: verified with the library", c.API)
	case "learned":
		f.Seen = fmt.Sprintf("API version %d is newer than this flagos-trace; the sizes of its records were learned from the library", c.API)
	case "mismatch":
		f.Status = Fail
		f.Seen = "records are not laid out as they should, and are left out"
		for _, text := range c.Diagnoses {
			if strings.Contains(text, diagnoseLayout) {
				f.Seen += ": " + text
			}
		}
		f.Fix = "use an unchanged libcupti of a version that flagos-trace knows: name it in FLAGOS_CUPTI_LIBRARY"
	default:
		f.Seen = "layout of records: " + c.Layout
	}
	return f
}

func clock(r *recording, c *timeline.Completeness) Finding {
	f := Finding{ID: r.id + ".clock", Status: OK, Seen: "times are CLOCK_REALTIME"}
	switch c.Clock.Source {
	case timeline.ClockRealtime:
	case "":
		f.Status, f.Seen = Skip, "no times to check"
	case timeline.ClockTicks:
		f.Seen = "times are of another clock than CLOCK_REALTIME, and mapped to it"
	case timeline.ClockMixed:
		f.Status, f.Seen, f.Fix = Warn, "times are of two clocks: another profiler in the process replaced that of the library", otherFix
	default:
		f.Status, f.Seen, f.Fix = Warn, "the clock of the times is not known", useAnother
	}
	return f
}

func losses(r *recording, c *timeline.Completeness) Finding {
	f := Finding{ID: r.id + ".losses", Status: OK, Seen: "nothing is known to be missing"}
	var lost []string
	for _, reason := range slices.Sorted(maps.Keys(c.Dropped)) {
		if n := c.Dropped[reason]; n > 0 && !timeline.NotALoss(reason) {
			lost = append(lost, fmt.Sprintf("%d records (%s)", n, reason))
		}
	}
	lost = append(lost, c.Missing...)
	if b := c.Buffers; b != nil {
		if b.RecordsDropped != nil && *b.RecordsDropped > 0 {
			lost = append(lost, fmt.Sprintf("%d records dropped by the library", *b.RecordsDropped))
		}
		if b.Discarded > 0 {
			lost = append(lost, fmt.Sprintf("%d buffers discarded", b.Discarded))
		}
		if b.BytesUnwritten > 0 || b.WriteErrors > 0 {
			lost = append(lost, fmt.Sprintf("%d bytes that could not be written", b.BytesUnwritten))
		}
	}
	if c.Flushed != nil && !*c.Flushed {
		lost = append(lost, "the last records: the library did not hand them over at the end of the process")
	}
	if len(lost) == 0 && c.Lost() {
		lost = append(lost, "parts of the recorder's own data")
	}
	if len(lost) == 0 && len(c.Received) == 0 {
		f.Status, f.Seen = Skip, "no records to lose"
	}
	if len(lost) > 0 {
		f.Status, f.Seen = Warn, "missing even of a small recording: "+strings.Join(lost, ", ")
		f.Fix = useAnother
		if b := c.Buffers; b != nil && (b.BytesUnwritten > 0 || b.WriteErrors > 0) {
			f.Fix = "make room in " + os.TempDir() + ", where the trial recording is made"
		}
	}
	return f
}

// times tells what the recorder cost the start of the program.
func times(e *exam, r *recording, c *timeline.Completeness) Finding {
	f := Finding{ID: r.id + ".time", Status: OK, Seen: "how long the driver took to start is not known"}
	if r.use.InitNS > 0 {
		f.Seen = fmt.Sprintf("cuInit took %v with the agent in it", short(r.use.InitNS))
		if e.alone.InitNS > 0 {
			// The run before it read the driver from the disk, for both.
			f.Seen += fmt.Sprintf(" (%v without, in the run before, which may have found the driver less ready)", short(e.alone.InitNS))
		}
	}
	if c.Buffers != nil && c.Buffers.AgentCPUNS > 0 {
		f.Seen += fmt.Sprintf("; the agent's threads used %v", short(c.Buffers.AgentCPUNS))
	}
	return f
}

func short(ns int64) time.Duration { return time.Duration(ns).Round(10 * time.Microsecond) }
