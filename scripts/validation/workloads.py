"""Workloads, recorded and held against torch.profiler's traces of the same code."""
import re, sys
from . import operators
from .common import DEVICE, WORKLOADS, events, load, names, record, run

WORK = WORKLOADS / 'torch_workloads.py'

# Runs a workload's plain mode wholly under torch.profiler.
WHOLE = """
import runpy, sys
from torch.profiler import profile, ProfilerActivity as A
work, name, out = sys.argv[1:4]
sys.argv = [work, name, 'plain']
with profile(activities=[A.CPU, A.CUDA]) as p:
    runpy.run_path(work, run_name='__main__')
p.export_chrome_trace(out)
"""


def without_window(text):
    return re.sub(r'^WINDOW \d+ \d+$', 'WINDOW', text, flags=re.M)


def validate(name, args, out):
    r = {'workload': name, 'failures': []}
    fail = r['failures'].append
    run([sys.executable, WORK, name, 'plain'])  # fills caches: compiled kernels, and warnings that come once
    plain, t_plain = run([sys.executable, WORK, name, 'plain'])
    ours_file, ref_file = out / f'{name}.json.gz', out / f'{name}.torch.json'
    ours, t_ours = run(record(args, out, name) + [sys.executable, WORK, name, 'plain'])
    ref, _ = run([sys.executable, WORK, name, 'both', ref_file])
    whole_file = out / f'{name}.whole.json'
    whole, _ = run([sys.executable, '-c', WHOLE, WORK, name, whole_file])
    r.update(seconds_plain=round(t_plain, 2), seconds_recorded=round(t_ours, 2), exit_plain=plain.returncode, exit_recorded=ours.returncode)
    for what, p in (('second half', ref), ('whole run', whole)):
        if p.returncode:
            fail(f'torch.profiler over the {what} failed: {p.stderr[-500:]}')
    if plain.returncode != ours.returncode:
        fail(f'exit code {ours.returncode}, {plain.returncode} without us')
    if without_window(plain.stdout) != without_window(ours.stdout):
        fail(f'output differs: {ours.stdout[-300:]!r} against {plain.stdout[-300:]!r}')
    if plain.stderr != ours.stderr:
        fail(f'stderr differs: {ours.stderr[-500:]!r} against {plain.stderr[-500:]!r}')
    m = re.search(r'^WINDOW (\d+) (\d+)$', ours.stdout, re.M)
    if not m or not ours_file.exists() or not ref_file.exists():
        fail('no WINDOW line or no trace: ' + ours.stdout[-300:] + ours.stderr[-300:])
        return r
    window = int(m[1]), int(m[2])
    a, b = load(ours_file), load(ref_file)
    w = re.search(r'^WINDOW (\d+) (\d+)$', whole.stdout, re.M)
    c = load(whole_file) if w and whole_file.exists() else None
    late = []
    for cat in DEVICE:
        mine, theirs = names(a, cat, window), names(b, cat)
        r[cat] = {'ours': sum(mine.values()), 'torch': sum(theirs.values())}
        if mine != theirs:
            late.append(f'{cat}: only ours {dict(mine - theirs)}, only torch {dict(theirs - mine)}')
        if c:
            theirs = names(c, cat, (int(w[1]), int(w[2])))
            r[cat]['whole'] = sum(theirs.values())
            if mine != theirs:
                fail(f'{cat}, whole run: only ours {dict(mine - theirs)}, only torch {dict(theirs - mine)}')
    r['late_profiler_differs'] = late
    # A late profiler may call a graph's copies kernels; that apart it must agree.
    if late and (not c or sum(r[cat]['ours'] for cat in DEVICE) != sum(r[cat]['torch'] for cat in DEVICE)):
        r['failures'] += late
    for cat in ('cuda_runtime', 'cuda_driver'):
        mine, theirs = names(a, cat, window), names(b, cat)
        r[cat] = {'ours': sum(mine.values()), 'torch': sum(theirs.values()), 'only_ours': dict(mine - theirs), 'only_torch': dict(theirs - mine)}
    starts = {e['id'] for e in a['traceEvents'] if e.get('ph') == 's' and e.get('cat') == 'ac2g'}
    ends = {e['id'] for e in a['traceEvents'] if e.get('ph') == 'f' and e.get('cat') == 'ac2g'}
    if starts != ends:
        fail(f'{len(starts ^ ends)} arrows with one end')
    device = [e for cat in DEVICE for e in events(a, cat)]
    r['device_events'] = len(device)
    r['without_arrow'] = sum(e['args']['correlation'] not in ends for e in device)
    if r['without_arrow']:
        fail(f"{r['without_arrow']} device events without an arrow")
    # As above: where a late profiler calls a graph's copies kernels, the one that was there from the start counts.
    if late and c:
        operators.compare(r, a, c, window, fail, (int(w[1]), int(w[2])))
    else:
        operators.compare(r, a, b, window, fail)
    check, _ = run([args.bin / 'flagos-trace', 'check', ours_file])
    if check.returncode:
        fail('check: ' + (check.stdout + check.stderr)[-500:])
    mine = {e['name']: e['args'] for e in events(a, 'kernel', window)}
    for e in events(b, 'kernel'):
        o = mine.get(e['name'], {})
        for k in ('registers per thread', 'shared memory', 'device', 'context'):
            if k in o and o[k] != e['args'][k]:
                fail(f"{e['name'][:60]}: {k} {o[k]}, torch has {e['args'][k]}")
    r['completeness'] = a.get('flagosTrace')
    r['versions'] = {k: a.get(k) for k in ('cupti_version', 'cuda_runtime_version', 'cuda_driver_version')}
    verdict = (r['completeness'] or {}).get('verdict')
    if verdict != 'complete':
        fail(f"verdict {verdict}: dropped {(r['completeness'] or {}).get('dropped')}, missing {(r['completeness'] or {}).get('missing')}")
    return r


def markdown(results):
    lines = ['| workload | kernels ours/torch/torch over the whole run | copies | fills | device events without arrow | exit, output | result |', '|---|---|---|---|---|---|---|']
    for r in results:
        pair = lambda c: '/'.join(str(r[c].get(k, '-')) for k in ('ours', 'torch', 'whole')) if c in r else '-'
        same = 'as without us' if not any(f.startswith(('exit', 'output', 'stderr')) for f in r['failures']) else 'differs'
        lines.append(f"| {r['workload']} | {pair('kernel')} | {pair('gpu_memcpy')} | {pair('gpu_memset')} | {r.get('without_arrow', '-')} | {same} | {'ok' if not r['failures'] else 'FAILED'} |")
    lines.append('')
    lines += operators.markdown(results)
    for r in results:
        lines += [f"- {r['workload']}: {f}" for f in r['failures']]
        lines += [f"- {r['workload']}, against a profiler that started late: {f}" for f in r.get('late_profiler_differs', [])]
    return lines + ['']
