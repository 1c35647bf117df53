package repair

import "strings"

// words say what the keys of Repaired and Remaining stand for.
var words = map[string]string{
	"absolute_times":          "times since the Unix epoch made relative to baseTimeNanoseconds",
	"bad_duration":            "durations negative or missing, taken as 0",
	"bad_escape":              "backslashes that escaped nothing",
	"bad_id":                  "arrows without an id left out",
	"bad_member":              "top-level members that could not be read left out",
	"bad_number":              "values that are no JSON number made text",
	"bad_time":                "times that are no time: the event left out, or its end set",
	"bad_utf8":                "bytes that are not UTF-8 replaced",
	"begin_no_end":            "begins without an end, taken to last to the end of the trace",
	"begins_and_ends_joined":  "pairs of begin and end written as spans",
	"byte_order_mark":         "a byte order mark removed",
	"calls_named":             "API calls named by their callback id",
	"comma":                   "commas added or removed",
	"compressed_data":         "compressed data that ends early: what could be read of it kept",
	"control_character":       "raw control characters escaped",
	"device_times_shifted":    "events of devices shifted, so that work begins after its launch",
	"duplicate_key":           "keys that stood twice: the last kept",
	"durations_cut":           "spans that ran into the next cut there",
	"end_name":                "ends joined to begins of another name",
	"end_no_begin":            "ends without a begin left out",
	"end_order":               "ends that closed a span that was not the innermost",
	"flows_paired":            "arrows given their other end",
	"flows_removed":           "ends of arrows without the other removed",
	"id_as_text":              "pids or tids that were quoted numbers",
	"moved_to_sub_row":        "spans that overlapped others of their row moved to a sub-row",
	"names_demangled":         "kernels' symbols made C++ names",
	"no_events":               "a list of events added",
	"row_renamed":             "second names of rows or processes: the last kept",
	"time_as_text":            "times that were strings made numbers",
	"time_rounded":            "times rounded to nanoseconds",
	"trailing_data":           "text behind the document removed",
	"truncated":               "an event or member that was cut off removed",
	"unclosed":                "closing brackets added",
	"unescaped_quote":         "quotes inside strings escaped",
	"unknown_phase":           "events without a phase left out",
	"unreadable_event":        "text that is no event left out",
	"waits_moved_to_sync_row": "waits drawn over the work that they wait for moved to a row of their own",

	RemainingBeforeLaunch: "device work before its launch that no shift of its device's clock explains",
	RemainingNames:        "kernels' symbols that are no C++ names",
	RemainingUnnamed:      "API calls whose callback id is in no table",
	RemainingOverlaps:     "spans that overlap others of their row",
	RemainingLost:         "events that could not be read and are not in the trace",
	RemainingTruncated:    "the file ends early: what stood behind is missing",
	RemainingFlows:        "arrows that begin twice: two have one id",
	RemainingMembers:      "top-level members that are not in the trace",
	RemainingStamps:       "times that are not since the Unix epoch, among times that are; left as they stood",
}

// Words says what a key of Repaired or Remaining stands for.
func Words(key string) string {
	if s, ok := words[key]; ok {
		return s
	}
	return strings.ReplaceAll(key, "_", " ")
}
