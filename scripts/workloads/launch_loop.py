"""A loop that does nothing but launch: `python3 launch_loop.py plain|torch [windows] [launches]`. One thread launches one tiny kernel over and
over; each window's time a launch is printed in microseconds. `torch` runs each window in a torch.profiler session with CUDA activities; starting and
stopping the session is not timed."""
import contextlib, sys, time
import torch

mode = sys.argv[1] if len(sys.argv) > 1 else 'plain'
windows = int(sys.argv[2]) if len(sys.argv) > 2 else 7
launches = int(sys.argv[3]) if len(sys.argv) > 3 else 20000

t = torch.ones(16, device='cuda')


def session():
    if mode != 'torch':
        return contextlib.nullcontext()
    from torch.profiler import profile, ProfilerActivity as A
    return profile(activities=[A.CUDA])


for _ in range(5000):
    t.add_(1)
torch.cuda.synchronize()
for i in range(windows + 1):
    with session():
        for _ in range(2000):
            t.add_(1)
        torch.cuda.synchronize()
        t0 = time.perf_counter()
        for _ in range(launches):
            t.add_(1)
        torch.cuda.synchronize()
        us = (time.perf_counter() - t0) / launches * 1e6
    if i:  # the first window warms up
        print('US %.4f' % us, flush=True)
