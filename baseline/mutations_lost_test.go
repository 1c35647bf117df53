package baseline

import (
	"fmt"
	"maps"
	"strings"
)

// lostMutations damage most of something, not all: names, figures, ids.
func lostMutations() (list []mutation) {
	add := func(trace, name, first, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, trace, first, subject, allowed, damage})
	}
	// nine of ten kernels
	most := func(x *damaged, f func(e, args object)) {
		n := 0
		x.args("kernel", func(e, a object) {
			if n++; n%10 != 0 {
				f(e, a)
			}
		})
	}
	for _, trace := range []string{"comp", "train"} {
		add(trace, "nine of ten kernels of "+trace+" have no name", "names", "measure:kernels-named", func(x *damaged) {
			most(x, func(e, _ object) { e["name"] = "" })
		})
		add(trace, "nine of ten kernels of "+trace+" are kernel", "names", "kernels:one-name", func(x *damaged) {
			most(x, func(e, _ object) { e["name"] = "kernel" })
		})
		add(trace, "every third kernel of "+trace+" is kernel", "names", "kernels:one-name", func(x *damaged) {
			n := 0
			x.each("X", "kernel", func(e object) {
				if n++; n%3 == 0 {
					e["name"] = "kernel"
				}
			})
		})
		add(trace, "nine of ten occupancies of "+trace+" are 50", "values-constant", "constant:kernel/est. achieved occupancy %", func(x *damaged) {
			most(x, func(_, a object) { a["est. achieved occupancy %"] = num(50) })
		})
	}
	add("train", "nine of ten kernels of train have one name that looks like one", "names", "kernels:one-name", func(x *damaged) {
		most(x, func(e, _ object) { e["name"] = "void ns::thing<float>(int)" })
	})
	add("basic", "one kernel has no name", "names", "measure:kernels-named", func(x *damaged) {
		done := false
		x.each("X", "kernel", func(e object) {
			if !done {
				e["name"], done = "", true
			}
		})
	})
	add("ddp.rank0", "all collectives have one name", "values-constant", "constant:", func(x *damaged) {
		for _, cat := range []string{"kernel", "cpu_op"} {
			x.args(cat, func(_, a object) {
				if a["Collective name"] != nil {
					a["Collective name"] = "x"
				}
			})
		}
	})
	for _, to := range []string{"mu", "hip", "aclrt"} {
		add("basic", "API calls are named as "+to+"'s", "api-names", "calls:vendor", func(x *damaged) {
			x.each("X", "cuda_runtime", func(e object) { e["name"] = to + strings.TrimPrefix(e["name"].(string), "cuda") })
		}, "launches")
	}
	add("basic", "API calls are named as hip's, and what ROCm does not tell is gone", "arg-keys", "arg:kernel/", func(x *damaged) {
		x.each("X", "cuda_runtime", func(e object) { e["name"] = "hip" + strings.TrimPrefix(e["name"].(string), "cuda") })
		x.args("kernel", func(_, a object) { delete(a, "registers per thread"); delete(a, "est. achieved occupancy %") })
	}, "api-names", "launches")
	add("basic", "all API calls are cudaLaunchKernel", "api-names", "calls:variety", func(x *damaged) {
		for _, cat := range []string{"cuda_runtime", "cuda_driver"} {
			x.each("X", cat, func(e object) { e["name"] = "cudaLaunchKernel" })
		}
	}, "launches")
	for _, trace := range []string{"basic", "comp", "train"} {
		add(trace, "External ids of runtime calls of "+trace+" are one more", "linked", "measure:call-nested", func(x *damaged) {
			x.args("cuda_runtime", func(_, a object) {
				if a["External id"] != nil {
					a["External id"] = num(integer(a["External id"]) + 1)
				}
			})
		})
	}
	for _, trace := range []string{"comp", "train"} {
		add(trace, "arrows from forward to backward of "+trace+" run backwards", "flows", "measure:arrow-sequence", func(x *damaged) {
			to := map[any]any{"s": "f", "f": "s"}
			x.each("", "fwdbwd", func(e object) { e["ph"] = to[e["ph"]] })
		})
		add(trace, "no forward thread is named in "+trace, "flows", "measure:backward-thread", func(x *damaged) {
			x.args("cpu_op", func(_, a object) {
				if a["Fwd thread id"] != nil {
					a["Fwd thread id"] = num(0)
				}
			})
		})
	}
	add("basic", "copies are all Memcpy", "names", "copies:direction", func(x *damaged) {
		x.each("X", "gpu_memcpy", func(e object) { e["name"] = "Memcpy" })
	})
	add("basic", "copies to the device are from it", "names", "copies:direction", func(x *damaged) {
		x.each("X", "gpu_memcpy", func(e object) { e["name"] = strings.Replace(e["name"].(string), "HtoD", "DtoH", 1) })
	})
	add("basic", "ids of arrows are text", "flows", "flow:ac2g", func(x *damaged) {
		x.each("", "ac2g", func(e object) { e["id"] = fmt.Sprint(e["id"]) })
	})
	return list
}

// twiceMutations write events twice, or without lengths.
func twiceMutations() (list []mutation) {
	add := func(name, first, subject string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, "comp", first, subject, allowed, damage})
	}
	again := func(cat string) func(*damaged) {
		return func(x *damaged) {
			var more []any
			x.each("X", cat, func(e object) { more = append(more, maps.Clone(e)) })
			x.events = append(x.events, more...)
		}
	}
	add("every operator twice", "operators", "measure:operators-once", again("cpu_op"), "attribution")
	add("every kernel twice", "ids", "measure:work-once", again("kernel"), "flows", "attribution")
	add("operators last no time", "durations", "duration:cpu_op", func(x *damaged) {
		x.each("X", "cpu_op", func(e object) { e["dur"] = num(0) })
	})
	add("a few kernels have negative lengths", "durations", "measure:takes-time", func(x *damaged) {
		n := 0
		x.each("X", "kernel", func(e object) {
			if n++; n <= 5 {
				e["dur"] = num("-" + fmt.Sprint(e["dur"]))
			}
		})
	}, "attribution")
	return list
}

// factMutations make the document say what cannot be.
func factMutations() (list []mutation) {
	add := func(trace, name string, damage func(*damaged), allowed ...string) {
		list = append(list, mutation{name, trace, "metadata", "measure:facts", allowed, damage})
	}
	add("basic", "all properties of devices are 0", func(x *damaged) {
		for _, v := range x.doc["deviceProperties"].([]any) {
			for key, old := range v.(object) {
				if _, text := old.(string); !text && key != "id" {
					v.(object)[key] = num(0)
				}
			}
		}
	})
	add("ddp.rank0", "a world of none", func(x *damaged) { x.doc["distributedInfo"].(object)["world_size"] = num(0) })
	add("ddp.rank0", "a rank that the world does not have", func(x *damaged) { x.doc["distributedInfo"].(object)["rank"] = num(7) })
	add("basic", "times are relative to nothing", func(x *damaged) { x.doc["baseTimeNanoseconds"] = num(0) })
	return list
}
