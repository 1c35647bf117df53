package record

import (
	"bufio"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// awaitInterval is how often AwaitSlices looks.
const awaitInterval = 20 * time.Millisecond

// AwaitSlices waits until the operators that a process is recording now, beside
// its spool, are written: it writes them when it has been asked for a snapshot, as
// soon as the program lets it. False if they are not by the deadline.
func AwaitSlices(spool string, deadline time.Time) bool {
	n := openSlice(spool)
	for n > 0 && openSlice(spool) == n {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(awaitInterval)
	}
	return true
}

// openSlice returns the number of the last slice if it is not written yet, else 0.
// A file it cannot read is taken for one that has nothing to wait for.
func openSlice(spool string) int {
	files := findHostFiles(spool)
	owner, ok := ownerOf(spool)
	if files.status == "" || !ok {
		return 0
	}
	f, _, err := openHostFile(files.status, owner, maxStatus)
	if err != nil {
		return 0
	}
	defer f.Close()
	last := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var l statusLine
		if !strings.Contains(s.Text(), `"n":`) || json.Unmarshal(s.Bytes(), &l) != nil || l.N < last || l.N > math.MaxInt32 {
			continue
		}
		switch {
		case l.What == "open":
			last = l.N
		case l.What == "close" && l.N == last:
			last = 0
		}
	}
	return last
}
