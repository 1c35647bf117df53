package baseline

import (
	"encoding/json"
	"fmt"
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

	// Arrays of another length, or of something else.
	for _, key := range []string{"grid", "block"} {
		shorter := func(v any) any { return v.([]any)[:2] }
		for what, f := range map[string]func(any) any{"has two elements": shorter, "has text for elements": func(v any) any {
			a := v.([]any)
			return []any{fmt.Sprint(a[0]), fmt.Sprint(a[1]), fmt.Sprint(a[2])}
		}} {
			basic(key+" "+what, "arg-types", "type:kernel/"+key, func(x *damaged) {
				x.args("kernel", func(_, a object) { a[key] = f(a[key]) })
			}, "values-derived", "values-plausible")
		}
		basic(key+" of one kernel has two elements", "arg-types", "type:kernel/"+key, func(x *damaged) {
			done := false
			x.args("kernel", func(_, a object) {
				if !done {
					a[key], done = shorter(a[key]), true
				}
			})
		}, "values-derived", "values-plausible")
	}
	basic("times are text", "arg-types", "type:ts", func(x *damaged) {
		x.each("", "", func(e object) {
			for _, key := range []string{"ts", "dur"} {
				if v, ok := e[key]; ok {
					e[key] = fmt.Sprint(v)
				}
			}
		})
	})

	// Where work ran.
	basic("kernels name a device that is not described", "places", "measure:", func(x *damaged) {
		x.args("kernel", func(_, a object) { a["device"] = num(5) })
	})
	basic("kernels and their rows are of a device that is not described", "places", "measure:device-described", func(x *damaged) {
		x.onDevice(func(e, a object) { a["device"] = num(5) })
		for _, v := range x.events {
			if e := v.(object); fmt.Sprint(e["pid"]) == "0" {
				e["pid"] = num(5)
			}
		}
	}, "flows", "rows")
	basic("the stream of one kernel is not its row's", "places", "measure:row-of-place", func(x *damaged) {
		done := false
		x.args("kernel", func(_, a object) {
			if !done {
				a["stream"], done = num(integer(a["stream"])+1), true
			}
		})
	})
	basic("device work stands on the rows of another device", "places", "measure:row-of-place", func(x *damaged) {
		for _, v := range x.events {
			if e := v.(object); fmt.Sprint(e["pid"]) == "0" {
				e["pid"] = num(3)
			}
		}
	}, "rows", "flows")
	basic("a small bandwidth of no bytes", "values-derived", "measure:derived", func(x *damaged) {
		done := false
		x.args("gpu_memcpy", func(_, a object) {
			if !done {
				a["bytes"], a["memory bandwidth (GB/s)"], done = num(0), num("0.0004464285714285714"), true
			}
		})
	})

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
	list = append(list, lostMutations()...)
	list = append(list, twiceMutations()...)
	list = append(list, factMutations()...)
	return list
}
