package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

var (
	moduleVersion  = regexp.MustCompile(`Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s`)
	libraryVersion = regexp.MustCompile(`^libcuda\.so\.(\d+\.\d+(?:\.\d+)?)$`)
)

// hasNVIDIA reports whether there is anything of NVIDIA's driver.
func (e *exam) hasNVIDIA() bool {
	return e.alone != nil && e.alone.Libcuda != "" || e.libcuda() != "" || e.s.exists("/proc/driver/nvidia/version") ||
		len(e.s.glob("/dev/nvidia[0-9]*")) > 0 || e.s.exists("/dev/dxg")
}

// libcuda returns the driver library without symbolic links, "" if there is none.
func (e *exam) libcuda() string {
	if e.alone != nil && e.alone.Libcuda != "" {
		return e.alone.Libcuda
	}
	for _, dir := range append(e.s.loaderFolders(), "/usr/lib/wsl/lib") {
		if name := path.Join(dir, "libcuda.so.1"); e.s.exists(name) {
			return e.s.Resolve(name)
		}
	}
	return ""
}

func checkDriver(e *exam) []Finding {
	const id = "driver"
	module := ""
	if m := moduleVersion.FindStringSubmatch(e.s.read("/proc/driver/nvidia/version") + "\n"); m != nil {
		module = m[1]
	}
	library, lib := "", e.libcuda()
	if m := libraryVersion.FindStringSubmatch(path.Base(lib)); m != nil {
		library = m[1]
	}
	kernel := module != "" || len(e.s.glob("/dev/nvidia[0-9]*")) > 0 || e.s.exists("/dev/dxg")
	var seen []string
	if module != "" {
		seen = append(seen, "kernel module "+module)
	}
	if lib != "" {
		seen = append(seen, lib)
	}
	if e.alone != nil && e.alone.Driver > 0 {
		seen = append(seen, fmt.Sprintf("for CUDA %d.%d", e.alone.Driver/1000, e.alone.Driver%1000/10))
	}
	text := strings.Join(seen, ", ")
	switch {
	case lib == "" && !kernel && e.others():
		return one(id, Skip, "no NVIDIA driver", "")
	case lib == "" && !kernel:
		if who, fix := e.otherDevice(); who != "" {
			return one(id, Fail, "there is no device and no profiling library of "+who+", which FLAGOS_ACCELERATOR names, and no driver of NVIDIA's", fix)
		}
		return one(id, Fail, "there is no driver of a GPU: no libcuda.so.1, no device nodes", e.deviceFix())
	case lib == "":
		return one(id, Fail, text+": the device is there, libcuda.so.1 was not found", e.capabilityFix())
	case e.alone != nil && e.alone.NoDriver != "":
		return one(id, Fail, "libcuda.so.1 cannot be loaded: "+e.alone.NoDriver, e.capabilityFix())
	case e.alone != nil && e.alone.works():
		return one(id, OK, text, "")
	case module != "" && library != "" && module != library:
		return one(id, Warn, text+": library and kernel module are of different versions",
			"use the library that came with the kernel module, unless "+lib+" is NVIDIA's forward compatibility package; after an update of the driver, reboot")
	case !kernel && e.alone == nil:
		return one(id, Warn, text+"; no kernel module and no device nodes were seen", e.deviceFix())
	}
	return one(id, OK, text, "")
}

// nodes are device nodes by vendor.
var nodes = []struct{ vendor, pattern string }{
	{"NVIDIA", "/dev/nvidia[0-9]*"},
	{"NVIDIA", "/dev/nvidiactl"},
	{"NVIDIA", "/dev/nvidia-uvm"},
	{"NVIDIA under WSL", "/dev/dxg"},
	{"Ascend", "/dev/davinci[0-9]*"},
	{"Ascend", "/dev/davinci_manager"},
	{"Ascend", "/dev/devmm_svm"},
	{"Ascend", "/dev/hisi_hdc"},
	{"Moore Threads", "/dev/mtgpu.[0-9]*"},
	{"MetaX", "/dev/mxcd"},
	{"AMD or Hygon", "/dev/kfd"},
	{"Cambricon", "/dev/cambricon_dev[0-9]*"},
	{"Kunlunxin", "/dev/xpu[0-9]*"},
}

