package occupancy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDeviceFile bounds what is read of a file of devices, in bytes.
const maxDeviceFile = 1 << 20

// deviceYAML is an entry of a file; properties in bytes, threads and registers.
type deviceYAML struct {
	Name       string   `yaml:"name"`
	Title      string   `yaml:"title"`
	Also       []string `yaml:"also"`
	Capability string   `yaml:"capability"`
	GFX        string   `yaml:"gfx"`
	CUs        *int64   `yaml:"cus"`

	propsYAML `yaml:",inline"`
}

type propsYAML struct {
	SMs          *int64 `yaml:"sms"`
	Threads      *int64 `yaml:"threads_per_block"`
	ThreadsSM    *int64 `yaml:"threads_per_sm"`
	RegsBlock    *int64 `yaml:"regs_per_block"`
	RegsSM       *int64 `yaml:"regs_per_sm"`
	Warp         *int64 `yaml:"warp_size"`
	SmemBlock    *int64 `yaml:"smem_per_block"`
	SmemOptin    *int64 `yaml:"smem_per_block_optin"`
	SmemSM       *int64 `yaml:"smem_per_sm"`
	SmemReserved *int64 `yaml:"smem_reserved_per_block"`
}

type fileYAML struct {
	Capabilities map[string]propsYAML `yaml:"capabilities"`
	Devices      []yaml.Node          `yaml:"devices"`
}

// fields pairs the names in a file with the properties that they set.
func (p *propsYAML) fields(d *Device) []propField {
	return []propField{
		{"sms", p.SMs, &d.NumSMs},
		{"threads_per_block", p.Threads, &d.MaxThreadsPerBlock},
		{"threads_per_sm", p.ThreadsSM, &d.MaxThreadsPerSM},
		{"regs_per_block", p.RegsBlock, &d.RegsPerBlock},
		{"regs_per_sm", p.RegsSM, &d.RegsPerSM},
		{"warp_size", p.Warp, &d.WarpSize},
		{"smem_per_block", p.SmemBlock, &d.SharedMemPerBlock},
		{"smem_per_block_optin", p.SmemOptin, &d.SharedMemPerBlockOptin},
		{"smem_per_sm", p.SmemSM, &d.SharedMemPerSM},
		{"smem_reserved_per_block", p.SmemReserved, &d.ReservedSharedMemPerBlock},
	}
}

type propField struct {
	name  string
	value *int64 // in the file; nil: not there
	dst   *int64
}

// Read adds the devices of a YAML file, whose form devices.yaml describes; one of
// the same name is replaced. Errors wrap ErrDeviceFile and name the line, the
// device and what is wrong or missing; the catalogue is then as it was.
func (c *Catalog) Read(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, maxDeviceFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxDeviceFile {
		return fmt.Errorf("%w: longer than %d bytes", ErrDeviceFile, maxDeviceFile)
	}
	var f fileYAML
	if err := decodeYAML(data, &f); err != nil {
		return err
	}
	if f.Capabilities != nil {
		return fmt.Errorf("%w: capabilities cannot be given; give what differs with the device", ErrDeviceFile)
	}
	if len(f.Devices) == 0 {
		return fmt.Errorf("%w: it has no devices", ErrDeviceFile)
	}
	work := &Catalog{entries: slices.Clone(c.entries), byName: maps.Clone(c.byName), capabilities: c.capabilities}
	if work.byName == nil {
		work.byName = map[string]*Entry{}
	}
	if err := work.add(&f); err != nil {
		return err
	}
	*c = *work
	return nil
}

