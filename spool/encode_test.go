package spool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// setAll sets every field below v, so that none may be left out.
func setAll(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			setAll(v.Field(i), text)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setAll(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		setAll(v.Index(0), text)
		setAll(v.Index(1), text)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range []string{"z", "a" + text} {
			e := reflect.New(v.Type().Elem()).Elem()
			setAll(e, text)
			v.SetMapIndex(reflect.ValueOf(k), e)
		}
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-1 << 30)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(1<<32 - 1)
	default:
		panic(v.Kind())
	}
}

// What is written by hand is what package encoding/json writes, field for field.
func TestEncode(t *testing.T) {
	for _, text := range []string{"", "plain", "\"\\/<>&\x00\x07\b\f\n\r\t\x1f\x7f", "ä€😀\u2028\u2029\ufffd", "\xff\xc3(\xed\xa0\x80\xf0\x9f"} {
		for _, full := range []bool{false, true} {
			check := func(v any, encode func() []byte) {
				t.Helper()
				if full {
					setAll(reflect.ValueOf(v).Elem(), text)
				}
				want, err := json.Marshal(v)
				if got := encode(); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%T: %v\n got %s\nwant %s", v, err, got, want)
				}
			}
			var (
				header   Header
				binding  tracer.BindingInfo
				devices  []tracer.Device
				kinds    []string
				loss     Loss
				session  Session
				thread   Thread
				counters Counters
				window   Window
				end      End
				reply    Reply
			)
			check(&header, header.encode)
			check(&binding, func() []byte { return encodeBinding(&binding) })
			check(&devices, func() []byte { return encodeDevices(devices) })
			check(&kinds, func() []byte { return appendStrings(nil, kinds) })
			check(&loss, loss.encode)
			check(&session, session.encode)
			check(&thread, thread.encode)
			check(&counters, counters.encode)
			check(&window, window.encode)
			check(&end, end.encode)
			check(&reply, reply.Encode)
		}
	}
}

// Empty lists and maps are no nil ones.
func TestEncodeEmpty(t *testing.T) {
	h := Header{Requested: []string{}, Env: map[string]string{}}
	want, _ := json.Marshal(h)
	if got := h.encode(); !bytes.Equal(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := encodeDevices([]tracer.Device{}); string(got) != "[]" {
		t.Errorf("devices: %s", got)
	}
	if got := appendStrings(nil, []string{}); string(got) != "[]" {
		t.Errorf("texts: %s", got)
	}
}

func FuzzEncodeString(f *testing.F) {
	f.Add("a\x00<\xff\u2028")
	f.Fuzz(func(t *testing.T, s string) {
		want, _ := json.Marshal(s)
		if got := appendString(nil, s); !bytes.Equal(got, want) {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}
