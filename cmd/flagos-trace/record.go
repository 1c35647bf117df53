package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/tracer"
)

const recordLong = `Run a command and record what it does on the GPU.

The agent, libflagos_trace.so, is loaded into every process that uses the GPU. It
is looked for beside flagos-trace, then in ../lib, then in FLAGOS_TRACE_AGENT; its
other part, libflagos_trace_go.so, has to lie beside it. A process whose limits leave
no room for both it and the agent runs as without, and its trace says that nothing was
recorded and why: recording takes 11 threads (ulimit -u 22 more at least), address space
to spare (ulimit -v 64 GiB more, if there is a limit) and data (ulimit -d 1 GiB more). The
command's input, output and exit status are its own; flagos-trace writes to stderr
only, and but for a line of progress on a terminal only when the command has ended.

A process can be recorded in part: --start-paused and flagos-trace ctl, --delay and
--duration open and close windows, and the trace holds what lies wholly in one of
them. Of --ring the last pieces are kept, a quarter of it each: the window begins with
the oldest that is left.

The trace of the command itself, or of the only process that used the GPU, is in
the file that -o names; each other process gives one with its id before ".json":
trace.4711.json.gz. Where the variable RANK is set, as by torchrun, the name has the
rank instead: trace_rank0.json.gz; of a rank that was begun anew the attempt that
recorded less has its id there, too. The launcher, and processes that a rank started
and that have its RANK from it, are not taken for ranks. Processes that only asked for
the GPU and never used it give none. Of a process that was killed the trace and the
summary say when and, where the recorder was told, by what. A trace of an earlier run is replaced once the new one is complete; where
another recording has put its trace there meanwhile, the name gets the process id.
--merge writes one trace of all processes into the file that -o names.

In a Python process that imports PyTorch its operators are recorded, too, from the
first use of the GPU on, and each is linked to the work it launched: what
torch.profiler would show of the CPU, without a change to the program. With PyTorch
before 2.14 these are the operators of the main thread and of autograd's threads; what
other threads launch is recorded without. A folder with a sitecustomize.py stands first
in PYTHONPATH for that; one that was there before still runs. Python -I, -S and -E
leave it out, as does Python before 3.8, and the trace says that it has no operators.
--no-host leaves all of that alone. The recording is cut into slices, so that little
memory is taken and a process that is killed, or ends by os._exit or exec, loses the
last slice only; of --ring and --max-size the slices have a share of their own, as
large as that of the GPU's data. --shapes, --stack, --memory and --modules record more
and cost more.

--steps 10:13 records the steps 10, 11 and 12 and nothing else: steps of PyTorch's
optimizers, counted from 0, or calls of the function that --step-mark names, which has
to be defined before the program first uses the GPU. Each stands in the trace as
ProfilerStep#N.

What a process that the command left behind records until the traces are written is
written, too; the data of one that still records then is kept. Only processes of the
user who runs flagos-trace can record: the folder for the data is private. If
flagos-trace itself is killed, flagos-trace recover makes the traces of it.

While the command runs, a line on the terminal says how the recording stands, if
standard error is one: twice a second at most, over a line that the command has not
ended yet. It is gone at the end; --no-progress and --quiet leave it out.

SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to the command. SIGINT and
SIGQUIT are passed on unless they came from the terminal, which sends them to the
command itself. With --kill-after the command is killed if it still runs so long
after the first SIGTERM or SIGINT; processes that it started are left alone, and
recorded until they end or the traces are written. The command inherits limits, open files and, of the signals that
the caller ignores, SIGHUP, SIGINT, SIGTSTP, SIGTTIN, SIGTTOU and SIGCONT, and
SIGQUIT where SIGINT is ignored, too. Not handed on as they were, since the Go runtime
takes them over: other ignored signals (SIGPIPE, SIGTERM, SIGCHLD, SIGUSR1, ...) have
their default effect in the command; of blocked signals those of faults and those
passed on may be unblocked; standard input, output or error, if closed, is /dev/null.

--nvtx records the ranges and marks of programs that speak to NVTX (C and C++, CuPy,
JAX, torch.cuda.nvtx), as annotations of their threads and of the streams that they
launched work on. NVTX_INJECTION64_PATH is set for that, and must be free. What ends
before the program uses the GPU, or is open then, is not recorded.

On Ascend the driver loads no library by itself: libflagos_trace_preload.so, which lies
beside flagos-trace, is put into LD_PRELOAD of the command and waits for the first use
of a device. Copies and fills are recorded only with --preload: then CANN's libmspti.so
is preloaded as well, and taken out of LD_PRELOAD again in processes that use a device, for
what they start; it is looked for below ASCEND_HOME_PATH and ASCEND_TOOLKIT_HOME, where
the loader looks, and in CANN's usual folders, and FLAGOS_TRACER_LIBRARY names it. Their times are those of the calls. Kernels have no grid and no registers
there, since the library does not tell them. Only one profiler may use it: not beside msprof
or torch_npu.profiler.

Exit status: that of the command, or
  2      the command line is wrong
  125    flagos-trace failed: the command was not started, or it succeeded and its
         trace could not be written
  126    the command was found and could not be executed
  127    the command was not found
  128+n  signal n killed the command, or flagos-trace while it wrote the trace

Environment:
  FLAGOS_TRACE_AGENT            the agent library to load, if none is installed with flagos-trace
  FLAGOS_TRACE=debug            the agent writes a log for each process into the folder for the
                                data (.flagos-trace-* beside the trace, or in --spool-dir), which
                                is kept; a process that cannot write there logs into TMPDIR or /tmp
  FLAGOS_TRACE_FLUSH_MS         how often finished records are fetched (default 50)
  FLAGOS_TRACE_PER_THREAD=1     give each launching thread buffers of its own
  FLAGOS_TRACE_EXIT_TIMEOUT_MS  how long the agent may hold up the end of a process
  FLAGOS_ACCELERATOR            whose devices the command uses, without --vendor; of a vendor whose
                                devices nothing here records that is said, and the command runs
  FLAGOS_TRACER_LIBRARY         the vendor's library that the agent uses
  FLAGOS_CUPTI_LIBRARY          the same, for CUPTI only`

