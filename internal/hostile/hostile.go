package hostile

import (
	"bytes"
	"fmt"
	"iter"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// Bound is what reading 10 MB made to be hard may take beside the text, bytes.
const Bound = 200 << 20

// Size is that of each document, bytes.
const Size = 10 << 20

// Documents yields documents of Size bytes by what is in them, broken ones and such as
// are strict JSON; few of them if it has to be short.
func Documents(short bool) iter.Seq2[string, []byte] {
	same := func(before, part, after string) func() []byte {
		return func() []byte {
			return []byte(before + strings.Repeat(part, (Size-len(before)-len(after))/len(part)) + after)
		}
	}
	each := func(before, part, after string) func() []byte {
		return func() []byte {
			var b bytes.Buffer
			b.WriteString(before)
			for i := 1; b.Len()+2*len(part) < Size; i++ {
				b.WriteString(strings.ReplaceAll(part, "#", fmt.Sprint(i)))
			}
			b.WriteString(after)
			return b.Bytes()
		}
	}
	list := []struct {
		name string
		text func() []byte
	}{
		{"tiny events", same(`[`, `{"ph":"i","ts":0},`, `{}]`)},
		{"nothing", same(`[`, `{},`, `{}]`)},
		{"open string", same(`[{"ph":"X","name":"`, `x`, ``)},
		{"one string", same(`[{"ph":"X","ts":1,"dur":1,"name":"`, `x`, `"}]`)},
		{"open array", same(`[{"ph":"X","a":[`, `1,`, ``)},
		{"open brackets", same(`[`, `[`, ``)},
		{"deep arrays", func() []byte {
			n := Size/2 - 30
			return []byte(`[{"ph":"X","args":{"a":` + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + `}}]`)
		}},
		{"deep objects", func() []byte {
			n := Size/7 - 10
			return []byte(`[{"ph":"X","args":{"a":` + strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) + `}}]`)
		}},
		{"deep members", func() []byte {
			n := Size/2 - 30
			return []byte(`{"a":` + strings.Repeat(`[`, n) + strings.Repeat(`]`, n) + `,"traceEvents":[]}`)
		}},
		{"open braces", same(`[`, `{"a":`, ``)},
		{"nested starts", same(`[`, `{"ph":[{},`, ``)},
		{"quotes", same(`[{"ph":"X","name":"`, `"`, `"}]`)},
		{"backslashes", same(`[{"ph":"X","name":"`, `\`, `"}]`)},
		{"escapes", same(`[{"ph":"X","name":"`, `\u00e4`, `"}]`)},
		{"commas", same(`[`, `,`, `]`)},
		{"blanks", same(`[`, ` `, `]`)},
		{"begins", same(`[`, `{"ph":"B","ts":0},`, `{}]`)},
		{"ends", same(`[`, `{"ph":"E","ts":0},`, `{}]`)},
		{"no events", same(`{"a":"`, `x`, ``)},
		{"many members", same(`{`, `"a":1,`, `"traceEvents":[]}`)},
		{"members of all names", each(`{`, `"#":1,`, `"traceEvents":[]}`)},
		{"keys of all names", each(`[{"ph":"X","ts":1,"dur":1`, `,"#":1`, `}]`)},
		{"arguments of all names", each(`[{"ph":"X","ts":1,"dur":1,"args":{"a":1`, `,"#":1`, `}}]`)},
		{"broken strings", same(`[`, `{"ph":"X","name":"a"b"},`, `{}]`)},
		{"false starts", same(`[{"ph":"X","args":{"a":[`, `{"ph":0},{"ph":0},`, ``)},
		{"bad bytes", same(`[`, "{\"ph\":\"i\",\"ts\":0,\"name\":\"\xff\x01\"},", `{}]`)},
		{"names", each(`[`, `{"ph":"i","ts":#,"name":"#"},`, `{}]`)},
		{"categories", each(`[`, `{"ph":"i","ts":#,"cat":"#"},`, `{}]`)},
		{"rows", each(`[`, `{"ph":"i","ts":#,"pid":#,"tid":#},`, `{}]`)},
		{"rows by text", each(`[`, `{"ph":"i","ts":#,"pid":"p#","tid":"t#"},`, `{}]`)},
		{"row names", each(`[`, `{"ph":"M","name":"thread_name","pid":#,"tid":#,"args":{"name":"#"}},`, `{}]`)},
		{"names of one row", each(`[`, `{"ph":"M","name":"process_name","pid":1,"args":{"name":"#"}},`, `{}]`)},
		{"arrows", each(`[`, `{"ph":"s","id":#,"ts":#,"cat":"c#","name":"n#"},`, `{}]`)},
		{"arrows by text", each(`[`, `{"ph":"f","id":"x#","ts":#,"cat":"ac2g"},`, `{}]`)},
		{"one arrow", same(`[`, `{"ph":"s","id":1,"ts":1,"cat":"ac2g"},`, `{}]`)},
		{"huge ids", each(`[`, `{"ph":"s","id":98765432109876543210#,"ts":#,"cat":"ac2g"},`, `{}]`)},
		{"huge numbers", each(`[`, `{"ph":"X","ts":98765432109876543210#,"dur":1e#,"pid":98765432109876543210#},`, `{}]`)},
		{"calls", each(`[`, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","ts":#,"dur":1,"pid":1,"tid":1,"args":{"correlation":#}},`, `{}]`)},
		{"calls of one id", each(`[`, `{"ph":"X","cat":"cuda_runtime","name":"a","ts":#,"dur":1,"pid":#,"tid":1,"args":{"correlation":1}},`, `{}]`)},
		{"kernels", each(`[`, `{"ph":"X","cat":"kernel","name":"k","ts":#,"dur":3,"pid":0,"tid":7,"args":{"device":#,"stream":#,"correlation":#,"grid":[#,1,1],"block":[#,1,1]}},`, `{}]`)},
		{"overlaps", each(`[`, `{"ph":"X","ts":#,"dur":1#,"pid":0,"tid":7},`, `{}]`)},
		{"external ids", each(`[`, `{"ph":"X","cat":"cpu_op","ts":#,"dur":1,"args":{"External id":#}},`, `{}]`)},
		{"devices", each(`{"deviceProperties":[`, `{"id":#,"numSms":#,"computeMajor":9},`, `{}],"traceEvents":[]}`)},
		{"asynchronous", each(`[`, `{"ph":"b","id":"#","ts":#,"cat":"a"},`, `{}]`)},
		{"counters", each(`[`, `{"ph":"C","ts":#,"name":"c","args":{"#":#}},`, `{}]`)},
	}
	return func(yield func(string, []byte) bool) {
		for i, d := range list {
			if short && i%6 != 1 {
				continue
			}
			if !yield(d.name, d.text()) {
				return
			}
		}
	}
}

// Peak runs f and returns how much more the heap held at most than before, free room
// in its spans included, bytes.
func Peak(f func()) uint64 {
	debug.FreeOSMemory()
	before := heap()
	stop := make(chan uint64)
	go func() {
		var top uint64
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				top = max(top, heap())
			case stop <- top:
				return
			}
		}
	}()
	f()
	return max(<-stop, heap(), before) - before
}

func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}
