package occupancy

import (
	"errors"
	"strings"
	"testing"
)

// TestCapabilities: the properties of the catalogue are those that NVIDIA's results
// were made with.
func TestCapabilities(t *testing.T) {
	for cc, want := range tableDevices {
		got, ok := ForCapability(cc[0], cc[1])
		got.NumSMs = want.NumSMs
		if !ok || got != *want {
			t.Errorf("%v: %+v, want %+v", cc, got, *want)
		}
	}
	for _, cc := range Capabilities() {
		if d, ok := ForCapability(cc[0], cc[1]); !ok || d.ComputeMajor != cc[0] || d.ComputeMinor != cc[1] || d.Check(Options{}) != nil || d.NumSMs != 0 {
			t.Errorf("%v: %+v", cc, d)
		}
	}
	if len(Capabilities()) <= len(tableDevices) {
		t.Errorf("%d capabilities", len(Capabilities()))
	}
	if _, ok := ForCapability(3, 5); ok {
		t.Error("3.5 is known")
	}
}

func TestBuiltin(t *testing.T) {
	c := Builtin()
	for _, name := range c.Names() {
		e, err := c.Lookup(name)
		if err != nil || (e.NVIDIA == nil) == (e.AMD == nil) || e.Title == "" {
			t.Errorf("%s: %+v, %v", name, e, err)
			continue
		}
		if e.NVIDIA != nil && (e.NVIDIA.NumSMs < 1 || e.NVIDIA.Check(Options{}) != nil || e.NVIDIA.Check(Options{Mode: Kineto}) != nil) || e.AMD != nil && e.AMD.NumCUs < 1 {
			t.Errorf("%s: %+v", name, e)
		}
		if _, err := e.Occupancy(Config{Block: 256, Regs: 32}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if other, err := c.Lookup(e.Title); err != nil || other != e {
			t.Errorf("%s: its title %q gives %+v, %v", name, e.Title, other, err)
		}
	}
}

// TestOneName: no name of a device belongs to two.
func TestOneName(t *testing.T) {
	seen := map[string]string{}
	for _, e := range Builtin().entries {
		for _, name := range append([]string{e.Name}, e.also...) {
			if other := seen[canonical(name)]; other != "" {
				t.Errorf("%s is %s and %s", name, other, e.Name)
			}
			seen[canonical(name)] = e.Name
		}
	}
}

func TestLookup(t *testing.T) {
	c := Builtin()
	for name, want := range map[string]string{
		"h100": "h100", "H100": "h100", "NVIDIA H100 80GB HBM3": "h100", "NVIDIA H100 PCIe": "h100-pcie", "NVIDIA H200": "h200",
		"Tesla V100-SXM2-32GB": "v100", "NVIDIA A100-SXM4-80GB": "a100", "NVIDIA GeForce RTX 4090": "rtx-4090", "rtx4090": "rtx-4090", "rtx_4090": "rtx-4090",
		"AMD Instinct MI300X": "mi300x", "AMD Radeon RX 7900 XTX": "rx-7900-xtx", "MI210": "mi210",
	} {
		if e, err := c.Lookup(name); err != nil || e.Name != want {
			t.Errorf("%s: %+v, %v, want %s", name, e, err, want)
		}
	}
	for name, want := range map[string][2]int64{"9.0": {9, 0}, "sm_90": {9, 0}, "SM_120": {12, 0}, "8.6": {8, 6}} {
		if e, err := c.Lookup(name); err != nil || e.NVIDIA == nil || [2]int64{e.NVIDIA.ComputeMajor, e.NVIDIA.ComputeMinor} != want || e.NVIDIA.NumSMs != 0 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if e, err := c.Lookup("gfx942"); err != nil || e.AMD == nil || e.AMD.NumCUs != 0 {
		t.Errorf("gfx942: %+v, %v", e, err)
	}
	for name, text := range map[string]string{"h300": "known: h100", "": "number of SMs", "13.0": "capability 13.0", "3.5": "3.5", "gfx803": "compute units", "  ": "missing"} {
		if _, err := c.Lookup(name); !errors.Is(err, ErrUnknownDevice) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v, want %q in it", name, err, text)
		}
	}
}

func TestRead(t *testing.T) {
	full := "threads_per_block: 1024, threads_per_sm: 2048, regs_per_block: 65536, regs_per_sm: 65536, warp_size: 32, smem_per_block: 49152, smem_per_block_optin: 232448, smem_per_sm: 233472"
	for _, c := range []struct{ name, text, want string }{
		{"NVIDIA", `devices: [{name: my, capability: "9.0", sms: 120}]`, ""},
		{"AMD", `devices: [{name: my, gfx: gfx942, cus: 80}]`, ""},
		{"a property of its own", `devices: [{name: my, capability: "9.0", sms: 120, threads_per_sm: 1024}]`, ""},
		{"all properties", `devices: [{name: my, capability: "10.1", sms: 20, ` + full + `}]`, ""},
		{"replaces", `devices: [{name: H100, capability: "9.0", sms: 1}]`, ""},
		{"capability unknown", `devices: [{name: my, capability: "10.1", sms: 20, threads_per_sm: 1536}]`, "missing: threads_per_block, regs_per_block"},
		{"no rules", `devices: [{name: my, capability: "13.0", sms: 20, ` + full + `}]`, "13.0 (limits are known from 5.0"},
		{"no SMs", `devices: [{name: my, capability: "9.0"}]`, "line 1: my: missing: sms"},
		{"no CUs", `devices: [{name: my, gfx: gfx942}]`, "missing: cus"},
		{"no name", `devices: [{capability: "9.0", sms: 1}]`, "needs a name"},
		{"neither", "devices:\n- {name: x, gfx: gfx942, cus: 1}\n- {name: my, sms: 1}", "line 3: my: capability (NVIDIA) or gfx (AMD) is missing"},
		{"both", `devices: [{name: my, capability: "9.0", gfx: gfx942, sms: 1}]`, "both"},
		{"negative", `devices: [{name: my, capability: "9.0", sms: -1}]`, "sms is -1"},
		{"zero", `devices: [{name: my, capability: "9.0", sms: 0}]`, "sms is 0"},
		{"too much", `devices: [{name: my, capability: "9.0", sms: 1, smem_per_sm: 4294967296}]`, "smem_per_sm is 4294967296"},
		{"no number", `devices: [{name: my, capability: "9.0", sms: many}]`, "many"},
		{"carve-out", `devices: [{name: my, capability: "9.0", sms: 1, smem_per_sm: 300000}]`, "carve-out"},
		{"no such property", `devices: [{name: my, capability: "9.0", sms: 1, warps: 3}]`, "warps: no such property"},
		{"no such gfx", `devices: [{name: my, gfx: gfx803, cus: 1}]`, "gfx803"},
		{"mixed", `devices: [{name: my, gfx: gfx942, cus: 1, sms: 3}]`, "sms is of NVIDIA"},
		{"mixed", `devices: [{name: my, capability: "9.0", cus: 1, sms: 3}]`, "cus is of AMD"},
		{"capability form", `devices: [{name: my, capability: hopper, sms: 1}]`, "hopper"},
		{"twice", `devices: [{name: my, gfx: gfx942, cus: 1}, {name: My, gfx: gfx942, cus: 1}]`, "twice"},
		{"capabilities", `capabilities: {"9.0": {sms: 1}}`, "capabilities cannot be given"},
		{"empty", ``, "no devices"},
		{"not YAML", `devices: [`, "occupancy: file of devices"},
		{"a list", `[1]`, "file of devices"},
		{"too long", strings.Repeat("#", maxDeviceFile+1), "longer than"},
	} {
		cat := Builtin()
		before := len(cat.Names())
		err := cat.Read(strings.NewReader(c.text))
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if !errors.Is(err, ErrDeviceFile) || !strings.Contains(err.Error(), c.want) || len(cat.Names()) != before {
			t.Errorf("%s: %v, want %q; %d devices of %d", c.name, err, c.want, len(cat.Names()), before)
		}
	}
	cat := Builtin()
	if err := cat.Read(strings.NewReader(`devices: [{name: H100, capability: "9.0", sms: 7, regs_per_sm: 32768}]`)); err != nil {
		t.Fatal(err)
	}
	if e, err := cat.Lookup("h100"); err != nil || e.NVIDIA.NumSMs != 7 || e.NVIDIA.RegsPerSM != 32768 || e.NVIDIA.ReservedSharedMemPerBlock != 1024 {
		t.Errorf("%+v, %v", e, err)
	}
	if e, err := Builtin().Lookup("h100"); err != nil || e.NVIDIA.NumSMs != 132 {
		t.Errorf("the builtin table has changed: %+v, %v", e, err)
	}
	var zero Catalog
	if err := zero.Read(strings.NewReader(`devices: [{name: my, gfx: gfx942, cus: 1}]`)); err != nil || len(zero.Names()) != 1 {
		t.Error(zero.Names(), err)
	}
}

// FuzzRead: any text is a table of usable devices or an error.
func FuzzRead(f *testing.F) {
	f.Add(`devices: [{name: my, capability: "9.0", sms: 120, threads_per_sm: 64}]`)
	f.Add(`devices: [{name: my, gfx: gfx1100, cus: 80}]`)
	f.Add("a: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		var c Catalog
		if err := c.Read(strings.NewReader(text)); err != nil {
			if len(c.Names()) > 0 {
				t.Fatalf("%v, and devices %v", err, c.Names())
			}
			return
		}
		for _, e := range c.entries {
			if _, err := e.Occupancy(Config{Block: 64, Regs: 16}); err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
		}
	})
}