func newRecord() *cobra.Command {
	var o record.Options
	var api, compat string
	var noSync, quiet, noProgress bool
	var maxSize, ring string
	cmd := &cobra.Command{
		Use:   "record [flags] [--] command [argument...]",
		Short: "Run a command and write a trace of its work on the GPU",
		Long:  recordLong,
		Example: `  flagos-trace record -- python train.py
  flagos-trace record -o run7.json.gz --api all -- torchrun --nproc-per-node 8 train.py
  flagos-trace record --steps 10:13 --shapes -- python train.py
  flagos-trace record -q --summary summary.json -- ./bench --iterations 100`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return record.ErrNoCommand
			}
			switch o.Output {
			case "-", "/dev/stdout", "/dev/stderr":
				return fmt.Errorf("-o %s: that is the command's own; name a file", o.Output)
			}
			if o.SummaryFile != "" && filepath.Clean(o.SummaryFile) == filepath.Clean(o.Output) {
				return fmt.Errorf("--summary and -o are both %s", o.Output)
			}
			if err := record.CheckVendor(o.Vendor); err != nil {
				return err
			}
			if err := record.CheckRuntimeCategory(o.RuntimeCategory); err != nil {
				return err
			}
			if o.JSON && quiet {
				return errors.New("--json prints what --quiet leaves out: choose one")
			}
			if o.KillAfter < 0 {
				return fmt.Errorf("--kill-after %v: give a time above 0, such as 10s", o.KillAfter)
			}
			if err := parseLimits(&o.Limits, maxSize, ring); err != nil {
				return err
			}
			if err := o.Host.Check(&o.Limits); err != nil {
				return err
			}
			return checkFormat(api, compat)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Command = args
			o.API = tracer.APILevel(api)
			o.Sync = !noSync
			o.Compat = compat == "kineto"
			if !quiet {
				o.Log = cmd.ErrOrStderr()
				o.Width = width(os.Stderr)
				if !noProgress && !o.JSON && isTerminal(os.Stderr) {
					o.Progress = os.Stderr
				}
			}
			r, err := record.Run(o)
			if r.Concluded {
				err = nil // it is in what was printed
			}
			if r.ExitCode == 0 && err == nil {
				return nil
			}
			return &failure{r.ExitCode, err}
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVarP(&o.Output, "output", "o", "trace.json.gz", "`file` to write; compressed if it ends in .gz")
	f.StringVar(&api, "api", string(tracer.APIKineto), "`level` of API calls to record: minimal (launches, copies, waits), kineto (what torch.profiler shows) or all")
	f.BoolVar(&noSync, "no-sync", false, "do not record waits and device events")
	f.BoolVar(&o.NVTX, "nvtx", false, "record the ranges and marks that the program reports through NVTX")
	f.StringVar(&o.Vendor, "vendor", "auto", "whose `devices` the command uses: auto (those of the machine), "+vendorNames())
	f.BoolVar(&o.Preload, "preload", false, "preload the vendor's profiling library into the command (Ascend: to record copies and fills)")
	f.BoolVar(&o.Chain, "chain", false, "if CUDA_INJECTION64_PATH is set, load that library as well instead of refusing")
	f.StringVar(&o.RuntimeCategory, "runtime-category", "", "`category` of the runtime's calls in the trace (default: cuda_runtime on NVIDIA's devices, privateuse1_runtime on all others); one that readers know: "+strings.Join(record.RuntimeCategories(), ", "))
	f.StringVar(&compat, "compat", "", "`kineto`: torch.profiler's own set of fields, numbers and rows, its known errors included")
	f.StringVar(&o.SpoolDir, "spool-dir", "", "`folder` for the data of the running recording (default: that of the output)")
	f.BoolVar(&o.KeepSpool, "keep-spool", false, "keep that data after the trace is written")
	f.BoolVar(&o.NoClobber, "no-clobber", false, "fail rather than replace a trace")
	f.StringVar(&o.SummaryFile, "summary", "", "`file` to write the summary to, as JSON")
	f.BoolVar(&o.Paused, "start-paused", false, "record nothing until flagos-trace ctl start")
	f.DurationVar(&o.Delay, "delay", 0, "record nothing until so long a `time` (30s, 5m) after a process began to use the GPU")
	f.DurationVar(&o.Duration, "duration", 0, "stop recording so long a `time` after it started, each time it does")
	f.StringVar(&maxSize, "max-size", "", "`bytes` (512M, 2G; at least 4M) of data a process may record; what comes later is left out and counted")
	f.StringVar(&ring, "ring", "", "keep only the last `time` (30s, 5m) or bytes (512M, 2G; at least 8M) of each process's data, and up to a quarter more")
	f.BoolVar(&o.Host.Off, "no-host", false, "do not record PyTorch's operators, and leave PYTHONPATH alone")
	f.BoolVar(&o.Host.Shapes, "shapes", false, "with operators, record the shapes and types of their inputs (torch.profiler: record_shapes)")
	f.BoolVar(&o.Host.Stack, "stack", false, "record Python calls and where operators were called from (with_stack)")
	f.BoolVar(&o.Host.Memory, "memory", false, "record allocations and releases of memory (profile_memory)")
	f.BoolVar(&o.Host.Modules, "modules", false, "with operators, record the hierarchy of modules they belong to (with_modules)")
	f.BoolVar(&o.Host.Threads, "all-threads", false, "record operators of all Python threads with PyTorch before 2.14 too, where that may crash a program whose threads go on at the end")
	f.DurationVar(&o.Host.Slice, "host-slice", 0, "cut the recording of operators after so long a `time` (default 5s)")
	f.StringVar(&o.Host.Steps, "steps", "", "record the steps from the first `FIRST:END` names on and before the other, counted from 0, only")
	f.StringVar(&o.Host.StepMark, "step-mark", "", "with --steps, count calls of a `MODULE:FUNCTION`, such as train:step, instead of the optimizers' steps")
	f.BoolVar(&o.Merge, "merge", false, mergeUsage)
	f.DurationVar(&o.KillAfter, "kill-after", 0, "kill the command if it still runs so long a `time` (10s) after SIGTERM or SIGINT")
	f.BoolVar(&o.JSON, "json", false, "print the summary to standard error as one line of JSON, instead of text")
	f.BoolVar(&noProgress, "no-progress", false, "do not show on a terminal how the recording stands")
	f.BoolVarP(&quiet, "quiet", "q", false, "print nothing unless flagos-trace itself fails")
	return cmd
}

// vendorNames lists the vendors with a tracer, and what else they are called.
func vendorNames() string {
	var names []string
	for _, v := range tracer.Vendors() {
		also := slices.DeleteFunc(append(slices.Clone(v.Names), v.Tracer), func(name string) bool { return name == v.Word() })
		names = append(names, fmt.Sprintf("%s (%s)", v.Word(), strings.Join(also, ", ")))
	}
	return strings.Join(names, ", ")
}

// isTerminal reports whether f is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// width returns the number of columns of a terminal, 0 for anything else.
func width(f *os.File) int {
	ws, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(ws.Col)
}
