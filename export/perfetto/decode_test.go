package perfetto

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// format is what of Perfetto's format the tests read, from its public definitions:
// message, field, number, type; a type with a star is repeated.
const format = `
Trace packet 1 *TracePacket
TracePacket clock_snapshot 6 ClockSnapshot
TracePacket timestamp 8 uint64
TracePacket trusted_packet_sequence_id 10 uint32
TracePacket track_event 11 TrackEvent
TracePacket interned_data 12 InternedData
TracePacket sequence_flags 13 uint32
TracePacket track_descriptor 60 TrackDescriptor
ClockSnapshot clocks 1 *Clock
Clock clock_id 1 uint32
Clock timestamp 2 uint64
TrackEvent category_iids 3 *uint64
TrackEvent debug_annotations 4 *DebugAnnotation
TrackEvent type 9 int32
TrackEvent name_iid 10 uint64
TrackEvent track_uuid 11 uint64
TrackEvent counter_value 30 int64
TrackEvent double_counter_value 44 double
TrackEvent flow_ids 47 *fixed64
TrackEvent terminating_flow_ids 48 *fixed64
DebugAnnotation name_iid 1 uint64
DebugAnnotation bool_value 2 bool
DebugAnnotation int_value 4 int64
DebugAnnotation double_value 5 double
DebugAnnotation string_value 6 string
DebugAnnotation string_value_iid 17 uint64
InternedData event_categories 1 *Entry
InternedData event_names 2 *Entry
InternedData debug_annotation_names 3 *Entry
InternedData debug_annotation_string_values 29 *Entry
Entry iid 1 uint64
Entry name 2 bytes
TrackDescriptor uuid 1 uint64
TrackDescriptor name 2 string
TrackDescriptor process 3 ProcessDescriptor
TrackDescriptor thread 4 ThreadDescriptor
TrackDescriptor parent_uuid 5 uint64
TrackDescriptor counter 8 CounterDescriptor
TrackDescriptor child_ordering 11 int32
TrackDescriptor sibling_order_rank 12 int32
ProcessDescriptor pid 1 int32
ProcessDescriptor process_name 6 string
ProcessDescriptor process_labels 8 *string
ThreadDescriptor pid 1 int32
ThreadDescriptor tid 2 int32
ThreadDescriptor thread_name 5 string
CounterDescriptor unit 3 int32
`

var scalars = map[string]descriptorpb.FieldDescriptorProto_Type{
	"uint64": descriptorpb.FieldDescriptorProto_TYPE_UINT64, "uint32": descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	"int64": descriptorpb.FieldDescriptorProto_TYPE_INT64, "int32": descriptorpb.FieldDescriptorProto_TYPE_INT32,
	"double": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, "bool": descriptorpb.FieldDescriptorProto_TYPE_BOOL,
	"string": descriptorpb.FieldDescriptorProto_TYPE_STRING, "bytes": descriptorpb.FieldDescriptorProto_TYPE_BYTES,
	"fixed64": descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
}

// decode parses a file with protobuf's own decoder, which knows nothing of the writer.
func decode(t testing.TB, data []byte) protoreflect.Message {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("trace.proto"), Syntax: proto.String("proto2")}
	messages := map[string]*descriptorpb.DescriptorProto{}
	for line := range strings.Lines(strings.TrimSpace(format)) {
		var message, field, kind string
		var number int32
		if _, err := fmt.Sscan(line, &message, &field, &number, &kind); err != nil {
			t.Fatal(err)
		}
		m := messages[message]
		if m == nil {
			m = &descriptorpb.DescriptorProto{Name: proto.String(message)}
			messages[message] = m
			file.MessageType = append(file.MessageType, m)
		}
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(field), Number: proto.Int32(number), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if name, repeated := strings.CutPrefix(kind, "*"); repeated {
			kind = name
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		if s, ok := scalars[kind]; ok {
			f.Type = s.Enum()
		} else {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
			f.TypeName = proto.String("." + kind)
		}
		m.Field = append(m.Field, f)
	}
	d, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(d.Messages().ByName("Trace"))
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	known(t, m)
	return m
}

// known reports fields that the format does not have.
func known(t testing.TB, m protoreflect.Message) {
	if len(m.GetUnknown()) > 0 {
		t.Fatalf("%s has unknown fields: %x", m.Descriptor().Name(), m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := range v.List().Len() {
				known(t, v.List().Get(i).Message())
			}
		default:
			known(t, v.Message())
		}
		return true
	})
}

