package doctor

import (
	"regexp"
	"strings"
)

// gvisor is in what gVisor gives as /proc/version, whatever its real version.
const gvisor = "#1 SMP Sun Jan 10 15:06:54 PST 2016"

var cgroupNames = regexp.MustCompile(`docker|kubepods|containerd|libpod|crio|lxc`)

// container says what kind of container this is, "" for none that is known.
func (e *exam) container() string {
	s := e.s
	var signs []string
	if s.exists("/.dockerenv") {
		signs = append(signs, "/.dockerenv is there")
	}
	if s.exists("/run/.containerenv") {
		signs = append(signs, "/run/.containerenv is there")
	}
	if s.getenv("KUBERNETES_SERVICE_HOST") != "" {
		signs = append(signs, "KUBERNETES_SERVICE_HOST is set")
	}
	if v := s.getenv("APPTAINER_CONTAINER") + s.getenv("SINGULARITY_CONTAINER"); v != "" {
		signs = append(signs, "Apptainer image "+v)
	}
	if m := cgroupNames.FindString(s.read("/proc/1/cgroup")); m != "" {
		signs = append(signs, "process 1 is in a cgroup of "+m)
	}
	return strings.Join(signs, ", ")
}

func checkContainer(e *exam) []Finding {
	const id = "env.container"
	signs := e.container()
	if strings.Contains(e.s.read("/proc/version"), gvisor) {
		return one(id, OK, "gVisor, which lets through those calls of the driver that its version knows; the probe below shows whether they suffice", "")
	}
	if signs == "" {
		return one(id, OK, "no sign of a container", "")
	}
	return one(id, OK, "this is a container: "+signs, "")
}

// deviceFix says how to give a container, or a machine, its device.
func (e *exam) deviceFix() string {
	if e.container() == "" {
		return "run this on a machine with a GPU whose driver is installed: nvidia-smi must list it"
	}
	if v := e.s.getenv("NVIDIA_VISIBLE_DEVICES"); v == "void" || v == "none" {
		return "start the container with NVIDIA_VISIBLE_DEVICES naming devices, or all; it is " + v
	}
	return "start the container with its GPUs: docker run --gpus all, or in Kubernetes a limit of nvidia.com/gpu"
}

// capabilityFix says how to get the driver's libraries into a container that has
// the devices.
func (e *exam) capabilityFix() string {
	if e.container() == "" {
		return "install the driver's libraries, or put the folder of libcuda.so.1 into LD_LIBRARY_PATH"
	}
	if v, set := e.s.lookup("NVIDIA_DRIVER_CAPABILITIES"); set && v != "all" && !strings.Contains(v, "compute") {
		return "start the container with NVIDIA_DRIVER_CAPABILITIES=compute,utility; it is " + v + ", which leaves libcuda.so.1 out"
	}
	return "start the container through the NVIDIA Container Toolkit (docker run --gpus all), which mounts libcuda.so.1, or put its folder into LD_LIBRARY_PATH"
}
