package record

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// leftBehind lists the processes that still run with the settings of this
// recording and have no spool in known: the agent would find no folder for one.
// Those of other users cannot be seen.
func leftBehind(dir string, known map[string]int64) []Idle {
	if dir == "" {
		return nil
	}
	recording := map[string]bool{}
	for path := range known {
		pid, _, _ := strings.Cut(filepath.Base(path), ".")
		recording[pid] = true
	}
	setting := []byte(envDir + "=" + dir)
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is good
	var left []Idle
	for _, path := range environs {
		proc := filepath.Dir(path)
		id := filepath.Base(proc)
		env, err := os.ReadFile(path)
		if err != nil || recording[id] {
			continue
		}
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			if bytes.Equal(kv, setting) {
				pid, _ := strconv.Atoi(id)
				name, _ := os.ReadFile(filepath.Join(proc, "comm")) // absent if it has just ended
				left = append(left, Idle{PID: pid, Process: strings.TrimSuffix(string(name), "\n")})
				break
			}
		}
	}
	return left
}
