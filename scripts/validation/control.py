"""A window opened and closed by flagos-trace ctl in a launch loop that runs on: its speed before, during and after, and what is in the traces."""
import bisect, re, subprocess, sys, time
from . import stats
from .common import WORKLOADS, events, load, ns, record, run, span, table


def measure(args, out, flags, seconds=1.6):
    r = {'failures': [], 'flags': flags, 'ctl': {}}
    fail = r['failures'].append
    said, snap = out / 'ctl.txt', out / 'ctl-snapshot.json.gz'
    command = record(args, out, 'ctl', '--start-paused', *flags) + [sys.executable, WORKLOADS / 'launch_loop.py', 'x', '--until-eof', '--launches', '5000']

    def ctl(*words):
        t0 = time.time_ns()
        p, _ = run([args.bin / 'flagos-trace', 'ctl', *words, pid])
        r['ctl'][words[0]] = {'exit_code': p.returncode, 'ms': (time.time_ns() - t0) / 1e6}
        if p.returncode:
            fail(f'ctl {words[0]}: exit code {p.returncode}: {(p.stdout + p.stderr)[-300:]}')
        return t0, time.time_ns()

    with open(said, 'w') as f, open(out / 'ctl.err', 'w') as err:
        p = subprocess.Popen([str(a) for a in command], stdin=subprocess.PIPE, stdout=f, stderr=err)
        try:
            deadline, pid = time.monotonic() + 90, None
            while not pid and p.poll() is None and time.monotonic() < deadline:
                time.sleep(0.02)
                m = re.search(r'^PID (\d+)$', said.read_text(), re.M)
                pid = m and m[1]
            if not pid:
                fail('the loop did not begin: ' + (out / 'ctl.err').read_text()[-300:])
                return r
            time.sleep(seconds)
            ctl('status')
            start = ctl('start')
            time.sleep(seconds / 2)
            ctl('snapshot', '-o', snap)
            time.sleep(seconds / 8)
            stop = ctl('stop')
            time.sleep(seconds)
            p.stdin.close()
            r['exit_code'] = p.wait(120)
        except subprocess.TimeoutExpired:
            fail('record did not end within 120 s')
            return r
        finally:
            if p.poll() is None:
                p.kill()
    if r['exit_code']:
        fail(f"exit code {r['exit_code']}")
    windows = [(float(m[0]), int(m[1]), int(m[2])) for m in re.findall(r'^WINDOW x ([\d.]+) [\d.]+ (\d+) (\d+)$', said.read_text(), re.M)][1:]
    parts = {'before': [w for w in windows if w[2] < start[0]], 'during': [w for w in windows if w[1] > start[1] and w[2] < stop[0]],
             'after': [w for w in windows if w[1] > stop[1]]}
    r['us'] = {k: [w[0] for w in v] for k, v in parts.items()}
    for file in (out / 'ctl.json.gz', snap):
        check, _ = run([args.bin / 'flagos-trace', 'check', file])
        if check.returncode:
            fail(f'check {file.name}: {(check.stdout + check.stderr)[-300:]}')
    if any(not v for v in parts.values()) or not (out / 'ctl.json.gz').exists():
        fail(f'windows: { {k: len(v) for k, v in parts.items()} }')
        return r
    trace = load(out / 'ctl.json.gz')
    base = trace.get('baseTimeNanoseconds', 0)
    begins = sorted(ns(e['ts'], base) for e in events(trace, 'kernel'))
    count = lambda a, b: bisect.bisect_left(begins, b) - bisect.bisect_left(begins, a)
    r.update(kernels=len(begins), verdict=(trace.get('flagosTrace') or {}).get('verdict'))
    wrong = [n for n in (count(a, b) for _, a, b in parts['during']) if n != 5000]
    if wrong:
        fail(f'windows while recording have {wrong} kernels, not 5000')
    outside = len(begins) - count(start[0], stop[1])
    if outside:
        fail(f'{outside} kernels outside the window')
    if r['verdict'] != 'complete':
        c = trace.get('flagosTrace') or {}
        fail(f"verdict {r['verdict']}: missing {c.get('missing')}, dropped {c.get('dropped')}, buffers {c.get('buffers')}, flushed {c.get('flushed')}, {c.get('diagnoses')}")
    before, after = [[us] for us in r['us']['before']], [[us] for us in r['us']['after']]
    margin = 0.05
    r['claim'] = stats.decide('after ctl stop as fast as before', [after, before], lambda a, b: stats.pooled(a) - stats.pooled(b), margin * stats.pooled(before),
                              rule=f'{margin:.0%} of a launch before at most; windows of one process')
    return r


def markdown(r):
    lines = table([f"one process, by flagos-trace ctl, {' '.join(r['flags']) or 'with operators'}", 'windows', 'median us a launch', 'lowest to highest'],
                  [[k, len(v), f'{stats.median(v):.2f}' if v else '-', span(v)] for k, v in r.get('us', {}).items()])
    if 'claim' in r:
        c = r['claim']
        at = f"{c['estimate']:.3f} us, 95 % interval {c['low']:.3f} to {c['high']:.3f}, bound {c['bound']:.3f}: " if 'estimate' in c else ''
        lines.append(f"- {c['claim']} ({c['rule']}): {at}**{c['verdict']}**: {c['why']}")
    lines.append('- ' + ', '.join(f"ctl {k}: exit code {v['exit_code']} in {v['ms']:.0f} ms" for k, v in r['ctl'].items())
                 + f"; {r.get('kernels', 'no')} kernels in the trace, verdict {r.get('verdict', 'unknown')}")
    return lines + [f'- FAILED, ctl: {f}' for f in r['failures']] + ['']
