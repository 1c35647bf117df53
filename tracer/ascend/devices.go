package ascend

import (
	"strconv"
	"strings"
)

// EnvVisible numbers the machine's devices for a program: the first it names is the
// program's device 0.
const EnvVisible = "ASCEND_RT_VISIBLE_DEVICES"

// logicalDevices reads the variable: logical number by that of the machine. nil is one
// for one; so is a value that is not a list of numbers.
func logicalDevices(value string) map[uint32]uint32 {
	if strings.TrimSpace(value) == "" {
		return nil
	}
	m := map[uint32]uint32{}
	for i, s := range strings.Split(value, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
		if err != nil {
			return nil
		}
		if _, twice := m[uint32(n)]; !twice {
			m[uint32(n)] = uint32(i)
		}
	}
	return m
}
