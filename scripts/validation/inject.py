"""InitializeInjection, the call by which the driver has the recorder load and arm: each time in a fresh process, without the driver."""
import glob, importlib.util, os, statistics, sys
from .common import run, table

ONCE = """
import ctypes, os, sys, time
what, lib, agent = sys.argv[1:4]
c = ctypes.CDLL(agent) if what == 'inject' else None
t = time.perf_counter()
if what == 'inject':
    c.InitializeInjection()
else:
    c = ctypes.CDLL(lib)
    if what == 'enable':
        c.cuptiActivityEnable(8)
print((time.perf_counter() - t) * 1e3, flush=True)
os._exit(0)
"""
WHAT = {'open': 'opening the library', 'enable': 'opening it and enabling one kind', 'inject': '`InitializeInjection`'}


def libraries(args):
    """torch's libcupti, and the look-alike where `make fakegpu` has built it; with the folders that each needs."""
    spec = importlib.util.find_spec('torch')
    d = os.path.dirname(spec.origin) if spec else ''
    real = glob.glob(d + '/lib/libcupti*.so*') + glob.glob(d + '/../nvidia/**/libcupti.so*', recursive=True) if d else []
    fake = args.bin / 'fakegpu'
    found = [('libcupti', real[0], os.path.dirname(real[0]))] if real else []
    if (fake / 'cupti13').is_dir():
        found.append(('the look-alike', str(fake / 'cupti13' / 'libcupti.so.13'), f"{fake / 'lib'}:{fake / 'cupti13'}"))
    return found


def measure(args, out):
    r = {'rows': [], 'failures': []}
    spools = out / 'inject-spools'
    spools.mkdir(exist_ok=True)
    for name, lib, folders in libraries(args):
        env = {**os.environ, 'FLAGOS_CUPTI_LIBRARY': lib, 'FLAGOS_TRACE_DIR': str(spools), 'LD_LIBRARY_PATH': folders + ':' + os.environ.get('LD_LIBRARY_PATH', '')}
        for what in WHAT:
            ms = []
            for _ in range(args.inject):
                p, _ = run([sys.executable, '-c', ONCE, what, lib, args.bin / 'libflagos_trace.so'], env=env)
                if p.returncode:
                    r['failures'].append(f'{what} of {name}: {p.stderr[-300:]}')
                    break
                ms.append(float(p.stdout.split()[-1]))
            if ms:
                r['rows'].append({'library': name, 'what': WHAT[what], 'processes': len(ms), 'median_ms': statistics.median(ms), 'least_ms': min(ms), 'most_ms': max(ms)})
    return r


def markdown(r):
    return table(['library', 'what', 'processes', 'median, ms', 'least to most, ms'],
                 [[x['library'], x['what'], x['processes'], f"{x['median_ms']:.2f}", f"{x['least_ms']:.2f} to {x['most_ms']:.2f}"] for x in r['rows']]) + \
        [f'- FAILED {f}' for f in r['failures']]
