"""Training that is killed with SIGKILL in the middle: what of it is in the trace."""
import bisect, os, random, re, signal, subprocess, sys, time
from .common import WORKLOADS, events, load, ns, record, span, table

ALLOWED_MS = 200


def once(args, out, flush, flags, seconds):
    """One training, killed so long after it is warm. flush: FLAGOS_TRACE_FLUSH_MS, or None for the default."""
    env = {**os.environ, 'PYTHONUNBUFFERED': '1'}
    env.pop('FLAGOS_TRACE_FLUSH_MS', None)
    if flush:
        env['FLAGOS_TRACE_FLUSH_MS'] = str(flush)
    r = {'flush_ms': flush, 'operators': '--no-host' not in flags, 'failures': []}
    said, name = out / 'killed.txt', 'killed'
    trace = out / f'{name}.json.gz'
    trace.unlink(missing_ok=True)
    with open(said, 'w') as f, open(out / 'killed.err', 'w') as err:
        p = subprocess.Popen([str(a) for a in record(args, out, name, *flags) + [sys.executable, WORKLOADS / 'train_steps.py']], stdout=f, stderr=err, env=env)
        deadline = time.monotonic() + 90
        while 'READY' not in said.read_text() and p.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        pid = re.search(r'^PID (\d+)$', said.read_text(), re.M)
        if not pid or p.poll() is not None:
            p.kill()
            r['failures'].append('training did not begin: ' + (out / 'killed.err').read_text()[-300:])
            return r
        time.sleep(seconds)
        killed = time.time_ns()
        os.kill(int(pid[1]), signal.SIGKILL)
        try:
            r['exit_code'] = p.wait(60)
        except subprocess.TimeoutExpired:
            p.kill()
            r['failures'].append('record did not end within 60 s')
            return r
    if r['exit_code'] != 137:
        r['failures'].append(f"exit code {r['exit_code']}, not 137")
    if not trace.exists():
        r['failures'].append('no trace')
        return r
    judge(r, load(trace), killed, [(int(a), int(b)) for a, b in re.findall(r'^STEP (\d+) (\d+)$', said.read_text(), re.M)])
    return r


def judge(r, trace, killed, steps):
    """Every step that ended at least ALLOWED_MS before the kill must have all its kernels: as many as most steps have, those being alike."""
    base = trace.get('baseTimeNanoseconds', 0)
    ends = sorted(ns(e['ts'] + e['dur'], base) for e in events(trace, 'kernel'))
    r.update(verdict=(trace.get('flagosTrace') or {}).get('verdict'), kernels=len(ends), steps=len(steps))
    if not ends or not steps:
        r['failures'].append(f'{len(ends)} kernels, {len(steps)} steps')
        return
    count = lambda a, b: bisect.bisect_right(ends, b) - bisect.bisect_left(ends, a)
    due = [count(a, b) for a, b in steps if b <= killed - ALLOWED_MS * 1_000_000]
    r['kernels_a_step'] = max(set(due), key=due.count) if due else 0
    short = [n for n in due if n != r['kernels_a_step']]
    late = [e for e in ends if e > killed - 1_000_000_000]
    r.update(steps_due=len(due), last_kernel_ms=(killed - ends[-1]) / 1e6, last_wait_ms=(killed - steps[-1][1]) / 1e6,
             largest_gap_ms=max((b - a for a, b in zip(late, late[1:])), default=0) / 1e6,
             largest_gap_between_steps_ms=max((b[0] - a[1] for a, b in zip(steps, steps[1:])), default=0) / 1e6)
    if len(due) < 5 or not r['kernels_a_step']:
        r['failures'].append(f"{len(due)} steps ended {ALLOWED_MS} ms before the kill, {r['kernels_a_step']} kernels in most")
    if short:
        r['failures'].append(f"{len(short)} steps that ended {ALLOWED_MS} ms before the kill have {sorted(set(short))} kernels, not {r['kernels_a_step']}")


def self_test():
    """Known answers. Raises AssertionError."""
    ms, killed = 1_000_000, 2_000_000_000
    steps = [(i * 20 * ms, (i + 1) * 20 * ms - 1000) for i in range(100)]
    kernels = [a + k * ms for a, _ in steps for k in range(1, 11)]

    def failures(kept, steps=steps):
        r = {'failures': []}
        judge(r, {'baseTimeNanoseconds': 0, 'traceEvents': [{'ph': 'X', 'cat': 'kernel', 'ts': t / 1000, 'dur': 1} for t in kept]}, killed, steps)
        return r['failures']

    assert not failures(kernels)
    assert not failures([t for t in kernels if t < killed - 150 * ms])
    assert failures([t for t in kernels if t < killed - 260 * ms]), 'the end is missing'
    assert failures(kernels[:400] + kernels[401:]), 'one kernel is missing'
    assert failures([]) and failures(kernels, []) and failures(kernels, steps[:3])


def measure(args, out):
    rng = random.Random(9)
    ways = [(None, ['--no-host']), (None, [])] + [(int(f), ['--no-host']) for f in args.kill_flush.split(',') if f]
    return [once(args, out, flush, flags, rng.uniform(1.2, 2)) for flush, flags in ways for _ in range(args.kill9)]


def markdown(results):
    rows = []
    way = lambda r: (r['flush_ms'], r['operators'])
    for flush, operators in dict.fromkeys(map(way, results)):
        of = [r for r in results if way(r) == (flush, operators)]
        get = lambda k: span([r[k] for r in of if k in r])
        bad = sum(bool(r['failures']) for r in of)
        rows.append([f'{flush} ms' if flush else 'default', 'yes' if operators else 'no', len(of), get('last_kernel_ms'), get('last_wait_ms'), get('largest_gap_ms'),
                     f"{sum(r.get('steps_due', 0) for r in of)} of {sum(r.get('steps', 0) for r in of)}",
                     ', '.join(sorted({str(r.get('verdict')) for r in of})), 'all' if not bad else f'**{bad} tries FAILED**'])
    lines = table(['records fetched every', 'operators', 'kills', 'last kernel in the trace, ms before the kill', 'last wait of the program, ms before it',
                   'largest gap between late kernels, ms', f'steps that ended {ALLOWED_MS} ms before', 'verdict', 'kernels of those steps in the trace'], rows)
    return lines + [f"- FAILED, kill {i + 1}: {f}" for i, r in enumerate(results) for f in r['failures']] + ['']
