package baseline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

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
	exchange := func(a, b object) {
		for _, key := range []string{"pid", "tid", "ts"} {
			a[key], b[key] = b[key], a[key]
		}
	}
	for _, ph := range []string{"s", "f"} {
		add("comp", "exchange two ends ("+ph+") of arrows from forward to backward", "measure:arrow-sequence", func(x *damaged) {
			var ends []object
			x.each(ph, "fwdbwd", func(e object) { ends = append(ends, e) })
			exchange(ends[0], ends[1])
		})
	}
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
	for _, trace := range []string{"basic", "comp"} { // the second has driver calls, too
		list = append(list, mutation{"all runtime calls of " + trace + " have other names", trace, "api-names", "calls:lost", []string{"launches"}, func(x *damaged) {
			x.args("cuda_runtime", func(e, a object) { e["name"] = fmt.Sprint("API_", a["cbid"]) })
		}})
	}
	for _, name := range []string{"kernel", "a::kernel"} {
		add("all kernels have the name "+name, "names", "kernels:variety", func(x *damaged) {
			x.each("X", "kernel", func(e object) { e["name"] = name })
		}, "values-constant")
	}
	for _, trace := range []string{"basic", "comp", "train"} {
		list = append(list, mutation{"kernels of " + trace + " have each other's names", trace, "operator-work", "work:exchanged", nil, func(x *damaged) {
			next := map[string]string{}
			var names []string
			x.each("X", "kernel", func(e object) {
				if name := e["name"].(string); next[name] == "" {
					next[name] = name
					names = append(names, name)
				}
			})
			for i, name := range names {
				next[name] = names[(i+1)%len(names)]
			}
			x.each("X", "kernel", func(e object) { e["name"] = next[e["name"].(string)] })
		}})
	}
	list = append(list, mutation{"names of kernels at random", "train", "operator-work", "work:exchanged", nil, func(x *damaged) {
		var names []any
		x.each("X", "kernel", func(e object) { names = append(names, e["name"]) })
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		i := 0
		x.each("X", "kernel", func(e object) { e["name"] = names[i]; i++ })
	}})
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
	list = append(list, mutation{"kernels take a thousand times their time", "train", "durations", "measure:in-turn", []string{"flows"}, func(x *damaged) {
		x.each("X", "kernel", func(e object) { e["dur"] = num(fmt.Sprintf("%.3f", number(e["dur"])*1000)) })
		x.each("X", "Trace", func(e object) { e["dur"] = num(fmt.Sprintf("%.3f", number(e["dur"])*10)) })
	}})
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
