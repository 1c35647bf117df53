package doctor

import (
	"regexp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
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

// otherDevice returns the vendor that FLAGOS_ACCELERATOR names, if it is none of
// NVIDIA's, and how to get its device here.
func (e *exam) otherDevice() (who, fix string) {
	value := strings.ToLower(e.s.getenv("FLAGOS_ACCELERATOR"))
	known, traced := tracer.VendorOf(value)
	u, untraced := tracer.UntracedVendor(value)
	var nodes []string
	switch {
	case traced && !known.Injects:
		for i := range vendors {
			if v, ok := tracer.VendorOf(vendors[i].id); ok && v.Tracer == known.Tracer {
				who = vendors[i].name
				break
			}
		}
		nodes = slices.DeleteFunc(slices.Clone(known.Nodes), func(n string) bool { return !strings.HasPrefix(n, "/dev/") })
	case !traced && untraced:
		return u.Vendor, "use the vendor's own profiler for that device; unset FLAGOS_ACCELERATOR if it is not " + u.Vendor + "'s devices that the program uses"
	default:
		return "", ""
	}
	if fix = "run this on a machine with devices of " + who + " and their driver"; e.container() != "" {
		fix = "start the container with the devices of " + who
		if len(nodes) > 0 {
			fix += " (" + strings.Join(nodes, ", ") + ")"
		}
		fix += " and the folder of its driver and software passed on, as the vendor's guide for containers says"
	}
	return who, fix + "; unset FLAGOS_ACCELERATOR if it is not " + who + "'s devices that the program uses"
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
