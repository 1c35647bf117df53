"""What is left of CUPTI in a program when recording is over, and cuptiFinalize, which would remove it: CUPTI alone, without the recorder."""
import re, statistics
from .common import run, table
from .inject import libraries

# Recorded, then stopped; with f: cuptiFinalize, and all of it once more.
SPEED = {'kernels': 'mklsm', 'API calls': 'mclsm', 'kernels and API calls': 'malsm', 'kernels and API calls, cuptiFinalize': 'malsfm', 'the same twice': 'malsfalsfm'}
FATE = {'one thread': ('alsf' * 10 + 'l', 0), 'a CUDA graph captured and launched while recording': ('agGsGfGl', 0),
        'a CUDA graph captured before': ('gGaGsGfGl', 0), 'four threads that launch': ('alsf' * 10 + 'l', 4)}


def measure(args, out):
    r = {'failures': [], 'speed': {}, 'fate': {}}
    real = [l for l in libraries(args) if l[0] == 'libcupti']
    program = args.bin / 'flagos-trace-cupti-detach'
    if not real or not program.exists():
        r['failures'].append(f'no libcupti of torch, or no {program}: run make cupti-detach')
        return r
    for _ in range(args.detach):
        for name, steps in SPEED.items():
            p, _ = run([program, real[0][1], steps], timeout=60)
            us = [float(x) for x in re.findall(r'^LAUNCH ([\d.]+)$', p.stdout, re.M)]
            if p.returncode or len(us) != 2:
                r['failures'].append(f'{name}: exit code {p.returncode}: {p.stderr[-200:]}')
                continue
            r['speed'].setdefault(name, []).append(us)
        for name, (steps, threads) in FATE.items():
            p, _ = run([program, real[0][1], steps, threads], timeout=30)
            ended = 'to its end' if p.stdout.endswith('DONE\n') else 'hung' if p.returncode == 124 else f'signal {-p.returncode}' if p.returncode < 0 else p.stderr.strip()[-80:]
            r['fate'].setdefault(name, []).append(ended)
    return r


def markdown(r):
    m = statistics.median
    return table(['recorded, then stopped', 'processes', 'before, us a launch', 'after', 'added (least to most)'],
                 [[name, len(v), f'{m(x[0] for x in v):.2f}', f'{m(x[1] for x in v):.2f}',
                   f'{m(x[1] - x[0] for x in v):.2f} ({min(x[1] - x[0] for x in v):.2f} to {max(x[1] - x[0] for x in v):.2f})'] for name, v in r['speed'].items()]) + [''] + \
        table(['cuptiFinalize in a program with', 'how it ended'], [[name, '; '.join(f'{e}: {v.count(e)}' for e in dict.fromkeys(v))] for name, v in r['fate'].items()]) + \
        [f'- FAILED {f}' for f in r['failures']]
