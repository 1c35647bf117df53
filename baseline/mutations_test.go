package baseline

import (
	"encoding/json"
	"fmt"
	"strings"
)

// mutation is one damage, and what is to be found of it.
type mutation struct {
	name    string
	trace   string
	first   string // assertion of the first finding
	subject string // beginning of its subject
	// allowed are assertions that the damage breaks, too, because what they are about
	// follows from it.
	allowed []string
	damage  func(*damaged)
}

func num(x any) json.Number { return json.Number(fmt.Sprint(x)) }

// mutations generates them.
func mutations() (list []mutation) {
	add := func(trace, name, first, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, trace, first, subject, allowed, damage})
	}
	basic := func(name, first, subject string, damage func(*damaged), allowed ...string) {
		add("basic", name, first, subject, damage, allowed...)
	}

	// Categories. What hangs on one goes with it.
	follows := map[string][]string{
		"kernel":       {"operator-work", "launches", "flows", "attribution", "linked", "kernels-dominate", "names", "rows"},
		"gpu_memcpy":   {"operator-work", "launches", "flows", "rows"},
		"gpu_memset":   {"operator-work", "launches", "flows", "rows"},
		"cuda_runtime": {"ids", "flows", "attribution", "rows"},
		"cpu_op":       {"linked", "operator-work", "flows", "rows"},
	}
	for _, cat := range []string{"Trace", "cpu_op", "cuda_runtime", "gpu_memcpy", "gpu_memset", "gpu_user_annotation", "kernel", "user_annotation"} {
		basic("drop category "+cat, "categories", "category:"+cat, func(x *damaged) {
			x.drop(func(e object) bool { return e["cat"] == cat })
		}, follows[cat]...)
	}
	add("comp", "drop category cuda_driver", "categories", "category:cuda_driver", func(x *damaged) {
		x.drop(func(e object) bool { return e["cat"] == "cuda_driver" })
	}, "ids", "flows", "api-names")

	// Arguments: dropped, of another type, on some events only.
	keys := map[string][]string{
		"kernel": {"External id", "block", "blocks per SM", "context", "correlation", "device", "est. achieved occupancy %", "grid", "queued",
			"registers per thread", "shared memory", "stream", "warps per SM"},
		"gpu_memcpy":   {"External id", "bytes", "context", "correlation", "device", "memory bandwidth (GB/s)", "stream"},
		"gpu_memset":   {"External id", "bytes", "context", "correlation", "device", "memory bandwidth (GB/s)", "stream"},
		"cuda_runtime": {"External id", "cbid", "correlation"},
		"cpu_op":       {"External id", "Ev Idx", "Record function id"},
	}
	joins := map[string][]string{
		"correlation": {"ids", "launches", "flows", "attribution", "linked", "values-derived"},
		"External id": {"attribution", "linked", "operator-work"},
	}
	for _, cat := range []string{"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cpu_op"} {
		for _, key := range keys[cat] {
			basic("drop "+key+" of "+cat, "arg-keys", "arg:"+cat+"/"+key, func(x *damaged) {
				x.args(cat, func(_, a object) { delete(a, key) })
			}, joins[key]...)
			basic("text for "+key+" of "+cat, "arg-types", "type:"+cat+"/"+key, func(x *damaged) {
				x.args(cat, func(_, a object) {
					if v, ok := a[key]; ok {
						a[key] = fmt.Sprint("~", v)
					}
				})
			}, append(joins[key], "values-plausible", "values-derived")...)
		}
	}
	for _, key := range []string{"queued", "shared memory", "est. achieved occupancy %", "device"} {
		basic("drop "+key+" of half the kernels", "arg-coverage", "coverage:kernel/"+key, func(x *damaged) {
			n := 0
			x.args("kernel", func(_, a object) {
				if n++; n%2 == 0 {
					delete(a, key)
				}
			})
		})
	}

	// Figures that are not measured.
	for _, c := range []struct {
		cat, key string
		value    any
	}{
		{"kernel", "registers per thread", 32}, {"kernel", "est. achieved occupancy %", "50.0"}, {"kernel", "blocks per SM", 16}, {"kernel", "warps per SM", "4.0"},
		{"kernel", "correlation", 7}, {"kernel", "External id", 7}, {"gpu_memcpy", "bytes", 4096}, {"gpu_memcpy", "memory bandwidth (GB/s)", "1.5"}, {"cuda_runtime", "cbid", 211},
	} {
		first, allowed := "values-constant", []string{"values-derived", "arg-types"}
		switch c.key {
		case "correlation":
			first, allowed = "ids", []string{"launches", "flows", "attribution", "linked", "values-constant", "after-launch", "operator-work"}
		case "External id":
			first, allowed = "operator-work", []string{"attribution", "linked", "values-constant"}
		case "est. achieved occupancy %":
			first, allowed = "arg-types", []string{"values-constant"}
		}
		basic(fmt.Sprintf("%s of %s is always %v", c.key, c.cat, c.value), first, "", func(x *damaged) {
			x.args(c.cat, func(_, a object) { a[c.key] = num(c.value) })
		}, allowed...)
	}
	for _, key := range []string{"grid", "block"} {
		basic(key+" is always [64, 1, 1]", "values-constant", "constant:kernel/"+key, func(x *damaged) {
			x.args("kernel", func(_, a object) { a[key] = []any{num(64), num(1), num(1)} })
		}, "values-derived")
	}
	for _, c := range []struct {
		cat, key string
		value    any
	}{
		{"kernel", "registers per thread", -1}, {"kernel", "est. achieved occupancy %", 250}, {"kernel", "shared memory", -4}, {"kernel", "queued", -9},
		{"gpu_memcpy", "bytes", -5}, {"gpu_memset", "memory bandwidth (GB/s)", "1e9"}, {"cuda_runtime", "cbid", -3},
	} {
		basic(fmt.Sprintf("%s of one %s is %v", c.key, c.cat, c.value), "values-plausible", "", func(x *damaged) {
			done := false
			x.args(c.cat, func(_, a object) {
				if !done {
					a[c.key], done = num(c.value), true
				}
			})
		}, "values-derived")
	}
	basic("a block of 2048 x 2048 threads", "values-plausible", "", func(x *damaged) {
		done := false
		x.args("kernel", func(_, a object) {
			if !done {
				a["block"], done = []any{num(2048), num(2048), num(1)}, true
			}
		})
	}, "values-derived")
	for _, c := range [][2]string{{"blocks per SM", "kernel"}, {"warps per SM", "kernel"}, {"memory bandwidth (GB/s)", "gpu_memcpy"}} {
		basic(c[0]+" is doubled", "values-derived", "", func(x *damaged) {
			x.args(c[1], func(_, a object) { a[c[0]] = num(number(a[c[0]]) * 2) })
		})
	}
	for _, c := range [][3]string{{"kernel", "warps per SM", "blocks per SM"}, {"kernel", "shared memory", "registers per thread"}} {
		basic(c[1]+" is a copy of "+c[2], "values-copied", "copied:", func(x *damaged) {
			x.args(c[0], func(_, a object) { a[c[1]] = a[c[2]] })
		}, "values-derived")
	}

	// The two ids.
	swap := func(a object) {
		if a["External id"] != nil && a["correlation"] != nil {
			a["External id"], a["correlation"] = a["correlation"], a["External id"]
		}
	}
	idsFollow := []string{"attribution", "linked", "flows", "launches", "operator-work", "after-launch"}
	basic("swap the two ids", "ids", "measure:", func(x *damaged) {
		x.onDevice(func(_, a object) { swap(a) })
		x.args("cuda_runtime", func(_, a object) { swap(a) })
	}, idsFollow...)
	add("train", "swap the two ids of device work", "ids", "measure:call-of-work", func(x *damaged) {
		x.onDevice(func(_, a object) { swap(a) })
	}, idsFollow...)
	basic("correlation of device work is another's", "ids", "measure:call-of-work", func(x *damaged) {
		x.onDevice(func(_, a object) { a["correlation"] = num(integer(a["correlation"]) + 100000) })
	}, idsFollow...)
	basic("correlation of one kernel is unknown", "ids", "measure:call-of-work", func(x *damaged) {
		done := false
		x.args("kernel", func(_, a object) {
			if !done {
				a["correlation"], done = num(999999), true
			}
		})
	}, idsFollow...)
	basic("all API calls have one correlation id", "ids", "measure:ids-unique", func(x *damaged) {
		x.args("cuda_runtime", func(_, a object) { a["correlation"] = num(7) })
	}, append(idsFollow, "values-constant")...)

	list = append(list, flowMutations()...)
	list = append(list, nameMutations()...)
	list = append(list, operatorMutations()...)
	list = append(list, timeMutations()...)
	list = append(list, documentMutations()...)
	return list
}

