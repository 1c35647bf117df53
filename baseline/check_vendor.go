package baseline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// makers are words in devices' names that tell whose they are. Of other devices' names
// nothing is concluded.
var makers = []struct{ word, vendor string }{
	{"NVIDIA", "cuda"}, {"Tesla", "cuda"}, {"GeForce", "cuda"}, {"Quadro", "cuda"}, {"AMD Instinct", "rocm"}, {"AMD Radeon", "rocm"},
}

// maker is the vendor of the devices by their own names, "" where those do not tell, or
// tell several.
func maker(devices []string) (vendor string) {
	for _, name := range devices {
		of := ""
		for _, m := range makers {
			if strings.HasPrefix(name, m.word) {
				of = m.vendor
				break
			}
		}
		if of == "" || vendor != "" && of != vendor {
			return ""
		}
		vendor = of
	}
	return vendor
}

// contradicted returns the vendor that the names of a trace's devices tell, where the
// vendor that its events look like is another, and "" else. Traces that only say
// which framework wrote them contradict nothing.
func contradicted(s *Side) string {
	if s.Seen == nil {
		return ""
	}
	of := maker(s.Seen.Devices)
	switch s.Seen.Producer.Vendor {
	case of, "", "cpu", "flagos", "ppu":
		return ""
	case "dcu":
		if of == "rocm" {
			return ""
		}
	}
	return of
}

// vendorOf is the vendor whose excuses hold for a trace.
func vendorOf(s *Side) string {
	if of := contradicted(s); of != "" {
		return of
	}
	return s.Vendor
}

// beginnings are those of the names of API calls, by vendor.
var beginnings = map[string]string{"cuda": "cu", "rocm": "hip"}

// foreignCalls reports whether most names of API calls begin as none of a vendor's do.
// Categories may be named as the framework likes.
func (d *differ) foreignCalls(vendor string) bool {
	foreign, all := 0, 0
	for name := range d.now.Shape.Calls {
		if slices.Contains(shape.Placeholders, name) {
			continue
		}
		all++
		if !strings.HasPrefix(name, beginnings[vendor]) {
			foreign++
		}
	}
	return foreign*2 > all
}

// contradiction finds events that look like another vendor's than the devices are, and
// reports whether they do.
func (d *differ) contradiction() bool {
	of := contradicted(d.now)
	if of == "" || !d.foreignCalls(of) {
		return false
	}
	d.judged = true
	if d.base.Seen != nil && contradicted(d.base) != "" && d.base.Vendor == d.now.Vendor {
		d.same = true
		return false
	}
	d.find(verdict.Finding{Subject: "calls:vendor", Severity: verdict.Error, Where: d.first("cuda_runtime", ""),
		What:     fmt.Sprintf("API calls are named as those of vendor %s, and deviceProperties name %s, of vendor %s", d.now.Vendor, strings.Join(d.now.Seen.Devices, ", "), of),
		Expected: "names of vendor " + of, Got: "names of vendor " + d.now.Vendor, Fix: "write the name of the function that was called, and the devices that it was called for"})
	return true
}
