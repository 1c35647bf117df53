package tracer

import "testing"

func TestVendorOf(t *testing.T) {
	seen := map[string]string{}
	for _, v := range Vendors() {
		for _, n := range append([]string{v.Tracer}, v.Names...) {
			if seen[n] != "" {
				t.Errorf("%s is both %s and %s", n, seen[n], v.Tracer)
			}
			seen[n] = v.Tracer
			if got, ok := VendorOf(n); !ok || got.Tracer != v.Tracer {
				t.Errorf("VendorOf(%q): %+v", n, got)
			}
		}
	}
	if _, ok := VendorOf("abacus"); ok {
		t.Error("a vendor of abacuses")
	}
}