// flowMutations damage arrows.
func flowMutations() (list []mutation) {
	add := func(trace, name, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, trace, "flows", subject, allowed, damage})
	}
	ends := func(x *damaged, ph string, f func(e object)) { x.each(ph, "ac2g", f) }
	// calls are the ids of arrows that end at kernels.
	launched := func(x *damaged) map[string]bool {
		ids := map[string]bool{}
		x.args("kernel", func(_, a object) { ids[fmt.Sprint(a["correlation"])] = true })
		return ids
	}
	add("basic", "drop all arrows to device work", "flow:ac2g", func(x *damaged) { x.drop(func(e object) bool { return e["cat"] == "ac2g" }) })
	add("basic", "drop all starts of arrows", "", func(x *damaged) { x.drop(func(e object) bool { return e["cat"] == "ac2g" && e["ph"] == "s" }) })
	add("basic", "drop all ends of arrows", "", func(x *damaged) { x.drop(func(e object) bool { return e["cat"] == "ac2g" && e["ph"] == "f" }) })
	add("basic", "drop one start of an arrow", "measure:arrow-of-work", func(x *damaged) {
		ids, done := launched(x), false
		x.drop(func(e object) bool {
			if done || e["cat"] != "ac2g" || e["ph"] != "s" || !ids[fmt.Sprint(e["id"])] {
				return false
			}
			done = true
			return true
		})
	})
	add("basic", "drop one end of an arrow", "measure:arrow-of-work", func(x *damaged) {
		pid, done := "0", false
		x.drop(func(e object) bool {
			if done || e["cat"] != "ac2g" || e["ph"] != "f" || fmt.Sprint(e["pid"]) != pid {
				return false
			}
			done = true
			return true
		})
	})
	add("basic", "other ids at starts of arrows", "measure:arrow-attached", func(x *damaged) {
		ends(x, "s", func(e object) { e["id"] = num(integer(e["id"]) + 1000000) })
	})
	add("basic", "arrows end beside their work", "measure:arrow-attached", func(x *damaged) {
		ends(x, "f", func(e object) {
			if fmt.Sprint(e["pid"]) == "0" {
				e["ts"] = num(fmt.Sprintf("%.3f", number(e["ts"])+3000))
			}
		})
	})
	add("basic", "arrows run backwards", "", func(x *damaged) {
		x.each("", "ac2g", func(e object) {
			if e["ph"] == "s" {
				e["ph"], e["bp"] = "f", "e"
			} else {
				e["ph"] = "s"
				delete(e, "bp")
			}
		})
	})
	add("comp", "drop all arrows from forward to backward", "flow:fwdbwd", func(x *damaged) { x.drop(func(e object) bool { return e["cat"] == "fwdbwd" }) })
	add("comp", "drop starts of arrows from forward to backward", "flow:fwdbwd/paired", func(x *damaged) {
		x.drop(func(e object) bool { return e["cat"] == "fwdbwd" && e["ph"] == "s" })
	})
	return list
}

