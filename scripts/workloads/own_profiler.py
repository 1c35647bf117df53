"""A program that profiles itself: `python3 own_profiler.py cpu|both|schedule|twice|none`. It launches a known number of kernels before, inside and after
its torch.profiler sessions, and prints what its own traces hold as a line of JSON: operators, kernels, API calls, kernels with an operator."""
import json, os, sys, tempfile
import torch
from torch.profiler import ProfilerActivity as A, profile, schedule

mode = sys.argv[1]
t = torch.ones(64, device='cuda')
launched = 0


def work(n=50):
    global launched
    for _ in range(n):
        t.add_(1)
    launched += n
    torch.cuda.synchronize()


def look(p):
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, 'trace.json')
        p.export_chrome_trace(path)
        with open(path) as f:
            events = [e for e in json.load(f)['traceEvents'] if e.get('ph') == 'X']
    of = lambda *cats: [e for e in events if e.get('cat') in cats]
    ids = {e['args'].get('External id') for e in of('cpu_op')}
    return {'cpu_op': len(of('cpu_op')), 'kernel': len(of('kernel')), 'cuda_runtime': len(of('cuda_runtime')),
            'linked': sum(e['args'].get('External id') in ids for e in of('kernel')), 'averages': len(p.key_averages()) > 0}


seen = []
work()
if mode in ('cpu', 'both', 'twice'):
    for _ in range(2 if mode == 'twice' else 1):
        with profile(activities=[A.CPU] if mode == 'cpu' else [A.CPU, A.CUDA]) as p:
            work()
        seen.append(look(p))
        work()
elif mode == 'schedule':
    with profile(activities=[A.CPU, A.CUDA], schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=lambda p: seen.append(look(p))) as p:
        for _ in range(10):
            work()
            p.step()
work()
print('SEEN', json.dumps(seen), flush=True)
print('LAUNCHED', launched, flush=True)
