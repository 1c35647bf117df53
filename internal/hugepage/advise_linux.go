package hugepage

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// usual is the size of large pages that are asked for, bytes.
const usual = "2097152"

// given says whether the system has large pages of the usual size.
var given = sync.OnceValue(func() bool {
	size, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
	return err == nil && strings.TrimSpace(string(size)) == usual
})

// advise ignores errors: parts of the range that the heap has not grown over yet are
// among them (ENOMEM), and the rest is advised all the same.
func advise(address, size uintptr) {
	if !given() {
		return
	}
	begin, end := around(address, size)
	unix.Syscall(unix.SYS_MADVISE, begin, end-begin, unix.MADV_HUGEPAGE)
}
