package report

import (
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestReadMemory: arguments are read in torch's order at once, and in any other all the
// same.
func TestReadMemory(t *testing.T) {
	for _, c := range []struct {
		args  string
		plain bool
		want  memoryArgs
	}{
		{`"Total Reserved": 1098907648, "Total Allocated": 814362112, "Bytes": -512, "Device Id": 0, "Device Type": 1, "Addr": 139754544824320, "finished": false, "Ev Idx": 9316`, true, memoryArgs{memoryKey{1, 0}, 814362112, 1098907648}},
		{`"Total Reserved": 5, "Total Allocated": 4, "Bytes": 3, "Addr": 1, "Device Id": 7, "Device Type": 0, "Ev Idx": 2`, true, memoryArgs{memoryKey{0, 7}, 4, 5}},
		{`"Device Type": 1, "finished": true, "Total Allocated": 4`, true, memoryArgs{memoryKey{1, -1}, 4, -1}},
		{`"Total Allocated": 4, "Device Id": -1, "Device Type": 1`, true, memoryArgs{memoryKey{1, -1}, 4, -1}},
		{`"Bytes": 123456789012345678901234567890, "Total Allocated": 4`, true, memoryArgs{memoryKey{-1, -1}, 4, -1}},
		// The last one counts, behind all that is asked for too.
		{`"Total Reserved": 5, "Total Allocated": 4, "Device Id": 0, "Device Type": 1, "Total Allocated": 9`, true, memoryArgs{memoryKey{1, 0}, 9, 5}},
		{`"Total Reserved": 5, "Total Allocated": 4, "Device Id": 0, "Device Type": 1, "Device Id": 3`, true, memoryArgs{memoryKey{1, 3}, 4, 5}},
		{`"Total Reserved": 5, "Total Allocated": 4, "Device Id": 0, "Device Type": 1, "Addr": "0x7f00"`, true, memoryArgs{memoryKey{1, 0}, 4, 5}},
		{`"Total Allocated": 4, "Total Allocated": true`, true, memoryArgs{memoryKey{-1, -1}, 4, -1}},
		// What torch does not write.
		{`"Total Allocated":4,"Total Reserved":5`, false, memoryArgs{memoryKey{-1, -1}, 4, 5}},
		{`"Addr": "0x7f00", "Total Allocated": "4", "Total Reserved": 5.5`, false, memoryArgs{memoryKey{-1, -1}, 4, -1}},
		{`"a": {"Total Allocated": 3}, "Total Allocated": 4`, false, memoryArgs{memoryKey{-1, -1}, 4, -1}},
		{`"a\": 1, \"Total Allocated": 3, "Total Allocated": 4`, false, memoryArgs{memoryKey{-1, -1}, 4, -1}},
		{`"Total Allocated": 9223372036854775807`, false, memoryArgs{memoryKey{-1, -1}, 9223372036854775807, -1}},
		{`"Total Allocated": 9223372036854775808`, false, noMemory},
		{`"Total Allocated": -`, false, noMemory},
		{``, false, noMemory},
	} {
		a := noMemory
		if plain := a.plain([]byte(c.args)); plain != c.plain {
			t.Errorf("%s: plain is %v", c.args, plain)
		}
		if got := readMemory([]byte(c.args)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.args, got, c.want)
		}
		// Wherever the text ends, what is read at once is what the walk reads.
		for end := range len(c.args) {
			text := []byte(c.args[:end])
			if got := noMemory; got.plain(text) && got != walked(text) {
				t.Errorf("%s: %+v, the walk has %+v", text, got, walked(text))
			}
		}
	}
}

// walked is what a general walk reads.
func walked(args []byte) memoryArgs {
	a := noMemory
	for m := chrome.WalkMembers(args); m.Next(); {
		if v, ok := m.Value.Int(); ok && a.member(m.Key) != nil {
			*a.member(m.Key) = v
		}
	}
	return a
}
