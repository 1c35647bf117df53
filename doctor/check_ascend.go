package doctor

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// ascendRoot is where the driver and CANN are unless somebody wants them elsewhere.
const ascendRoot = "/usr/local/Ascend"

// driverNodes are the device nodes that a program on Ascend devices needs beside those of
// the devices.
var driverNodes = []string{"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"}

// hasAscend reports whether programs here may use Ascend devices: there is one, or there
// is its software and no GPU.
func (e *exam) hasAscend() bool {
	libraries, devices := e.find(vendorOf("ascend"))
	return len(devices) > 0 || !e.hasNVIDIA() && (len(libraries) > 0 || e.cann() != "")
}

// cann returns the folder of the CANN toolkit that programs use, "" if none was found.
func (e *exam) cann() string {
	v, _ := tracer.VendorOf("ascend")
	for _, name := range v.Homes {
		if root := e.s.getenv(name); root != "" && e.s.exists(e.s.abs(root)) {
			return e.s.abs(root)
		}
	}
	for _, pattern := range v.Roots {
		if list := e.s.glob(pattern); len(list) > 0 {
			return list[0]
		}
	}
	return ""
}

// checkAscend looks at what only Ascend has. It says nothing where there is none.
func checkAscend(e *exam) []Finding {
	if !e.hasAscend() {
		return nil
	}
	var list []Finding
	for _, check := range []func(*exam) []Finding{ascendCANN, ascendLibrary, ascendPreload, ascendDriver, ascendNodes, ascendVisible, ascendProfiler, ascendAlone, ascendRecording} {
		list = append(list, check(e)...)
	}
	return list
}

var versionLine = regexp.MustCompile(`(?im)^version\s*=\s*(\S+)`)

// versionIn reads the version out of a file of CANN or of the driver.
func (e *exam) versionIn(file string) string {
	if m := versionLine.FindStringSubmatch(e.s.read(file)); m != nil {
		return m[1]
	}
	return ""
}

// ascendCANN tells the version of CANN and whether it is set up for programs.
func ascendCANN(e *exam) []Finding {
	const id = "ascend.cann"
	v, _ := tracer.VendorOf("ascend")
	for _, name := range v.Homes {
		if root := e.s.getenv(name); root != "" && !e.s.exists(e.s.abs(root)) {
			return one(id, Warn, name+" is "+root+", which does not exist: libmspti does not find CANN's libraries by it", "source set_env.sh of the CANN that the program uses, or unset "+name)
		}
	}
	root := e.cann()
	if root == "" {
		return one(id, Skip, "CANN was not found: ASCEND_HOME_PATH is not set, and nothing is in "+ascendRoot, "")
	}
	here := map[string]string{"amd64": "x86_64-linux", "arm64": "aarch64-linux"}[runtime.GOARCH]
	seen := "CANN in " + root
	if v := e.versionIn(path.Join(root, here, "ascend_toolkit_install.info")); v != "" {
		seen = "CANN " + v + " in " + root
	}
	if others := e.s.glob(quote(root) + "/*-linux"); here != "" && len(others) > 0 && !slices.Contains(others, path.Join(root, here)) {
		return one(id, Fail, fmt.Sprintf("%s is for another processor: it has %s and no %s", seen, path.Base(others[0]), here), "install CANN for "+here[:strings.Index(here, "-")])
	}
	if e.s.getenv("ASCEND_HOME_PATH") == "" && e.s.getenv("ASCEND_TOOLKIT_HOME") == "" {
		script := root + "/set_env.sh"
		if up := path.Dir(root) + "/set_env.sh"; !e.s.exists(script) && e.s.exists(up) {
			script = up
		}
		if e.s.exists(script) {
			return one(id, Warn, seen+"; neither ASCEND_HOME_PATH nor ASCEND_TOOLKIT_HOME is set, by which libmspti finds CANN's libraries", "source "+script+" in the shell that runs record")
		}
		return one(id, Warn, seen+"; neither ASCEND_HOME_PATH nor ASCEND_TOOLKIT_HOME is set, by which libmspti finds CANN's libraries", "export ASCEND_HOME_PATH="+root)
	}
	return one(id, OK, seen, "")
}

