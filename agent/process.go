package agent

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
	"golang.org/x/sys/unix"
)

// process is who the agent lives in.
type process struct {
	pid, ppid int
	start     string // start time of the process in clock ticks since boot, as /proc has it
	name      string
	host      string
	env       map[string]string
}

// deviceVariables number the devices of a process otherwise than the machine does, which
// some libraries' records go by.
var deviceVariables = []string{"ASCEND_RT_VISIBLE_DEVICES"}

// rankVariables are what launchers of distributed programs set.
var rankVariables = []string{"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"}

func readProcess(getenv func(string) string) process {
	p := process{pid: unix.Getpid(), ppid: unix.Getppid(), start: "0", env: map[string]string{}}
	if stat, err := guest.ReadFile("/proc/self/stat"); err == nil {
		if s, ok := startTime(string(stat)); ok {
			p.start = s
		}
	}
	if cmd, err := guest.ReadFile("/proc/self/cmdline"); err == nil {
		arg0, _, _ := strings.Cut(string(cmd), "\x00")
		p.name = path.Base(arg0)
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		p.host = unix.ByteSliceToString(u.Nodename[:])
	}
	for _, v := range slices.Concat(rankVariables, deviceVariables) {
		if s := getenv(v); s != "" {
			p.env[v] = s
		}
	}
	return p
}

// startTime takes field 22 out of /proc/<pid>/stat, whose second field, the
// name in parentheses, may hold anything.
func startTime(stat string) (string, bool) {
	i := strings.LastIndexByte(stat, ')')
	if i < 0 {
		return "", false
	}
	fields := strings.Fields(stat[i+1:])
	if len(fields) < 20 {
		return "", false
	}
	if _, err := strconv.ParseUint(fields[19], 10, 64); err != nil {
		return "", false
	}
	return fields[19], true
}

// base is the base name of the files of this process.
func (p process) base() string { return fmt.Sprintf("%d.%s", p.pid, p.start) }

func (p process) header(version string, now int64, o tracer.Options) spool.Header {
	return spool.Header{
		Agent: version, PID: p.pid, PPID: p.ppid, Process: p.name, Host: p.host,
		StartNS: now, Options: o, Requested: []string{}, Env: p.env,
	}
}