// nameMutations damage names of kernels and API calls.
func nameMutations() (list []mutation) {
	add := func(name, first, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, "basic", first, subject, allowed, damage})
	}
	add("mangle kernels' names", "names", "measure:names-demangled", func(x *damaged) {
		x.each("X", "kernel", func(e object) { e["name"] = "_ZN2at6native" + fmt.Sprint(len(e["name"].(string))) + "kernelEv" })
	})
	add("mangle one kernel's name", "names", "measure:names-demangled", func(x *damaged) {
		done := false
		x.each("X", "kernel", func(e object) {
			if !done {
				e["name"], done = "_ZN2at6native29vectorized_elementwise_kernelEv", true
			}
		})
	})
	add("kernels' names without scopes", "names", "measure:names-scoped", func(x *damaged) {
		x.each("X", "kernel", func(e object) { e["name"] = strings.ReplaceAll(e["name"].(string), "::", "_") })
	})
	for _, name := range []string{"cudaRuntime", "AscendRuntime", "Unknown"} {
		add("all API calls are "+name, "api-names", "measure:names-real", func(x *damaged) {
			x.each("X", "cuda_runtime", func(e object) { e["name"] = name })
		}, "launches")
	}
	add("every tenth API call is cudaRuntime", "api-names", "measure:names-real", func(x *damaged) {
		n := 0
		x.each("X", "cuda_runtime", func(e object) {
			if n++; n%10 == 0 {
				e["name"] = "cudaRuntime"
			}
		})
	})
	add("all API calls have one name", "api-names", "calls:variety", func(x *damaged) {
		x.each("X", "cuda_runtime", func(e object) { e["name"] = "api_call" })
	}, "launches")
	add("rename one API call", "api-names", "call:cudaMemcpyAsync", func(x *damaged) {
		x.each("X", "cuda_runtime", func(e object) {
			if e["name"] == "cudaMemcpyAsync" {
				e["name"] = "cudaMemcpyAsync_ptsz_v3020"
			}
		})
	})
	return list
}

