"""The tables of `flagos-trace summary` against torch's own key_averages() of the same run: every row, to the nanosecond."""
import json, sys
from .common import WORKLOADS, run, table

WORK = WORKLOADS / 'torch_workloads.py'
NAMES = ('basic', 'train', 'comp', 'graph')

# Writes the trace of a workload's second run, and what key_averages() says of it, with times in ns.
PROFILED = """
import json, runpy, sys
from torch.profiler import profile, ProfilerActivity as A
work, name, trace, rows = sys.argv[1:5]
f = runpy.run_path(work)['FN'][name]
f()
with profile(activities=[A.CPU, A.CUDA]) as p:
    f()
p.export_chrome_trace(trace)
ns = lambda us: round(us * 1000)
json.dump([dict(name=a.key, device=str(a.device_type).split('.')[-1] != 'CPU', annotation=bool(getattr(a, 'is_user_annotation', False)), calls=a.count,
                cpu_self_ns=ns(a.self_cpu_time_total), cpu_total_ns=ns(a.cpu_time_total),
                device_ns=ns(a.self_device_time_total), device_total_ns=ns(a.device_time_total)) for a in p.key_averages()], open(rows, 'w'))
"""

# What may differ, by design (docs/summary.md): torch counts the total of an operator right inside one of its own name twice, makes one call of two where the
# inner is all there is, takes the profiler's own work ("Activity Buffer Request") out of the CPU time of what ran then, and counts the kernel of that launch
# twice in the totals around it.
EXACT = {'operator': ('device_ns',), 'kernel': ('calls', 'device_ns')}
TOLD = {'operator': ('calls', 'device_total_ns', 'cpu_self_ns', 'cpu_total_ns'), 'call': ('calls', 'cpu_self_ns')}


def compare(rows, summary):
    """Counts of equal values, and differences, of all rows of torch's table that summary has a table for."""
    ours = {'operator': {o['name']: o for o in summary['operators']},
            'kernel': {k['name']: dict(k, calls=k['count']) for k in summary['kernels']},
            'call': {c['name']: c for c in summary['api_calls']}}
    r = {'rows': {}, 'equal': {}, 'differ': [], 'failures': [], 'unknown': []}
    for row in rows:
        if row['annotation'] or row['device'] and row['name'] not in ours['kernel']:
            if row['device'] and not row['annotation']:
                r['unknown'].append(row['name'])
            continue
        kind = 'kernel' if row['device'] else 'operator' if row['name'] in ours['operator'] else 'call'
        mine = ours[kind].get(row['name'])
        if mine is None:  # an annotation on the host, or the profiler's own work
            r['unknown'].append(row['name'])
            continue
        r['rows'][kind] = r['rows'].get(kind, 0) + 1
        for field in EXACT.get(kind, ()) + TOLD.get(kind, ()):
            if mine.get(field, 0) == row[field]:
                key = f'{kind} {field}'
                r['equal'][key] = r['equal'].get(key, 0) + 1
                continue
            text = f"{kind} {row['name']}: {field} {mine.get(field, 0)}, torch {row[field]}"
            (r['failures'] if field in EXACT.get(kind, ()) else r['differ']).append(text)
    for kind in ('operator', 'kernel'):
        theirs = {row['name'] for row in rows if row['device'] == (kind == 'kernel')}
        r['failures'] += [f'{kind} {n} is not in torch\'s table' for n in ours[kind] if n not in theirs]
    whole = sum(row['device_ns'] for row in rows if row['device'] and not row['annotation'])
    r['device_ns'] = {'ours': summary['device_work']['device_ns'], 'torch': whole}
    if whole != summary['device_work']['device_ns']:
        r['failures'].append(f"device time {summary['device_work']['device_ns']} ns, torch {whole}")
    return r


def measure(args, out):
    results = []
    for name in NAMES:
        trace, rows = out / f'averages-{name}.json', out / f'averages-{name}.rows.json'
        p, _ = run([sys.executable, '-c', PROFILED, WORK, name, trace, rows])
        s, _ = run([args.bin / 'flagos-trace', 'summary', '--json', trace]) if p.returncode == 0 else (p, 0)
        if p.returncode or s.returncode:
            results.append({'workload': name, 'failures': [(p if p.returncode else s).stderr[-500:]]})
            continue
        results.append({'workload': name, **compare(json.loads(rows.read_text()), json.loads(s.stdout))})
    return results


def markdown(results):
    kinds = lambda r: ', '.join(f'{n} {k}s' for k, n in r.get('rows', {}).items())
    of = lambda r, field: ', '.join(f"{n} of {r['rows'][k.split()[0]]} {k.split()[0]}s" for k, n in r.get('equal', {}).items() if k.split()[1] == field)
    lines = table(['workload', "rows of torch's table", 'own device time equal', 'calls equal', 'device total equal', 'own CPU time equal', 'device time, ns', 'failures'],
                  [[r['workload'], kinds(r), of(r, 'device_ns'), of(r, 'calls'), of(r, 'device_total_ns'), of(r, 'cpu_self_ns'), r.get('device_ns', {}).get('ours', '-'),
                    len(r['failures'])] for r in results])
    for r in results:
        lines += [f"- {r['workload']}: FAILED {f}" for f in r['failures'][:20]]
        lines += [f"- {r['workload']}: {d}" for d in r.get('differ', [])[:20]]
        if r.get('unknown'):
            lines.append(f"- {r['workload']}: without a table here: {', '.join(sorted(set(r['unknown'])))[:300]}")
    return lines


def self_test():
    row = dict(name='aten::mm', device=False, annotation=False, calls=2, cpu_self_ns=5, cpu_total_ns=9, device_ns=7, device_total_ns=7)
    kernel = dict(row, name='gemm', device=True)
    summary = {'operators': [dict(row)], 'kernels': [dict(kernel, count=2)], 'api_calls': [], 'device_work': {'device_ns': 7}}
    good = compare([row, kernel], summary)
    assert not good['failures'] and not good['differ'] and good['rows'] == {'operator': 1, 'kernel': 1}, good
    assert compare([dict(row, device_ns=8), kernel], summary)['failures']
    assert compare([row, dict(kernel, calls=3)], summary)['failures']
    assert compare([kernel], summary)['failures']  # an operator that torch does not have
    assert compare([row, kernel, dict(kernel, name='other')], summary)['failures']  # device time is missing
    assert compare([dict(row, cpu_self_ns=4), kernel], summary)['differ']
