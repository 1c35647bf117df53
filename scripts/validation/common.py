"""Running programs, and reading traces."""
import collections, gzip, json, pathlib, subprocess, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKLOADS = ROOT / 'scripts' / 'workloads'
DEVICE = ('kernel', 'gpu_memcpy', 'gpu_memset')
API = ('cuda_runtime', 'cuda_driver')


def run(argv, timeout=300, **kw):
    t = time.monotonic()
    try:
        p = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=timeout, **kw)
    except subprocess.TimeoutExpired as e:
        text = lambda b: b.decode(errors='replace') if isinstance(b, bytes) else b or ''
        p = subprocess.CompletedProcess(argv, 124, text(e.stdout), text(e.stderr) + f'\nended after {timeout} s')
    return p, time.monotonic() - t


def record(args, out, name, *flags):
    """A command line of flagos-trace record, up to the program."""
    return [args.bin / 'flagos-trace', 'record', '--quiet', '-o', out / f'{name}.json.gz', '--summary', out / f'{name}.summary.json', *flags, '--']


def load(path):
    with (gzip.open(path, 'rt') if str(path).endswith('.gz') else open(path)) as f:
        return json.load(f)


def ns(us, base=0):
    """Nanoseconds of a ts. Relative to baseTimeNanoseconds a ts stays below 2^53 ns, so the float is good to about 1 ns."""
    return round(us * 1000) + base


def inside(trace, window=None):
    """Complete events, of the window only if one is given."""
    base = trace.get('baseTimeNanoseconds', 0)
    for e in trace['traceEvents']:
        if e.get('ph') == 'X' and 'ts' in e:
            if window is None or (ns(e['ts'], base) >= window[0] and ns(e['ts'] + e['dur'], base) <= window[1]):
                yield e


def events(trace, cat, window=None):
    return (e for e in inside(trace, window) if e.get('cat') == cat)


def names(trace, cat, window=None):
    return collections.Counter(e['name'] for e in events(trace, cat, window))


def summary(path):
    """What record said of the command's trace: the verdict, and counts by kind."""
    s = load(path)
    t = s['traces'][0] if s.get('traces') else {}
    return t.get('verdict'), t.get('events', {})


def table(head, rows):
    return ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)] + ['| ' + ' | '.join(map(str, r)) + ' |' for r in rows] + ['']


def span(values):
    """Lowest to highest."""
    return f'{min(values):.2f} to {max(values):.2f}' if values else '-'