// operatorMutations damage what belongs to operators.
func operatorMutations() (list []mutation) {
	add := func(name, first, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, "basic", first, subject, allowed, damage})
	}
	ids := func(x *damaged, op string) map[string]bool {
		m := map[string]bool{}
		x.args("cpu_op", func(e, a object) {
			if e["name"] == op {
				m[fmt.Sprint(a["External id"])] = true
			}
		})
		return m
	}
	for _, op := range []string{"aten::mm", "aten::_softmax"} {
		add("rename "+op, "operators", "operator:"+op, func(x *damaged) {
			x.each("X", "cpu_op", func(e object) {
				if e["name"] == op {
					e["name"] = "other::" + op
				}
			})
		})
		add("detach the kernels of "+op, "attribution", "operator:"+op, func(x *damaged) {
			of := ids(x, op)
			x.args("kernel", func(_, a object) {
				if of[fmt.Sprint(a["External id"])] {
					delete(a, "External id")
				}
			})
		}, "linked", "arg-coverage")
		add("drop the kernels of "+op, "operator-work", "work:"+op, func(x *damaged) {
			of := ids(x, op)
			x.drop(func(e object) bool {
				a, _ := e["args"].(object)
				return e["cat"] == "kernel" && of[fmt.Sprint(a["External id"])]
			})
		}, "launches", "flows")
		add("give the kernels of "+op+" to another operator", "operator-work", "work:"+op, func(x *damaged) {
			of, other := ids(x, op), ids(x, "aten::randn")
			var to string
			for id := range other {
				to = max(to, id)
			}
			x.args("kernel", func(_, a object) {
				if of[fmt.Sprint(a["External id"])] {
					a["External id"] = json.Number(to)
				}
			})
		}, "attribution")
	}
	add("device work names operators that are not there", "attribution", "operator:", func(x *damaged) {
		x.onDevice(func(_, a object) {
			if id := a["External id"]; id != nil {
				a["External id"] = num(integer(id) + 500000)
			}
		})
	}, "linked")
	add("drop one kernel", "launches", "measure:work-of-launch", func(x *damaged) {
		n := 0
		x.drop(func(e object) bool {
			if e["cat"] != "kernel" {
				return false
			}
			n++
			return n == 12
		})
	}, "flows")
	return list
}