func decodeYAML(data []byte, v any) error {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(v); err != nil && err != io.EOF {
		return fmt.Errorf("%w: %s", ErrDeviceFile, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	return nil
}

func (c *Catalog) add(f *fileYAML) error {
	seen := map[string]bool{}
	for i := range f.Devices {
		node := &f.Devices[i]
		e, err := decodeEntry(node, c.capabilities)
		if err != nil {
			return fmt.Errorf("%w: line %d: %w", ErrDeviceFile, node.Line, err)
		}
		if seen[canonical(e.Name)] {
			return fmt.Errorf("%w: line %d: %s is there twice", ErrDeviceFile, node.Line, e.Name)
		}
		seen[canonical(e.Name)] = true
		c.entries = slices.DeleteFunc(c.entries, func(old *Entry) bool { return canonical(old.Name) == canonical(e.Name) })
		c.entries = append(c.entries, e)
		for _, name := range append([]string{e.Name, e.Title}, e.also...) {
			if name = canonical(name); name != "" {
				c.byName[name] = e
			}
		}
	}
	return nil
}

// decodeEntry checks one entry of a file.
func decodeEntry(node *yaml.Node, capabilities map[[2]int64]Device) (*Entry, error) {
	text, err := yaml.Marshal(node)
	if err != nil {
		return nil, err
	}
	var y deviceYAML
	dec := yaml.NewDecoder(bytes.NewReader(text)) // Node.Decode would accept unknown names
	dec.KnownFields(true)
	if err := dec.Decode(&y); err != nil {
		return nil, errors.New(withoutLine(err.Error()))
	}
	if canonical(y.Name) == "" {
		return nil, errors.New("a device needs a name")
	}
	e := &Entry{Name: y.Name, Title: y.Title, also: y.Also}
	if e.Title == "" {
		e.Title = y.Name
	}
	switch {
	case y.GFX != "" && y.Capability != "":
		return nil, fmt.Errorf("%s: both capability and gfx are given", y.Name)
	case y.GFX != "":
		e.AMD, err = y.amd()
	case y.Capability != "":
		e.NVIDIA, err = y.nvidia(capabilities)
	default:
		err = errors.New("capability (NVIDIA) or gfx (AMD) is missing")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", y.Name, err)
	}
	return e, nil
}

// withoutLine takes the line numbers out of a message of the YAML package: those of
// a part of a file say nothing.
func withoutLine(s string) string {
	var parts []string
	for part := range strings.SplitSeq(s, "\n") {
		part = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(part), "yaml: "))
		if rest, ok := strings.CutPrefix(part, "line "); ok {
			if _, text, ok := strings.Cut(rest, ": "); ok {
				part = text
			}
		}
		if part != "unmarshal errors:" {
			parts = append(parts, strings.ReplaceAll(strings.ReplaceAll(part, " not found in type occupancy.deviceYAML", ": no such property"), "field ", ""))
		}
	}
	return strings.Join(parts, "; ")
}

func (y *deviceYAML) nvidia(capabilities map[[2]int64]Device) (*Device, error) {
	if y.CUs != nil {
		return nil, errors.New("cus is of AMD devices; an NVIDIA device has sms")
	}
	major, minor, ok := ParseCapability(y.Capability)
	if !ok {
		return nil, fmt.Errorf("capability %q: write it as \"9.0\"", y.Capability)
	}
	d := &Device{ComputeMajor: major, ComputeMinor: minor}
	known := false
	if base, ok := capabilities[[2]int64{major, minor}]; ok {
		*d, known = base, true
	}
	var wrong []string
	for _, f := range y.fields(d) {
		if f.value == nil {
			continue
		}
		if !positive31(*f.value) && (f.name != "smem_reserved_per_block" || *f.value != 0) {
			wrong = append(wrong, fmt.Sprintf("%s is %d", f.name, *f.value))
		}
		*f.dst = *f.value
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s: out of range", strings.Join(wrong, ", "))
	}
	d.FillReserved()
	if lookup(major, minor) == nil {
		return nil, d.Check(Options{})
	}
	var missing []string
	for _, f := range y.fields(d) {
		needed := f.name != "smem_reserved_per_block" && (f.name != "smem_per_block_optin" || lookup(major, minor).optin)
		if needed && *f.dst == 0 {
			missing = append(missing, f.name)
		}
	}
	if len(missing) > 0 {
		err := fmt.Errorf("missing: %s", strings.Join(missing, ", "))
		if !known {
			err = fmt.Errorf("%w (the properties of capability %s are not known)", err, y.Capability)
		}
		return nil, err
	}
	return d, d.Check(Options{})
}

func (y *deviceYAML) amd() (*AMDDevice, error) {
	for _, f := range y.fields(&Device{}) {
		if f.value != nil {
			return nil, fmt.Errorf("%s is of NVIDIA devices; an AMD device has gfx and cus", f.name)
		}
	}
	d := &AMDDevice{GFX: y.GFX}
	if y.CUs == nil {
		return nil, errors.New("missing: cus")
	}
	if d.NumCUs = *y.CUs; !positive31(d.NumCUs) {
		return nil, fmt.Errorf("cus is %d: out of range", d.NumCUs)
	}
	return d, d.Check()
}