func checkNodes(e *exam) []Finding {
	const id = "device.nodes"
	var there, shut []string
	uvm, nvidia := false, false
	for _, n := range nodes {
		for _, file := range e.s.glob(n.pattern) {
			if st, err := fs.Stat(e.s.FS, rel(file)); err != nil || st.IsDir() {
				continue
			}
			there = append(there, file)
			uvm = uvm || file == "/dev/nvidia-uvm"
			nvidia = nvidia || n.pattern == "/dev/nvidia[0-9]*"
			if e.s.Access(file, unix.R_OK|unix.W_OK) != nil {
				shut = append(shut, file)
			}
		}
	}
	works := e.alone != nil && e.alone.works()
	switch {
	case len(there) == 0 && works:
		return one(id, OK, "no device nodes were seen, and the driver works without", "")
	case len(there) == 0:
		return one(id, Skip, "there are none", "")
	case len(shut) > 0 && !works:
		return one(id, Fail, "this user may not read and write "+strings.Join(shut, ", "), e.accessFix(shut[0]))
	case nvidia && !uvm && !works:
		return one(id, Warn, strings.Join(there, ", ")+"; /dev/nvidia-uvm is missing, without which CUDA does not start",
			"run `nvidia-modprobe -u -c 0` as root on the host, and start the container again if this is one")
	}
	return one(id, OK, strings.Join(there, ", "), "")
}

// ascendGroup is the group that Ascend's driver gives its devices to.
const ascendGroup = "HwHiAiUser"

// accessFix says how to be allowed to use a device node.
func (e *exam) accessFix(node string) string {
	ascend := node == "/dev/devmm_svm" || node == "/dev/hisi_hdc" || strings.HasPrefix(node, "/dev/davinci")
	if ascend && e.container() == "" && strings.Contains("\n"+e.s.read("/etc/group"), "\n"+ascendGroup+":") {
		user := e.s.getenv("USER")
		if user == "" {
			user = "USER"
		}
		return "have an administrator run `usermod -aG " + ascendGroup + " " + user + "`, and log in again"
	}
	return "give this user access: `ls -l " + node + "` shows the group that has it; in a container, pass the device on with its permissions"
}

func checkVisible(e *exam) []Finding {
	const id = "device.visible"
	v, set := e.s.lookup("CUDA_VISIBLE_DEVICES")
	switch {
	case !set:
		return one(id, OK, "CUDA_VISIBLE_DEVICES is not set: all devices are used", "")
	case e.alone != nil && e.alone.works():
		return one(id, OK, fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q", v), "")
	case strings.TrimSpace(v) == "" || strings.HasPrefix(v, "-1") || v == "NoDevFiles":
		return one(id, Fail, fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q, which hides every device", v), "unset CUDA_VISIBLE_DEVICES, or set it to the device to use, such as 0")
	}
	return one(id, OK, fmt.Sprintf("CUDA_VISIBLE_DEVICES is %q", v), "")
}

func checkMPS(e *exam) []Finding {
	const id = "device.mps"
	dir, set := e.s.lookup("CUDA_MPS_PIPE_DIRECTORY")
	if !set || dir == "" {
		dir = "/tmp/nvidia-mps"
	}
	if e.s.exists(path.Join(dir, "control")) {
		return one(id, Warn, "an MPS daemon is set up in "+dir+": tracing works with it, but cooperative kernels may hang while traced on devices before Hopper",
			"for such kernels use driver 580 or newer with CUPTI 13.0 or newer, or record without MPS")
	}
	if set {
		return one(id, OK, "CUDA_MPS_PIPE_DIRECTORY is "+dir+", where no daemon is", "")
	}
	return one(id, OK, "no MPS daemon", "")
}

func checkMIG(e *exam) []Finding {
	const id = "device.mig"
	if v := e.s.getenv("CUDA_VISIBLE_DEVICES"); strings.HasPrefix(v, "MIG-") {
		return one(id, OK, "CUDA_VISIBLE_DEVICES names a MIG slice, "+v+": it can be traced", "")
	}
	if n := strings.Count(e.smi, "(UUID: MIG-"); n > 0 {
		return one(id, OK, fmt.Sprintf("nvidia-smi lists %s: they can be traced", counted(n, "MIG slice")), "")
	}
	return nil
}

func checkCounters(e *exam) []Finding {
	for line := range strings.SplitSeq(e.s.read("/proc/driver/nvidia/params"), "\n") {
		if v, ok := strings.CutPrefix(line, "RmProfilingAdminOnly:"); ok {
			if strings.TrimSpace(v) != "0" {
				return one("device.counters", OK, "only administrators may read hardware counters (RmProfilingAdminOnly); flagos-trace reads none", "")
			}
			return one("device.counters", OK, "every user may read hardware counters; flagos-trace reads none", "")
		}
	}
	return nil
}

var ccOn = regexp.MustCompile(`(?i)CC status:\s*ON`)

func checkConfidential(e *exam) []Finding {
	if !ccOn.MatchString(e.cc) {
		return nil
	}
	const seen = "confidential computing is on, and CUPTI traces only in its devtools mode"
	for _, r := range e.recordings {
		if c := r.completeness(); c != nil && c.Received["memcpy"] > 0 {
			return one("device.confidential", OK, seen+": it is in that mode, records arrived", "")
		}
	}
	return one("device.confidential", Warn, seen, "have an administrator put the device into devtools mode, or record on one without confidential computing")
}
