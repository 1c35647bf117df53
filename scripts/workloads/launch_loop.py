"""A loop that does nothing but launch, in torch: `python3 launch_loop.py SCHEDULE [--launches N] [--warm N] [--batch N] [--cpu N] [--export FILE] [--until-eof]`.
One thread launches one tiny kernel over and over. SCHEDULE has a letter for each window: 0 nothing is recorded; r the recorder is started
first, through its C interface; t the window lies in a torch.profiler session with CUDA activities, T in one with CPU and CUDA activities. Starting
and stopping are not timed.
Before each window the thread may run anywhere, so that threads which a library makes inherit no CPU; it is pinned to --cpu for the second half of
the warm-up and the window.

A line a window: `WINDOW letter us wall start end` - microseconds a launch, counted between the waits that come after each batch; the same with
the waits; start and end in CLOCK_REALTIME ns. At the end `RECORDED n`: launches made while the recorder was started.
--export writes the last session's trace. --until-eof ignores the letters: it repeats windows as things are, for `flagos-trace ctl` from outside,
until standard input ends."""
import argparse, contextlib, ctypes, os, select, sys, time
import torch

ap = argparse.ArgumentParser()
ap.add_argument('schedule')
ap.add_argument('--launches', type=int, default=10000)
ap.add_argument('--warm', type=int, default=2000)
ap.add_argument('--batch', type=int, default=500)
ap.add_argument('--cpu', type=int, default=-1)
ap.add_argument('--export')
ap.add_argument('--until-eof', action='store_true')
args = ap.parse_args()

anywhere = os.sched_getaffinity(0)
t = torch.ones(16, device='cuda')
recording, recorded = False, 0


def pin(cpu):
    """For the calling thread alone."""
    os.sched_setaffinity(0, anywhere if cpu < 0 else {cpu})


def loop(n):
    """Launches n kernels; returns the time between the waits in ns."""
    global recorded
    ns = 0
    for done in range(0, n, args.batch):
        batch = range(min(args.batch, n - done))
        start = time.perf_counter_ns()
        for _ in batch:
            t.add_(1)
        ns += time.perf_counter_ns() - start
        torch.cuda.synchronize()
    if recording:
        recorded += n
    return ns


def record(on):
    global recording
    if on == recording:
        return
    name = 'flagos_trace_start' if on else 'flagos_trace_stop'
    lib = ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH'], mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    code = getattr(lib, name)()
    if code:
        sys.exit(f'{name} returned {code}')
    recording = on


def session(letter):
    if letter not in 'tT':
        return contextlib.nullcontext()
    from torch.profiler import profile, ProfilerActivity as A
    return profile(activities=[A.CUDA] if letter == 't' else [A.CPU, A.CUDA])


def window(letter):
    pin(-1)
    if letter in '0rtT':
        record(letter == 'r')
    with session(letter) as p:
        loop(args.warm // 2)
        pin(args.cpu)
        loop(args.warm - args.warm // 2)
        start, t0 = time.time_ns(), time.perf_counter_ns()
        ns = loop(args.launches)
        wall, end = time.perf_counter_ns() - t0, time.time_ns()
        pin(-1)
    print(f'WINDOW {letter} {ns / 1e3 / args.launches:.4f} {wall / 1e3 / args.launches:.4f} {start} {end}', flush=True)
    return p


loop(5000)
print('PID', os.getpid(), flush=True)
if args.until_eof:
    while not select.select([sys.stdin], [], [], 0)[0]:
        window('x')
else:
    last = None
    for letter in args.schedule:
        p = window(letter)
        last = p or last
    record(False)
    if args.export and last:
        last.export_chrome_trace(args.export)
print('RECORDED', recorded, flush=True)
