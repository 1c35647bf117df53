package doctor

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// cannArch is the folder of this machine's part in CANN.
func cannArch() string {
	if runtime.GOARCH == "arm64" {
		return "aarch64-linux"
	}
	return "x86_64-linux"
}

var mspti = append([]string{"msptiActivityPushExternalCorrelationId", "msptiActivityIsEnabled", "aclrtMemcpy"}, vendorOf("ascend").functions...)

// ascend makes the machine one with an Ascend device on which all is well.
func (m *machine) ascend() {
	m.bare()
	node := &fstest.MapFile{Mode: 0o666 | fs.ModeDevice | fs.ModeCharDevice}
	for _, n := range []string{"dev/davinci0", "dev/davinci_manager", "dev/devmm_svm", "dev/hisi_hdc"} {
		m.files[n] = node
	}
	m.files["cann/lib64/libmspti.so"] = sharedObject(here(), mspti...)
	m.files["cann/"+cannArch()+"/ascend_toolkit_install.info"] = &fstest.MapFile{Data: []byte("package_name=Ascend-cann-toolkit\nversion=9.0.0\n")}
	m.files["usr/local/Ascend/driver/version.info"] = &fstest.MapFile{Data: []byte("Version=25.5.0\nascendhal_version=7.35.23\n")}
	m.files["etc/group"] = &fstest.MapFile{Data: []byte("root:x:0:\nHwHiAiUser:x:1000:\n")}
	m.files["opt/bin/libflagos_trace_preload.so"] = file
	m.env = append(m.env, "ASCEND_HOME_PATH=/cann", "USER=me")
	m.acl = Output{Stdout: "step\tloading libascendcl.so\nacl\t/cann/lib64/libascendcl.so\ndevices\t8\ndevice\tAscend910B4\ndone\tmemset 1\tmemcpy 2\n"}
	m.npu = complete()
	m.npu.Tracer, m.npu.Library, m.npu.How, m.npu.API = "ascend", "/cann/lib64/libmspti.so", "already loaded", 0
}

// refused is the recording of a program in which MSPTI could not be used.
func (m *machine) refused(why string) {
	m.ascend()
	m.npu = unavailable("ascend: " + why)
	m.npu.Tracer = "ascend"
}

// npuCalls is what a call of Ascend's runtime that fails leaves of the probe.
func npuCalls(call string) Output {
	return Output{Status: probeCall, Stdout: "step\t" + call + "\nerror\t" + call + "\t507899\t\tE19999\n"}
}

// ascendSDK puts CANN on a machine without its devices.
func (m *machine) ascendSDK() {
	m.files["usr/local/Ascend/ascend-toolkit/latest/lib64/libmspti.so"] = sharedObject(here(), mspti...)
	m.files["opt/bin/libflagos_trace_preload.so"] = file
}

// ppu puts the PPU's SDK on a machine without a GPU, with the libcupti named in it.
func (m *machine) ppu(libcupti string, functions ...string) {
	m.bare()
	m.files["usr/local/PPU_SDK/lib/libhgpti.so"] = sharedObject(here())
	m.files["opt/bin/libflagos_trace_preload.so"] = file
	if libcupti != "" {
		m.files["usr/local/PPU_SDK/"+libcupti] = sharedObject(here(), functions...)
	}
}

// named is the fix of what takes preloading where --preload would take another copy.
const named = "set FLAGOS_TRACER_LIBRARY to /usr/lib/libmspti.so, and record with --preload"

// TestWordsOfMSPTI holds the parts by which diagnoses are known against what the agent says.
func TestWordsOfMSPTI(t *testing.T) {
	var said strings.Builder
	files, _ := filepath.Glob("../tracer/ascend/bind/*.go")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			said.Write(text)
		}
	}
	for _, part := range []string{npuOther, npuOffline, npuPreloaded, npuAtAll, npuByName, npuNotTied, diagnoseNotRecorded} {
		if !strings.Contains(said.String(), part) {
			t.Errorf("nothing in tracer/ascend/bind says %q", part)
		}
	}
}

