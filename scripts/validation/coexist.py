"""The recorder beside the program's own torch.profiler, slices of the host side under a full launch queue, programs that fork, and assumptions about
torch."""
import json, re, sys
from .common import ROOT, WORKLOADS, events, load, record, run, table

MODES = ('none', 'cpu', 'both', 'schedule', 'twice')
FORK = """
import os, torch
pid = os.fork()
if pid == 0:
    try:
        ok = torch.ones(4, device='cuda').sum().item() == 4
    except Exception as e:
        print(e, flush=True)
        ok = False
    os._exit(0 if ok else 7)
print('CHILD', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def kernels(trace, name=None):
    found = [e for e in events(trace, 'kernel') if name is None or name in e['name']]
    return found, len({(e['args']['correlation'], e['args'].get('graph node id')) for e in found})


def own(mode, args, out):
    """One program that profiles itself, without and with the recorder."""
    r = {'mode': mode, 'failures': []}
    fail = r['failures'].append
    command = [sys.executable, WORKLOADS / 'own_profiler.py', mode]
    plain, _ = run(command)
    ours, _ = run(record(args, out, f'own-{mode}') + command)
    if (plain.returncode, plain.stderr) != (ours.returncode, ours.stderr):
        fail(f'exit code {ours.returncode}, {plain.returncode} without us; stderr {ours.stderr[-300:]!r} against {plain.stderr[-300:]!r}')
    see = lambda p: json.loads((re.findall(r'^SEEN (.*)$', p.stdout, re.M) or ['null'])[0])
    r['alone'], r['recorded'] = see(plain), see(ours)
    if r['alone'] != r['recorded']:
        fail(f"the program's own traces: {r['recorded']}, {r['alone']} without us")
    m = re.search(r'^LAUNCHED (\d+)$', ours.stdout, re.M)
    file = out / f'own-{mode}.json.gz'
    if not m or not file.exists():
        fail('no trace, or the program did not come to its end')
        return r
    trace = load(file)
    found, distinct = kernels(trace, 'CUDAFunctorOnSelf_add')
    c = trace.get('flagosTrace') or {}
    r.update(launched=int(m[1]), kernels=len(found), distinct=distinct, verdict=c.get('verdict'), operators=c.get('operators'),
             linked=sum('External id' in e['args'] for e in found))
    if len(found) != int(m[1]) or distinct != len(found):
        fail(f'{len(found)} kernels ({distinct} distinct) of {m[1]} launches')
    if c.get('verdict') != 'complete':
        fail(f"verdict {c.get('verdict')}: missing {c.get('missing')}, dropped {c.get('dropped')}")
    return r


def slices(args, out, ms=100, seconds=12):
    r = {'mode': f'slices of {ms} ms', 'failures': []}
    p, _ = run(record(args, out, 'slices', '--host-slice', f'{ms}ms') + [sys.executable, WORKLOADS / 'many_slices.py', seconds])
    m = re.search(r'^LAUNCHED (\d+)$', p.stdout, re.M)
    if p.returncode or p.stderr or not m:
        r['failures'].append(f'exit code {p.returncode}: {p.stderr[-300:]}')
        return r
    trace = load(out / 'slices.json.gz')
    found, distinct = kernels(trace, 'CUDAFunctor')
    c = trace.get('flagosTrace') or {}
    o = c.get('operators') or {}
    r.update(launched=int(m[1]), kernels=len(found), distinct=distinct, verdict=c.get('verdict'), operators=o, linked=sum('External id' in e['args'] for e in found))
    if len(found) != int(m[1]) or distinct != len(found):
        r['failures'].append(f'{len(found)} kernels ({distinct} distinct) of {m[1]} launches')
    if c.get('verdict') != 'complete':
        r['failures'].append(f"verdict {c.get('verdict')}: missing {c.get('missing')}, dropped {c.get('dropped')}")
    if o.get('slices', 0) < 100:
        r['failures'].append(f"{o.get('slices', 0)} slices, fewer than 100")
    return r


def plain(name, args, out, code, *flags, expect=None):
    r = {'mode': name, 'failures': []}
    alone, _ = run([sys.executable, *code])
    ours, _ = run(record(args, out, 'plain', *flags) + [sys.executable, *code])
    for what in ('returncode', 'stdout', 'stderr'):
        if getattr(alone, what) != getattr(ours, what):
            r['failures'].append(f'{what} {str(getattr(ours, what))[-300:]!r}, {str(getattr(alone, what))[-300:]!r} without us')
    if expect and expect not in ours.stdout:
        r['failures'].append(f'no {expect!r} in {ours.stdout[-300:]!r}')
    return r


def contract(out):
    r = {'mode': 'assumptions about torch', 'failures': []}
    path = ROOT / 'internal' / 'faketorch' / 'contract' / 'contract.py'
    p, _ = run([sys.executable, path], cwd=out)
    r['lines'] = p.stdout.split('\n')
    r['failures'] += [line for line in r['lines'] if line.startswith('FAIL')] or ([p.stderr[-300:]] if p.returncode else [])
    return r


def nvtx(args, out):
    r = {'mode': 'NVTX ranges', 'failures': []}
    script = WORKLOADS / 'nvtx_ranges.py'
    p, _ = run(record(args, out, 'nvtx', '--nvtx') + [sys.executable, script])
    if p.returncode or p.stderr:
        r['failures'].append(f'exit code {p.returncode}: {p.stderr[-300:]}')
    else:
        q, _ = run([sys.executable, script, '--check', out / 'nvtx.json.gz'], input=p.stdout)
        r['lines'] = q.stdout.strip().split('\n')
        if q.returncode:
            r['failures'].append((q.stdout + q.stderr)[-300:])
    return r


def measure(args, out):
    if args.coexist == 'slices':
        return [slices(args, out)]
    return [own(mode, args, out) for mode in MODES] + [
        slices(args, out), plain('fork before CUDA', args, out, ['-c', FORK], expect='CHILD 0'),
        plain('without torch', args, out, ['-c', 'print(sum(range(10)))']), contract(out), nvtx(args, out)]


def markdown(results):
    rows = []
    for r in results:
        o = r.get('operators') or {}
        rows.append([r['mode'], r.get('launched', '-'), r.get('kernels', '-'), r.get('linked', '-'), o.get('slices', '-'), o.get('program_slices', '-'), r.get('verdict', '-'),
                     'as without us' if r.get('alone') is not None and r['alone'] == r['recorded'] else '-', 'FAILED' if r['failures'] else 'ok'])
    lines = table(['program', 'launches', 'kernels in our trace', 'with an operator', 'slices', "of its own profiler", 'verdict', "the program's own traces", 'result'], rows)
    return lines + [f"- FAILED, {r['mode']}: {f}" for r in results for f in r['failures']] + ['']