// timeMutations damage times.
func timeMutations() (list []mutation) {
	add := func(name, first, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, "basic", first, subject, allowed, damage})
	}
	// shift moves device work, and the arrows' ends on it.
	shift := func(x *damaged, us float64) {
		x.each("", "", func(e object) {
			if e["ph"] != "M" && fmt.Sprint(e["pid"]) == "0" {
				e["ts"] = num(fmt.Sprintf("%.3f", number(e["ts"])+us))
			}
		})
	}
	add("device work an hour late", "window", "measure:in-window", func(x *damaged) { shift(x, 3600e6) })
	add("device work an hour early", "after-launch", "measure:after-launch", func(x *damaged) { shift(x, -3600e6) }, "window")
	add("device work 5 ms early", "after-launch", "measure:after-launch", func(x *damaged) { shift(x, -5000) }, "window")
	add("half a window", "window", "measure:in-window", func(x *damaged) {
		x.each("X", "Trace", func(e object) { e["dur"] = num(fmt.Sprintf("%.3f", number(e["dur"])/2)) })
	})
	add("kernels take no time", "durations", "measure:takes-time", func(x *damaged) {
		x.each("X", "kernel", func(e object) { e["dur"] = num(0) })
	}, "attribution", "kernels-dominate")
	add("one kernel takes no time", "durations", "measure:takes-time", func(x *damaged) {
		done := false
		x.each("X", "kernel", func(e object) {
			if !done {
				e["dur"], done = num(0), true
			}
		})
	})
	for _, cat := range []string{"kernel", "gpu_memcpy", "cuda_runtime"} {
		add("all "+cat+" take 1.5 us", "durations", "duration:"+cat, func(x *damaged) {
			x.each("X", cat, func(e object) { e["dur"] = num("1.500") })
		}, "values-derived", "attribution", "flows")
	}
	list = append(list, mutation{"kernels take a hundredth of their time", "train", "kernels-dominate", "measure:kernels-dominate", nil, func(x *damaged) {
		x.each("X", "kernel", func(e object) { e["dur"] = num(fmt.Sprintf("%.3f", number(e["dur"])/100)) })
	}})
	return list
}

// documentMutations damage what is around the events.
func documentMutations() (list []mutation) {
	add := func(trace, name, first, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, trace, first, subject, allowed, damage})
	}
	meta := func(x *damaged, name string, device bool, f func(args object)) {
		x.each("M", "", func(e object) {
			if e["name"] == name && (fmt.Sprint(e["pid"]) == "0") == device {
				f(e["args"].(object))
			}
		})
	}
	add("basic", "rows of streams without names", "rows", "measure:rows-named", func(x *damaged) {
		x.drop(func(e object) bool { return e["name"] == "thread_name" && fmt.Sprint(e["pid"]) == "0" })
	})
	add("basic", "rows of streams of other names", "rows", "row:stream", func(x *damaged) {
		meta(x, "thread_name", true, func(a object) { a["name"] = "queue of work" })
	})
	add("basic", "devices without labels", "rows", "measure:processes-labelled", func(x *damaged) {
		x.drop(func(e object) bool { return e["name"] == "process_labels" && fmt.Sprint(e["pid"]) == "0" })
	})
	add("basic", "devices with other labels", "rows", "row:device label", func(x *damaged) {
		meta(x, "process_labels", true, func(a object) { a["labels"] = "accelerator" })
	})
	for _, key := range []string{"deviceProperties", "schemaVersion", "displayTimeUnit"} {
		add("basic", "no "+key, "metadata", "member:"+key, func(x *damaged) { delete(x.doc, key) })
	}
	add("ddp.rank0", "no distributedInfo", "metadata", "member:distributedInfo", func(x *damaged) { delete(x.doc, "distributedInfo") })
	add("basic", "schemaVersion is text", "metadata", "member:schemaVersion", func(x *damaged) { x.doc["schemaVersion"] = "1" })
	for _, key := range []string{"numSms", "warpSize", "name"} {
		add("basic", "devices do not tell "+key, "metadata", "device:"+key, func(x *damaged) {
			for _, d := range x.doc["deviceProperties"].([]any) {
				delete(d.(object), key)
			}
		})
	}
	return list
}