// msptis lists the copies of libmspti, in the order in which they are looked for.
func (e *exam) msptis() []copyOf {
	list, _ := e.find(vendorOf("ascend"))
	rank := func(c copyOf) int {
		return slices.Index([]string{"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME", "loader", "SDK"}, c.How)
	}
	slices.SortStableFunc(list, func(a, b copyOf) int { return rank(a) - rank(b) })
	return list
}

// mspti returns the copy of libmspti that the agent uses in a program that has loaded
// none: that of the folder that the environment names, what the loader finds, then that
// of CANN's own folder.
func (e *exam) mspti() *copyOf {
	list := e.msptis()
	if named := e.s.getenv(tracer.EnvLibrary); named != "" && e.s.exists(e.s.abs(named)) {
		return &copyOf{e.s.Resolve(e.s.abs(named)), named, tracer.EnvLibrary}
	}
	for i := range list {
		if e.s.flaw(list[i].Path, vendorOf("ascend").functions) == "" {
			return &list[i]
		}
	}
	return nil
}

// ascendLibrary tells which libmspti is used, and what one of its age does not have: it
// tells no version, but newer ones have more functions.
func ascendLibrary(e *exam) []Finding {
	const id = "ascend.library"
	c := e.mspti()
	if c == nil {
		return nil // told by library.ascend
	}
	seen := fmt.Sprintf("%s is used (%s), unless the program has loaded another before", c.As, c.How)
	if bad := e.s.flaw(c.Path, vendorOf("ascend").functions); bad != "" {
		return one(id, Fail, c.As+" is named by "+c.How+" and cannot be used: it "+bad, "unset "+tracer.EnvLibrary+", or set it to the libmspti.so of CANN")
	}
	lib := e.s.library(c.Path)
	switch {
	case lib == nil || lib.functions == nil:
		return one(id, OK, seen, "")
	case !lib.functions["msptiActivityPushExternalCorrelationId"]:
		return one(id, Warn, seen+"; it is older than CANN 8.3: it has no external ids, so that kernels are not tied to operators by id, and records no copies and fills",
			"use CANN 8.3 or newer, if the driver allows it")
	case !lib.functions["msptiActivityIsEnabled"]:
		return one(id, OK, seen+"; it is older than May 2026", "")
	}
	return one(id, OK, seen+"; it is of May 2026 or newer", "")
}

// ascendPreload says what takes preloading, and how to do it.
func ascendPreload(e *exam) []Finding {
	const id = "ascend.preload"
	c := e.mspti()
	if c == nil {
		return nil
	}
	what := "copies and fills are recorded only with record --preload, which preloads " + c.As + " into the command alone"
	if !e.preloads() {
		what += "; for it to be found, set " + tracer.EnvLibrary + " to " + c.As
	}
	for _, lib := range preloaded(e) {
		if path.Base(lib) == "libmspti.so" {
			return one(id, Warn, lib+" is in LD_PRELOAD, of every process that starts from here; programs that use no device were seen to crash of it",
				"take it out of LD_PRELOAD, and use record --preload, which preloads it into the command alone")
		}
	}
	lib := e.s.library(c.Path)
	switch {
	case lib == nil || lib.functions == nil:
	case !lib.functions["msptiActivityPushExternalCorrelationId"]:
		// Told with its age; calls and kernels may take preloading all the same.
		return one(id, Warn, "this libmspti records no copies and fills, preloaded or not; before CANN 9.0 its documentation asks for preloading whatever is recorded", "record with --preload")
	case !lib.functions["aclrtMemcpy"]:
		return one(id, OK, "this libmspti stands in for no function of the runtime: copies and fills are not recorded, preloaded or not", "")
	case !lib.functions["msptiActivityIsEnabled"]:
		return one(id, Warn, what+"; before CANN 9.0 its documentation asks for preloading whatever is recorded", "record with --preload")
	}
	return one(id, OK, what, "")
}

