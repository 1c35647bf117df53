package event

import "testing"

func TestStrings(t *testing.T) {
	var s Strings
	if s.Len() != 1 || s.At(0) != "" || s.At(99) != "" {
		t.Error("an empty table holds something")
	}
	if s.ID("") != 0 || s.IDBytes(nil) != 0 {
		t.Error("the empty string is not id 0")
	}
	a, b := s.ID("a"), s.IDBytes([]byte("b"))
	if a == b || a == 0 || s.IDBytes([]byte("a")) != a || s.ID("b") != b || s.Len() != 3 {
		t.Errorf("ids %d, %d; %d strings", a, b, s.Len())
	}
	if s.At(a) != "a" || s.At(b) != "b" {
		t.Error("strings changed while stored")
	}
	known := []byte("a")
	if n := testing.AllocsPerRun(100, func() { s.IDBytes(known) }); n != 0 {
		t.Errorf("looking up a known string allocates %v times", n)
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{CopyKind(1).String(), "HtoD"}, {CopyKind(10).String(), "PtoP"}, {CopyKind(0).String(), "<unknown>"}, {CopyKind(99).String(), "<unknown>"},
		{MemoryKind(0).String(), "Unknown"}, {MemoryKind(3).String(), "Device"}, {MemoryKind(200).String(), "Unrecognized"},
		{ContextSync.String(), "Context Sync"}, {SyncKind(77).String(), "Unknown Sync"},
		{Kernel.String(), "kernel"}, {NumKinds.String(), "invalid"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if !Memset.OnDevice() || Runtime.OnDevice() || !Driver.IsAPI() || Sync.IsAPI() {
		t.Error("kinds are on the wrong side")
	}
}
