package spool

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestParseRequest(t *testing.T) {
	for _, c := range []struct {
		line, command string
		ok            bool
	}{
		{`{"command":"start"}`, "start", true},
		{" { \"command\" :\t\"stop\" } \r\n", "stop", true},
		{`{}`, "", true},
		{`{"more":1,"command":"status"}`, "status", true},
		{`{"command":"start","more":1}`, "start", true},
		{`{"command":"start","more":{"a":[1,"]}",{"b":null}],"c":"\""},"last":[]}`, "start", true},
		{`{"more":true,"command":""}`, "", true},
		{`{"command":7}`, "", false},
		{`{"command":null}`, "", false},
		{`{"command":"start"`, "", false},
		{`{"command":"start"} x`, "", false},
		{`{"command":"start",}`, "", false},
		{`{"command":"start" "more":1}`, "", false},
		{`{"command":"sta`, "", false},
		{`{"more":]}`, "", false},
		{`{"more":,"command":"start"}`, "", false},
		{`{"more":[1,2}`, "", false},
		{`"command"`, "", false},
		{`[`, "", false},
		{``, "", false},
	} {
		if q, ok := ParseRequest([]byte(c.line)); ok != c.ok || q.Command != c.command {
			t.Errorf("%s: %q, %v, want %q, %v", c.line, q.Command, ok, c.command, c.ok)
		}
	}
}

// Whatever package encoding/json takes is taken, and means the same.
func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"command":"start","more":{"a":[1,"]}"]}}`))
	f.Add([]byte(`{"more":-1e3,"command":"x"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		q, ok := ParseRequest(line)
		var members map[string]json.RawMessage
		if json.Unmarshal(line, &members) != nil || members == nil {
			return
		}
		command, there := members["command"]
		if len(command) > 0 && command[0] != '"' {
			return // null is an empty one to the other
		}
		if !ok {
			t.Fatalf("%q is refused", line)
		}
		if there && string(command) == `"`+q.Command+`"` || !there && q.Command == "" {
			return
		}
		if !bytes.Contains(line, []byte{'\\'}) { // an escape
			t.Fatalf("%q: %q", line, q.Command)
		}
	})
}
