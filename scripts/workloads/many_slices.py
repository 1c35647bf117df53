"""A full launch queue while the host side is cut into slices: `python3 many_slices.py SECONDS`. Launches without waiting, a few hundred kernels ahead of
the device, and prints the number of launches: `LAUNCHED n`."""
import sys, time
import torch

seconds = float(sys.argv[1])
a = torch.randn(2048, 2048, device='cuda')
b = torch.empty_like(a)
torch.cuda.synchronize()
n, end = 0, time.monotonic() + seconds
while time.monotonic() < end:
    with torch.profiler.record_function('burst'):
        for _ in range(150):
            torch.add(a, 1, out=b)
    n += 150
torch.cuda.synchronize()
print('LAUNCHED', n, flush=True)