// preloaded lists what LD_PRELOAD names.
func preloaded(e *exam) []string {
	return strings.FieldsFunc(e.s.getenv("LD_PRELOAD"), func(r rune) bool { return r == ':' || r == ' ' })
}

func ascendDriver(e *exam) []Finding {
	const id = "ascend.driver"
	folder := ascendRoot + "/driver"
	_, devices := e.find(vendorOf("ascend"))
	switch v := e.versionIn(folder + "/version.info"); {
	case v != "":
		return one(id, OK, "driver "+v, "")
	case len(devices) > 0 && e.container() != "" && !e.s.exists(folder):
		return one(id, Warn, folder+" is not in this container, which has devices: programs do not find the driver's libraries unless they are elsewhere",
			fmt.Sprintf("start the container with -v %s:%s, or through Ascend Docker Runtime", folder, folder))
	}
	return one(id, Skip, "the version of the driver is not known: "+folder+"/version.info was not found", "")
}

// ascendNodes looks for what a container lacks when only its devices were passed on.
func ascendNodes(e *exam) []Finding {
	const id = "ascend.nodes"
	_, devices := e.find(vendorOf("ascend"))
	if len(devices) == 0 {
		return nil
	}
	var missing []string
	for _, n := range driverNodes {
		if !e.s.exists(n) {
			missing = append(missing, n)
		}
	}
	switch {
	case len(missing) == 0:
		return one(id, OK, strings.Join(driverNodes, ", ")+" are there", "")
	case e.container() != "":
		return one(id, Warn, strings.Join(missing, ", ")+" is missing in this container, which has "+devices[0],
			"start the container with --device "+strings.Join(missing, " --device "))
	}
	return one(id, Warn, strings.Join(missing, ", ")+" is missing beside "+devices[0]+": the driver did not start as a whole", "install the driver again, or see what dmesg says of it")
}

// ascendVisible reads the variable as CANN documents it: numbers in ascending order and
// commas, up to the first other character.
func ascendVisible(e *exam) []Finding {
	const id, name = "ascend.visible", envVisible
	value, set := e.s.lookup(name)
	if !set {
		return one(id, OK, name+" is not set: all devices are used", "")
	}
	seen := fmt.Sprintf("%s is %q", name, value)
	if strings.TrimSpace(value) == "" {
		return one(id, Warn, seen+": CANN does not document what that means", "unset "+name+", or set it to numbers, such as 0,1")
	}
	if at := strings.IndexFunc(value, func(r rune) bool { return r != ',' && (r < '0' || r > '9') }); at >= 0 {
		return one(id, Warn, fmt.Sprintf("%s: CANN reads it up to the first character that is neither digit nor comma, %q", seen, value[:at]),
			"write numbers and commas only: export "+name+"="+digits(value))
	}
	last := -1
	for field := range strings.SplitSeq(value, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n <= last {
			return one(id, Warn, seen+": CANN supports numbers in ascending order only", "list the numbers in ascending order, each once")
		}
		last = n
	}
	return one(id, Warn, seen+": CANN's documentation does not support it together with profiling; the trace numbers devices as the program does",
		"nothing, as long as traces are complete and name the right devices; otherwise unset it, and choose the device in the program")
}

// digits returns a list of numbers without what stands between them.
func digits(value string) string {
	fields := strings.FieldsFunc(value, func(r rune) bool { return r < '0' || r > '9' })
	if len(fields) == 0 {
		return "0"
	}
	return strings.Join(fields, ",")
}

// ascendProfiler looks for another profiler: the library serves one in a process.
func ascendProfiler(e *exam) []Finding {
	const id, variable = "ascend.profiler", "PROFILER_SAMPLECONFIG"
	if e.s.getenv(variable) != "" {
		return one(id, Fail, "this runs under msprof ("+variable+" is set), together with which libmspti loses data", "record without msprof; unset "+variable+" if it is left over")
	}
	seen := "msprof is not around this"
	if v := e.python.Packages["torch_npu"]; v != "" {
		seen += "; torch_npu " + v + " is there: a program that uses torch_npu.profiler cannot be recorded meanwhile, since libmspti serves one"
	}
	return one(id, OK, seen, "")
}