// vendorCases change one thing on a machine with an Ascend device, or are another's.
var vendorCases = []struct {
	name    string
	change  func(m *machine)
	verdict Status
	want    map[string]want
}{
	{"Ascend", (*machine).ascend, OK, map[string]want{
		"library.ascend": {OK, "--vendor ascend"}, "ascend.library": {OK, "/cann/lib64/libmspti.so is used (ASCEND_HOME_PATH)"}, "ascend.cann": {OK, "CANN 9.0.0 in /cann"},
		"ascend.preload": {OK, "record --preload"}, "ascend.driver": {OK, "driver 25.5.0"}, "ascend.nodes": {OK, "hisi_hdc"}, "ascend.visible": {OK, "all devices"},
		"ascend.profiler": {OK, "msprof is not"}, "ascend.alone": {OK, "Ascend910B4, the first of 8 devices"}, "ascend.recording": {OK, "1 of 1 fills, 2 of 2 copies and 3 calls"}, "agent.preload": {OK, "Huawei Ascend"}, "device.nodes": {OK, "/dev/hisi_hdc"}, "env.preload": {OK, "not set"}, "driver": {Skip, "no NVIDIA"}}},
	{"no part to preload", func(m *machine) { m.ascend(); delete(m.files, "opt/bin/libflagos_trace_preload.so") }, Fail, map[string]want{
		"agent.preload": {Fail, "whole of flagos-trace"}}},
	{"no part to preload beside a GPU", func(m *machine) {
		m.files["usr/local/musa/lib/libmupti.so"] = sharedObject(here(), cuptiAs("mupti")...)
	}, Fail, map[string]want{
		"agent.preload": {Fail, "whole of flagos-trace"}, "library.musa": {OK, "--vendor musa"}}},
	{"no part to preload, and no sign of devices", func(m *machine) { m.files["usr/lib/libmupti.so"] = sharedObject(here(), cuptiAs("mupti")...) }, Warn, map[string]want{
		"agent.preload": {Warn, "whole of flagos-trace"}}},
	{"folder with a blank", func(m *machine) { m.ascend(); m.at = "/my bin"; m.files["my bin/libflagos_trace_preload.so"] = file }, Fail, map[string]want{
		"agent.preload": {Fail, "without colons and blanks"}}},
	{"library for another machine", func(m *machine) { m.ascend(); m.files["cann/lib64/libmspti.so"] = sharedObject(elsewhere(), mspti...) }, Fail, map[string]want{
		"library.ascend": {Fail, "FLAGOS_TRACER_LIBRARY"}}},
	{"library of text", func(m *machine) {
		m.ascend()
		m.files["cann/lib64/libmspti.so"] = &fstest.MapFile{Data: []byte("version https://git-lfs")}
	}, Fail, map[string]want{
		"library.ascend": {Fail, "FLAGOS_TRACER_LIBRARY"}}},
	{"library without a function", func(m *machine) {
		m.ascend()
		m.files["cann/lib64/libmspti.so"] = sharedObject(here(), mspti[:len(mspti)-1]...)
	}, Fail, map[string]want{
		"library.ascend": {Fail, "FLAGOS_TRACER_LIBRARY"}}},
	{"another copy can be used", func(m *machine) {
		m.ascend()
		m.files["cann/lib64/libmspti.so"] = sharedObject(elsewhere(), mspti...)
		m.files["cann/tools/mspti/lib64/libmspti.so"] = sharedObject(here(), mspti...)
	}, OK, map[string]want{"library.ascend": {OK, "lib64/libmspti.so"}, "ascend.library": {OK, "/cann/tools/mspti/lib64/libmspti.so is used"}}},
	{"the environment's CANN before the loader's", func(m *machine) {
		m.ascend()
		m.files["usr/lib/libmspti.so"] = sharedObject(here(), mspti...)
	}, OK, map[string]want{"ascend.library": {OK, "/cann/lib64/libmspti.so is used"}}},
	{"named library", func(m *machine) {
		m.ascend()
		m.env = append(m.env, "FLAGOS_TRACER_LIBRARY=/x/libmspti.so")
		m.files["x/libmspti.so"] = sharedObject(here(), mspti...)
	}, OK, map[string]want{"ascend.library": {OK, "/x/libmspti.so is used (FLAGOS_TRACER_LIBRARY)"}}},
	{"named library of another machine", func(m *machine) {
		m.ascend()
		m.env = append(m.env, "FLAGOS_TRACER_LIBRARY=/x/libmspti.so")
		m.files["x/libmspti.so"] = sharedObject(elsewhere(), mspti...)
	}, Fail, map[string]want{"ascend.library": {Fail, "unset FLAGOS_TRACER_LIBRARY"}}},
	{"old library", func(m *machine) { m.ascend(); m.files["cann/lib64/libmspti.so"] = sharedObject(here(), mspti[2:]...) }, Warn, map[string]want{
		"ascend.library": {Warn, "CANN 8.3"}, "ascend.preload": {Warn, "--preload"}}},
	{"library before the change of preloading", func(m *machine) {
		m.ascend()
		m.files["cann/lib64/libmspti.so"] = sharedObject(here(), append([]string{mspti[0]}, mspti[2:]...)...)
	}, Warn, map[string]want{"ascend.library": {OK, "older than May 2026"}, "ascend.preload": {Warn, "record with --preload"}}},
	{"library that stands in for nothing", func(m *machine) {
		m.ascend()
		m.files["cann/lib64/libmspti.so"] = sharedObject(here(), append(append([]string{}, mspti[:2]...), mspti[3:]...)...)
	}, OK, map[string]want{"ascend.preload": {OK, "not recorded, preloaded or not"}}},
	{"MSPTI preloaded everywhere", func(m *machine) {
		m.ascend()
		m.env = append(m.env, "LD_PRELOAD=/cann/lib64/libmspti.so")
	}, Warn, map[string]want{"ascend.preload": {Warn, "record --preload"}, "env.preload": {OK, "LD_PRELOAD is"}}},
	{"CANN not set up", func(m *machine) {
		m.ascend()
		m.env = []string{"HOME=/home/me"}
		m.files["usr/local/Ascend/ascend-toolkit/latest/lib64/libmspti.so"] = sharedObject(here(), mspti...)
		m.files["usr/local/Ascend/ascend-toolkit/set_env.sh"] = file
	}, Warn, map[string]want{"ascend.cann": {Warn, "source /usr/local/Ascend/ascend-toolkit/set_env.sh"}}},
	{"CANN 9 not set up", func(m *machine) {
		m.ascend()
		m.env = []string{"HOME=/home/me"}
		m.files["usr/local/Ascend/cann-9.0.0/tools/mspti/lib64/libmspti.so"] = sharedObject(here(), mspti...)
	}, Warn, map[string]want{"ascend.cann": {Warn, "export ASCEND_HOME_PATH=/usr/local/Ascend/cann-9.0.0"}, "library.ascend": {OK, "/usr/local/Ascend/cann-9.0.0/tools/mspti"}}},
	{"CANN gone", func(m *machine) { m.ascend(); m.env = append(m.env, "ASCEND_TOOLKIT_HOME=/gone") }, Warn, map[string]want{
		"ascend.cann": {Warn, "unset ASCEND_TOOLKIT_HOME"}}},
	{"CANN for another machine", func(m *machine) {
		m.ascend()
		delete(m.files, "cann/"+cannArch()+"/ascend_toolkit_install.info")
		m.files["cann/riscv64-linux/x"] = file
	}, Fail, map[string]want{"ascend.cann": {Fail, "install CANN for"}}},
	{"version not known", func(m *machine) {
		m.ascend()
		delete(m.files, "cann/"+cannArch()+"/ascend_toolkit_install.info")
		delete(m.files, "usr/local/Ascend/driver/version.info")
	}, OK, map[string]want{"ascend.cann": {OK, "CANN in /cann"}, "ascend.driver": {Skip, "not known"}}},
	{"device not permitted", func(m *machine) { m.ascend(); m.denied = []string{"/dev/davinci_manager"} }, Fail, map[string]want{
		"device.nodes": {Fail, "usermod -aG HwHiAiUser me"}}},
	{"device not permitted, no such group", func(m *machine) { m.ascend(); delete(m.files, "etc/group"); m.denied = []string{"/dev/davinci0"} }, Fail, map[string]want{
		"device.nodes": {Fail, "ls -l /dev/davinci0"}}},
	{"device not permitted in a container", func(m *machine) {
		m.ascend()
		m.files[".dockerenv"] = file
		m.denied = []string{"/dev/davinci0"}
	}, Fail, map[string]want{"device.nodes": {Fail, "in a container"}}},
	{"container with less than it takes", func(m *machine) {
		m.ascend()
		m.files[".dockerenv"] = file
		delete(m.files, "dev/hisi_hdc")
		delete(m.files, "dev/devmm_svm")
		delete(m.files, "usr/local/Ascend/driver/version.info")
	}, Warn, map[string]want{"ascend.nodes": {Warn, "--device /dev/devmm_svm --device /dev/hisi_hdc"}, "ascend.driver": {Warn, "-v /usr/local/Ascend/driver:/usr/local/Ascend/driver"}}},
	{"driver not whole", func(m *machine) { m.ascend(); delete(m.files, "dev/davinci_manager") }, Warn, map[string]want{"ascend.nodes": {Warn, "dmesg"}}},
	{"visible", func(m *machine) { m.ascend(); m.env = append(m.env, "ASCEND_RT_VISIBLE_DEVICES=1,3") }, Warn, map[string]want{"ascend.visible": {Warn, "right devices"}}},
	{"visible with a blank", func(m *machine) { m.ascend(); m.env = append(m.env, "ASCEND_RT_VISIBLE_DEVICES=1, 3") }, Warn, map[string]want{
		"ascend.visible": {Warn, "ASCEND_RT_VISIBLE_DEVICES=1,3"}}},
	{"visible in no order", func(m *machine) { m.ascend(); m.env = append(m.env, "ASCEND_RT_VISIBLE_DEVICES=3,1") }, Warn, map[string]want{"ascend.visible": {Warn, "ascending"}}},
	{"nothing visible", func(m *machine) { m.ascend(); m.env = append(m.env, "ASCEND_RT_VISIBLE_DEVICES=") }, Warn, map[string]want{"ascend.visible": {Warn, "unset"}}},
	{"under msprof", func(m *machine) { m.ascend(); m.env = append(m.env, "PROFILER_SAMPLECONFIG={}") }, Fail, map[string]want{"ascend.profiler": {Fail, "without msprof"}}},
	{"torch_npu", func(m *machine) {
		m.ascend()
		m.python.Stdout = strings.Replace(py, `"torch":"2.9.0"`, `"torch":"2.9.0","torch_npu":"2.9.0.post1"`, 1) + `""}`
	}, OK, map[string]want{"ascend.profiler": {OK, "torch_npu 2.9.0.post1"}, "python.torch": {OK, "plugin"}}},

	{"runtime not loadable", func(m *machine) {
		m.ascend()
		m.acl = Output{Status: probeNoDriver, Stdout: "nodriver\tlibascend_hal.so: cannot open shared object file\n"}
	}, Fail, map[string]want{"ascend.alone": {Fail, "source set_env.sh"}}},
	{"software without devices", func(m *machine) {
		m.ascend()
		delete(m.files, "dev/davinci0")
		m.acl = Output{Status: probeNoDriver, Stdout: "nodriver\tlibascend_hal.so: cannot open shared object file\n"}
	}, OK, map[string]want{"ascend.alone": {Skip, "no runtime"}}},
	{"device does not start", func(m *machine) { m.ascend(); m.acl = npuCalls("aclrtSetDevice") }, Fail, map[string]want{"ascend.alone": {Fail, "npu-smi info"}}},
	{"device hangs", func(m *machine) { m.ascend(); m.acl = Output{Signal: "SIGALRM", Stdout: "step\taclInit\n"} }, Fail, map[string]want{"ascend.alone": {Fail, "npu-smi info"}}},
	{"older probe", func(m *machine) { m.ascend(); m.acl = Output{Status: probeUsage} }, Warn, map[string]want{"ascend.alone": {Warn, "whole of flagos-trace"}}},
	{"MSPTI taken", func(m *machine) {
		m.refused("another profiler in the process (msprof) uses libmspti, which serves one only")
	}, Fail, map[string]want{
		"ascend.diagnosis": {Fail, "end the other profiler"}}},
	{"MSPTI not found", func(m *machine) { m.refused("libmspti not found: it comes with CANN") }, Fail, map[string]want{"ascend.diagnosis": {Fail, "ASCEND_HOME_PATH"}}},
	{"MSPTI lacks a function", func(m *machine) { m.refused("libmspti lacks a function that tracing needs") }, Fail, map[string]want{"ascend.diagnosis": {Fail, "newer CANN"}}},
	{"device offline", func(m *machine) {
		m.refused("the device is offline")
		m.npu.Diagnoses = append([]string{"collective operations are not recorded: x"}, m.npu.Diagnoses...)
	}, Fail, map[string]want{"ascend.diagnosis": {Fail, "npu-smi"}}},
	{"much not recorded", func(m *machine) {
		m.ascend()
		m.npu.Diagnoses = []string{"API calls are not recorded: x", "collective operations are not recorded: x"}
	}, Warn, map[string]want{"ascend.diagnosis": {Warn, "newer CANN"}, "ascend.diagnosis.2": {Warn, "newer CANN"}}},
	{"device hidden", func(m *machine) {
		m.ascend()
		m.env = append(m.env, "ASCEND_RT_VISIBLE_DEVICES=9")
		m.acl = npuCalls("aclrtSetDevice")
	}, Fail, map[string]want{"ascend.alone": {Fail, "unset ASCEND_RT_VISIBLE_DEVICES"}}},
	{"not all recorded", func(m *machine) {
		m.ascend()
		m.npu.Diagnoses = []string{"the vendor's library does not say how many records it dropped: whether it lost any is not known", "collective operations are not recorded: x"}
	}, Warn, map[string]want{"ascend.diagnosis": {Warn, "newer CANN"}, "ascend.recording": {OK, "2 of 2 copies"}}},
	{"never says how many it dropped", func(m *machine) {
		m.ascend()
		m.npu.Diagnoses = []string{"the vendor's library does not say how many records it dropped: whether it lost any is not known"}
	}, OK, map[string]want{"ascend.recording": {OK, "2 of 2 copies"}}},
	{"slow flush", func(m *machine) {
		m.ascend()
		m.npu.Received = map[string]uint64{}
		m.npu.Diagnoses = []string{"the library's last flush did not come back within 1s: the last records are missing"}
	}, Fail, map[string]want{"ascend.recording": {Fail, "FLAGOS_TRACE_EXIT_TIMEOUT_MS"}}},
	{"agent not preloaded", func(m *machine) { m.ascend(); m.npu = &timeline.Completeness{Tracer: "none"} }, Fail, map[string]want{"ascend.recording": {Fail, "FLAGOS_TRACE=debug"}}},
	{"MSPTI's layout", func(m *machine) {
		m.ascend()
		m.npu.Layout = "mismatch"
		m.npu.Diagnoses = []string{"layout mismatch: x: records of activity kind 2"}
	}, Fail, map[string]want{"ascend.recording": {Fail, "unchanged libmspti"}}},
	{"no copies", func(m *machine) { m.ascend(); m.npu.Received["memcpy"] = 0 }, Warn, map[string]want{"ascend.recording": {Warn, ""}}},
	{"no calls", func(m *machine) { m.ascend(); m.npu.Received["driver"] = 0 }, Fail, map[string]want{"ascend.recording": {Fail, ""}}},
	{"not preloaded, found by the loader", func(m *machine) {
		m.ascend()
		delete(m.files, "cann/lib64/libmspti.so")
		m.files["usr/lib/libmspti.so"] = sharedObject(here(), mspti...)
	}, OK, map[string]want{"ascend.recording": {OK, "2 of 2 copies"}, "ascend.preload": {OK, "preloads /usr/lib/libmspti.so into the command alone"}}},
	{"not preloaded, since another copy stands before", func(m *machine) {
		m.ascend()
		m.files["cann/lib64/libmspti.so"] = sharedObject(elsewhere(), mspti...)
		m.files["usr/lib/libmspti.so"] = sharedObject(here(), mspti...)
		m.npu.Received["memcpy"], m.npu.Received["memset"] = 0, 0
		m.npu.Diagnoses = []string{"copies and fills are not recorded: libmspti can do that only if it is preloaded into the program (flagos-trace record --preload)",
			"this libmspti may be of a CANN before 9.0, which records nothing at all unless it is preloaded into the program",
			"fills are not recorded, though libmspti stands before the program's calls: it goes by LD_PRELOAD, which does not have its name in it: x"}
	}, Warn, map[string]want{"ascend.diagnosis": {Warn, named}, "ascend.diagnosis.2": {Warn, named}, "ascend.diagnosis.3": {Warn, named},
		"ascend.recording": {Warn, named}, "ascend.preload": {OK, "set FLAGOS_TRACER_LIBRARY to /usr/lib/libmspti.so"}}},

	{"MUPTI for another machine", func(m *machine) {
		m.bare()
		m.files["usr/local/musa/lib/libmupti.so"] = sharedObject(elsewhere(), cuptiAs("mupti")...)
		m.files["opt/bin/libflagos_trace_preload.so"] = file
	}, Fail, map[string]want{"library.musa": {Fail, "libmupti.so for this machine"}}},
	{"torch_musa", func(m *machine) {
		m.bare()
		m.python.Stdout = strings.Replace(py, `"torch":"2.9.0"`, `"torch":"2.5.0","torch_musa":"2.1.0"`, 1) + `""}`
		m.files["opt/musa/lib/libmupti.so"] = sharedObject(here(), cuptiAs("mupti")...)
		m.files["opt/bin/libflagos_trace_preload.so"] = file
		m.env = append(m.env, "MUSA_HOME=/opt/musa")
	}, OK, map[string]want{"python.torch": {OK, "torch_musa 2.1.0; its profiler takes MUPTI"}, "library.musa": {OK, "--vendor musa"}}},
	{"DTK and torch for HIP", func(m *machine) {
		m.bare()
		m.python.Stdout = py + `"","torch_hip":"6.2"}`
		m.files["opt/dtk/lib/libroctracer64.so"] = sharedObject(here(), vendorOf("dcu").functions...)
		m.files["opt/bin/libflagos_trace_preload.so"] = file
	}, OK, map[string]want{"python.torch": {OK, "--vendor dcu"}, "library.dcu": {OK, "--vendor dcu"}}},
	{"accelerator", func(m *machine) { m.env = append(m.env, "FLAGOS_ACCELERATOR=CUDA") }, OK, map[string]want{"env.accelerator": {OK, "tracer cupti"}}},
	{"accelerator without a tracer", func(m *machine) { m.env = append(m.env, "FLAGOS_ACCELERATOR=gcu") }, Warn, map[string]want{"env.accelerator": {Warn, "own profiler"}}},
	{"accelerator unknown", func(m *machine) { m.env = append(m.env, "FLAGOS_ACCELERATOR=abacus") }, Warn, map[string]want{"env.accelerator": {Warn, "--vendor: cupti, ascend"}}},
	{"accelerator that is not there", func(m *machine) { m.bare(); m.env = append(m.env, "FLAGOS_ACCELERATOR=npu") }, Fail, map[string]want{
		"driver": {Fail, "run this on a machine with devices of Huawei Ascend"}}},
	{"accelerator that is not in the container", func(m *machine) {
		m.bare()
		m.files[".dockerenv"] = file
		m.env = append(m.env, "FLAGOS_ACCELERATOR=MUSA")
	}, Fail, map[string]want{"driver": {Fail, "the devices of Moore Threads (/dev/mtgpu.0) and"}}},
	{"accelerator without a tracer, which is not there", func(m *machine) { m.bare(); m.env = append(m.env, "FLAGOS_ACCELERATOR=enflame") }, Fail, map[string]want{
		"driver": {Fail, "use the vendor's own profiler"}, "env.accelerator": {Warn, "own profiler"}}},
	{"library that is named", func(m *machine) {
		m.bare()
		m.env = append(m.env, "FLAGOS_TRACER_LIBRARY=/x/libmupti.so")
		m.files["x/libmupti.so"] = sharedObject(here(), cuptiAs("mupti")...)
		m.files["opt/bin/libflagos_trace_preload.so"] = file
	}, OK, map[string]want{"driver": {Skip, "no NVIDIA driver"}, "library.musa": {OK, "/x/libmupti.so (FLAGOS_TRACER_LIBRARY)"}}},
	{"PPU", func(m *machine) { m.ppu("CUDA_SDK/targets/x86_64-linux/lib/libcupti.so.13", cuptiAs("cupti")...) }, OK, map[string]want{
		"driver": {Skip, "no NVIDIA driver"}, "library.ppu": {OK, "its tracer uses /usr/local/PPU_SDK/CUDA_SDK/targets/x86_64-linux/lib/libcupti.so.13 (SDK). It is recorded with --vendor ppu"}}},
	{"PPU without its libcupti", func(m *machine) { m.ppu("") }, Fail, map[string]want{"library.ppu": {Fail, "set FLAGOS_TRACER_LIBRARY to the libcupti.so in it"}}},
	{"PPU with a libcupti that lacks functions", func(m *machine) { m.ppu("lib/libcupti.so", "cuptiActivityEnable") }, Fail, map[string]want{"library.ppu": {Fail, "libcupti.so for this machine"}}},
	{"MSPTI preloaded where no Ascend is", func(m *machine) { m.env = append(m.env, "LD_PRELOAD=libmspti.so") }, Warn, map[string]want{"env.preload": {Warn, "take it out"}}},
}

