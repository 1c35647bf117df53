package correlate

import "testing"

func TestCollectiveArgs(t *testing.T) {
	const five = `"dtype": "Float", "Group size": 8, "Collective name": "a", "In msg nelems": 1, "Out msg nelems": 2`
	const fiveOrdered = `"Collective name": "a", "In msg nelems": 1, "Out msg nelems": 2, "Group size": 8, "dtype": "Float"`
	for in, want := range map[string]string{
		"":   "",
		five: fiveOrdered,
		`"Collective name": "a", "dtype": "Float"`:                                 "",
		five + `, "In split size": "[]"`:                                           fiveOrdered,
		`"Out split size": "[1]", "In split size": "[]"`:                           `"In split size": "[]", "Out split size": "[1]"`,
		`"Comms Id": 18446744073709551615, "Src Rank": 1, "Seq": 2, "Ev Idx": 3`:   `"Src Rank": 1, "Seq": 2, "Comms Id": 18446744073709551615`,
		`"Process Group Ranks": "[0, 1]", "Process Group Name": "0", "Rank": 0`:    `"Process Group Name": "0", "Process Group Ranks": "[0, 1]"`,
		`"Output Tensors start": [[1]], "Input Tensors start": [[2]], "x": "y\"z"`: `"Input Tensors start": [[2]], "Output Tensors start": [[1]]`,
	} {
		if got := string(CollectiveArgs([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
