"""Training that goes on until it is killed: `python3 train_steps.py`. Prints `PID n` and `READY` once warm, then for every step
`STEP start end` in CLOCK_REALTIME ns; a step ends with a wait for the device."""
import os, sys, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch_workloads

torch_workloads.train(3)
print('PID', os.getpid(), flush=True)
print('READY', flush=True)
while True:
    start = time.time_ns()
    torch_workloads.train(1)
    os.write(1, b'STEP %d %d\n' % (start, time.time_ns()))