func TestVendorCases(t *testing.T) {
	for _, c := range vendorCases {
		t.Run(c.name, func(t *testing.T) { runCase(t, c.change, Options{}, c.verdict, c.want) })
	}
}

// TestAscendTried: the device is tried and recorded with the library preloaded, and left
// alone with --no-probe and where a GPU is what programs use.
func TestAscendTried(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*machine)
		options Options
		want    string
	}{
		{"device", (*machine).ascend, Options{}, "probe --acl,record,--vendor ascend --preload"},
		{"left alone", (*machine).ascend, Options{NoProbe: true}, ""},
		{"software beside a GPU", (*machine).ascendSDK, Options{}, ""},
		{"does not work", func(m *machine) { m.ascend(); m.acl = npuCalls("aclInit") }, Options{}, "probe --acl"},
	} {
		m := healthy()
		c.change(m)
		if _, err := Examine(context.Background(), m.system(t), c.options); err != nil {
			t.Fatal(err)
		}
		var ran []string
		for i, r := range m.ran {
			if strings.Contains(r, "--acl") || strings.Contains(r, "--vendor") || r == "record" && i+1 < len(m.ran) && strings.Contains(m.ran[i+1], "--vendor") {
				ran = append(ran, r)
			}
		}
		if got := strings.Join(ran, ","); got != c.want {
			t.Errorf("%s: ran %q of %q, want %q", c.name, got, m.ran, c.want)
		}
	}
}