// field returns a field of a message by name.
func field(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func has(m protoreflect.Message, name string) bool {
	return m.Has(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

// span is a span, or an instant, as a viewer would have it.
type span struct {
	track          uint64
	name, category string
	start, end     int64
	args           map[string]any
	flows, ends    []uint64
	instant        bool
}

type counter struct {
	track uint64
	ts    int64
	value float64
}

// viewed is a trace as a viewer would have it.
type viewed struct {
	spans    []*span
	counters []counter
	tracks   map[uint64]protoreflect.Message
	flows    map[uint64][]*span
}

// view plays the packets of a file.
func view(t testing.TB, data []byte) *viewed {
	t.Helper()
	v := &viewed{tracks: map[uint64]protoreflect.Message{}, flows: map[uint64][]*span{}}
	tables := map[string]map[uint64]string{}
	last := map[uint64]int64{}
	open := map[uint64][]*span{}
	packets := field(decode(t, data), "packet").List()
	for i := range packets.Len() {
		p := packets.Get(i).Message()
		if field(p, "trusted_packet_sequence_id").Uint() == 0 {
			t.Fatalf("packet %d belongs to no sequence", i)
		}
		if flags := field(p, "sequence_flags").Uint(); i == 0 && flags != 1 || i > 0 && has(p, "track_event") != (flags == 2) {
			t.Fatalf("packet %d has flags %d", i, flags)
		}
		if has(p, "interned_data") {
			in := field(p, "interned_data").Message()
			for _, name := range []string{"event_categories", "event_names", "debug_annotation_names", "debug_annotation_string_values"} {
				if tables[name] == nil {
					tables[name] = map[uint64]string{}
				}
				list := field(in, name).List()
				for k := range list.Len() {
					e := list.Get(k).Message()
					id := field(e, "iid").Uint()
					if _, twice := tables[name][id]; twice || id == 0 {
						t.Fatalf("%s %d is given twice, or 0", name, id)
					}
					tables[name][id] = string(field(e, "name").Bytes())
				}
			}
		}
		text := func(table string, id uint64) string {
			s, ok := tables[table][id]
			if !ok {
				t.Fatalf("packet %d: %s %d is not there", i, table, id)
			}
			return s
		}
		if has(p, "track_descriptor") {
			d := field(p, "track_descriptor").Message()
			id := field(d, "uuid").Uint()
			if parent := field(d, "parent_uuid").Uint(); v.tracks[id] != nil || id == 0 || parent != 0 && v.tracks[parent] == nil {
				t.Fatalf("packet %d: track %d below %d", i, id, parent)
			}
			v.tracks[id] = d
			continue
		}
		if !has(p, "track_event") {
			continue
		}
		e := field(p, "track_event").Message()
		ts, track := int64(field(p, "timestamp").Uint()), field(e, "track_uuid").Uint()
		d := v.tracks[track]
		if d == nil {
			t.Fatalf("packet %d: track %d is not described", i, track)
		}
		kind := field(e, "type").Int()
		if kind == typeCounter {
			if !has(d, "counter") {
				t.Fatalf("packet %d: track %d is none of a counter", i, track)
			}
			value := field(e, "double_counter_value").Float()
			if has(e, "counter_value") {
				value = float64(field(e, "counter_value").Int())
			}
			v.counters = append(v.counters, counter{track, ts, value})
			continue
		}
		if kind != typeInstant {
			if ts < last[track] {
				t.Fatalf("packet %d: track %d goes back in time", i, track)
			}
			last[track] = ts
		}
		if kind == typeEnd {
			stack := open[track]
			if len(stack) == 0 {
				t.Fatalf("packet %d: nothing is open on track %d", i, track)
			}
			stack[len(stack)-1].end = ts
			open[track] = stack[:len(stack)-1]
			continue
		}
		s := &span{track: track, start: ts, end: ts, name: text("event_names", field(e, "name_iid").Uint()), args: map[string]any{}, instant: kind == typeInstant}
		if c := field(e, "category_iids").List(); c.Len() > 0 {
			s.category = text("event_categories", c.Get(0).Uint())
		}
		list := field(e, "debug_annotations").List()
		for k := range list.Len() {
			a := list.Get(k).Message()
			name := text("debug_annotation_names", field(a, "name_iid").Uint())
			switch {
			case has(a, "int_value"):
				s.args[name] = field(a, "int_value").Int()
			case has(a, "double_value"):
				s.args[name] = field(a, "double_value").Float()
			case has(a, "bool_value"):
				s.args[name] = field(a, "bool_value").Bool()
			case has(a, "string_value_iid"):
				s.args[name] = text("debug_annotation_string_values", field(a, "string_value_iid").Uint())
			default:
				s.args[name] = field(a, "string_value").String()
			}
		}
		for name, to := range map[string]*[]uint64{"flow_ids": &s.flows, "terminating_flow_ids": &s.ends} {
			ids := field(e, name).List()
			for k := range ids.Len() {
				*to = append(*to, ids.Get(k).Uint())
				v.flows[ids.Get(k).Uint()] = append(v.flows[ids.Get(k).Uint()], s)
			}
		}
		if kind == typeBegin {
			open[track] = append(open[track], s)
		}
		v.spans = append(v.spans, s)
	}
	for track, stack := range open {
		if len(stack) > 0 {
			t.Fatalf("track %d: %d spans do not end", track, len(stack))
		}
	}
	return v
}
