package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/occupancy"
	"github.com/flagos-ai/flagos-trace/record"
)

const occupancyLong = `Calculate how many blocks of a kernel an SM holds, what limits them, and what one
block more would need. No GPU is used.

--device is a name of the table (--list shows it), the name that the driver gives, or
what the device is: 9.0, sm_90, gfx942. --devices adds devices from a YAML file:

  devices:
    - {name: my-gpu, capability: "9.0", sms: 120}   # NVIDIA
    - {name: my-amd, gfx: gfx942, cus: 80}          # AMD

On NVIDIA the result is that of NVIDIA's own calculator, from compute capability 5.0
to 12.x, with shared memory up to the limit that a kernel may opt in to and the
largest carve-out, unless --carveout says another. How many clusters a device holds
no property tells: the blocks of clusters are counted where --max-active-clusters
gives the driver's number, and are otherwise an upper bound. On AMD it follows public
documents and was not verified on hardware.

--sweep varies the size of the block, the registers of a thread or the shared memory
of a block, and shows the occupancy as a table and a plot; --svg draws it to a file.

Exit status:
  0    the configuration can be launched
  1    it cannot: the limits that it breaks are named
  2    the command line is wrong, such as an unknown device or no threads
  125  a file could not be read or written`

// occupancyFlags are as given on the command line.
type occupancyFlags struct {
	device, devices            string
	block, cluster             string
	smem, dynSmem, carveout    string
	regs, sgprs, wave, maxClus int64
	cuMode, json, list         bool
	sweep, svg                 string
}

func newOccupancy() *cobra.Command {
	var o occupancyFlags
	cmd := &cobra.Command{
		Use:   "occupancy --device name --block threads [flags]",
		Short: "Calculate the occupancy of kernels and what limits it",
		Long:  occupancyLong,
		Example: `  flagos-trace occupancy --device h100 --block 256 --regs 64 --smem 32K
  flagos-trace occupancy --device a100 --block 16x16 --regs 96 --sweep regs --svg regs.svg
  flagos-trace occupancy --device mi300x --block 256 --regs 128 --sgprs 64 --smem 16K
  flagos-trace occupancy table --in configs.csv --out occupancy.csv`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&o.device, "device", "", "`name` of the device")
	f.StringVar(&o.devices, "devices", "", "YAML `file` of more devices")
	f.BoolVar(&o.list, "list", false, "list the devices")
	f.StringVar(&o.block, "block", "", "`threads` of a block, such as 256 or 16x16")
	f.Int64Var(&o.regs, "regs", 0, "registers of a thread; on AMD vector registers (default: not counted)")
	f.StringVar(&o.smem, "smem", "0", "static shared memory of a block in `bytes`, such as 32K")
	f.StringVar(&o.dynSmem, "dyn-smem", "0", "dynamic shared memory of a block in `bytes`")
	f.StringVar(&o.carveout, "carveout", "", "shared memory of an SM that the kernel prefers: a `size` such as 100K, or 50%")
	f.StringVar(&o.cluster, "cluster", "", "`blocks` of a cluster, such as 2 or 2x1x1")
	f.Int64Var(&o.maxClus, "max-active-clusters", 0, "clusters that the device holds at once, as cudaOccupancyMaxActiveClusters gives them")
	f.Int64Var(&o.sgprs, "sgprs", 0, "AMD: scalar registers of a wave (default: not counted)")
	f.Int64Var(&o.wave, "wave", 0, "AMD: threads of a wave, 32 or 64 (default: that of the architecture)")
	f.BoolVar(&o.cuMode, "cu-mode", false, "AMD from gfx10 on: a work-group stays on one compute unit")
	f.StringVar(&o.sweep, "sweep", "", "`what` to vary: block, regs or smem")
	f.StringVar(&o.svg, "svg", "", "`file` to draw the sweep to, - for standard output alone")
	f.BoolVar(&o.json, "json", false, "print JSON")
	trace := addTraceFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if handled, err := trace(cmd, args); handled || err != nil {
			return err
		}
		return o.run(cmd.OutOrStdout())
	}
	cmd.AddCommand(newOccupancyTable())
	return cmd
}

// run answers for one configuration. Its own errors are about the command line.
func (o *occupancyFlags) run(w io.Writer) error {
	catalog, err := readCatalog(o.devices)
	if err != nil {
		return err
	}
	if o.list {
		return fail(ignorePipe(listDevices(w, catalog)))
	}
	if o.device == "" || o.block == "" {
		return errors.New("--device and --block are needed (or --list)")
	}
	e, err := catalog.Lookup(o.device)
	if err != nil {
		return fmt.Errorf("%w; --devices takes a file with them, --list shows the table", err)
	}
	c, err := o.config(e)
	if err != nil {
		return err
	}
	r := report{entry: e, config: c}
	if r.answer, err = e.Occupancy(c); err != nil {
		return err
	}
	if r.steps, err = e.Steps(c); err != nil {
		return err
	}
	switch {
	case o.sweep != "":
		r.axis = occupancy.Axis(o.sweep)
		if r.points, err = e.Sweep(c, r.axis); err != nil {
			return fmt.Errorf("--sweep %s: %w", o.sweep, err)
		}
	case o.svg != "":
		return errors.New("--svg draws a sweep: --sweep block, regs or smem is missing")
	}
	if o.svg != "" {
		if err := writeOut(orStdout(o.svg), r.drawSVG); err != nil {
			return fail(err)
		}
	}
	switch {
	case o.svg == "-":
	case o.json:
		err = r.printJSON(w)
	default:
		err = r.print(w)
	}
	if err = ignorePipe(err); err != nil {
		return fail(err)
	}
	if r.answer.Blocks == 0 {
		return &failure{status: exitFinding}
	}
	return nil
}

// ignorePipe: a reader that goes away, such as head, is no failure.
func ignorePipe(err error) error {
	if errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}

// readCatalog is the table of devices with those of a file, where one is named.
func readCatalog(path string) (*occupancy.Catalog, error) {
	c := occupancy.Builtin()
	if path == "" {
		return c, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fail(err)
	}
	defer f.Close()
	if err := c.Read(f); err != nil {
		return nil, fail(fmt.Errorf("%s: %w", path, err))
	}
	return c, nil
}

// writeOut writes a file whole or not at all.
func writeOut(path string, write func(io.Writer) error) error {
	f, err := outfile.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// listDevices prints the table of devices.
func listDevices(w io.Writer, c *occupancy.Catalog) error {
	rows := [][]string{{"name", "device", "is", "SMs or CUs"}}
	for _, name := range c.Names() {
		e, err := c.Lookup(name)
		if err != nil {
			return err
		}
		is, n := entryKind(e)
		rows = append(rows, []string{record.Printable(e.Name, false), record.Printable(e.Title, false), is, strconv.FormatInt(n, 10)})
	}
	return printColumns(w, rows, []bool{false, false, false, true})
}

// entryKind is what a device is, and how many SMs or compute units it has.
func entryKind(e *occupancy.Entry) (string, int64) {
	if e.AMD != nil {
		return e.AMD.GFX, e.AMD.NumCUs
	}
	return fmt.Sprintf("%d.%d", e.NVIDIA.ComputeMajor, e.NVIDIA.ComputeMinor), e.NVIDIA.NumSMs
}
