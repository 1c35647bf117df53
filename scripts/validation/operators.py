"""Operators: which one launched what, in our trace and in torch.profiler's of the same code."""
import bisect, collections
from .common import DEVICE, inside, table

CALLS = ('cuda_runtime', 'cuda_driver')


def external(e):
    return (e.get('args') or {}).get('External id')


def linked(trace, window=None):
    """Device events of the window, each with its operator's name, or None: (operator, name) counted, and device time by operator in us."""
    operators = {external(e): e['name'] for e in inside(trace) if e.get('cat') == 'cpu_op' and external(e) is not None}
    pairs, times, without = collections.Counter(), collections.Counter(), 0
    for e in inside(trace, window):
        if e.get('cat') in DEVICE:
            name = operators.get(external(e))
            pairs[name, e['name']] += 1
            times[name] += e['dur']
            without += name is None
    return pairs, times, without


def nested(trace, window=None):
    """Device time by operator in us, found another way: along each event's arrow to its API call, and from there to the innermost operator of the
    same thread around the middle of the call."""
    stacks, calls = collections.defaultdict(list), {}
    for e in inside(trace):
        if e.get('cat') == 'cpu_op':
            stacks[e['tid']].append((e['ts'], e['ts'] + e['dur'], e['name']))
        elif e.get('cat') in CALLS:
            calls[e['args']['correlation']] = e
    for ops in stacks.values():
        ops.sort(key=lambda o: (o[0], -o[1]))
    begins = {tid: [o[0] for o in ops] for tid, ops in stacks.items()}
    times = collections.Counter()
    for e in inside(trace, window):
        if e.get('cat') not in DEVICE:
            continue
        call, name = calls.get(e['args'].get('correlation')), None
        if call and call['tid'] in stacks:
            middle, ops = call['ts'] + call['dur'] / 2, stacks[call['tid']]
            # The innermost is the last that begins before and has not ended.
            for i in range(bisect.bisect_right(begins[call['tid']], middle) - 1, -1, -1):
                if ops[i][1] >= middle:
                    name = ops[i][2]
                    break
        times[name] += e['dur']
    return times


def compare(r, ours, theirs, window, fail, their_window=None):
    """Fills r['operators'] and calls fail with what does not hold."""
    mine, times, without = linked(ours, window)
    ref, _, ref_without = linked(theirs, their_window)
    o = r['operators'] = {'pairs': sum(mine.values()), 'torch': sum(ref.values()), 'distinct': len(mine), 'without': without, 'torch_without': ref_without,
                          'completeness': (ours.get('flagosTrace') or {}).get('operators')}
    only_ours, only_torch = mine - ref, ref - mine
    if only_ours or only_torch:
        show = lambda c: [f'{n} x {op} -> {k[:60]}' for (op, k), n in c.most_common(5)]
        fail(f'(operator, kernel) pairs differ: {sum(only_ours.values())} only ours {show(only_ours)}, {sum(only_torch.values())} only torch {show(only_torch)}')
    # Of the device events that torch.profiler links.
    due = sum(n for (op, _), n in ref.items() if op is not None)
    got = sum(n for (op, _), n in mine.items() if op is not None)
    o['linked'], o['torch_linked'] = got, due
    if got < 0.999 * due:
        fail(f'{got} device events with an operator, torch.profiler has {due}')
    other = nested(ours, window)
    o['worst_us'] = max((abs(times[op] - other[op]) for op in {*times, *other}), default=0)
    for op in {*times, *other}:
        if abs(times[op] - other[op]) > max(1, 0.01 * times[op]):
            fail(f'{op}: device time by External id {times[op]:.1f} us, by arrows and nesting {other[op]:.1f} us')
    c = o['completeness'] or {}
    both = c.get('agreed', 0) + c.get('disagreed', 0)
    if c.get('disagreed', 0) > 0.001 * both:
        fail(f"ids and times disagree on {c['disagreed']} of {both} API calls")


def markdown(results):
    rows = []
    for r in results:
        o, c = r.get('operators'), (r.get('operators') or {}).get('completeness') or {}
        if o:
            rows.append([r['workload'], f"{o['pairs']}/{o['torch']}", o['distinct'], f"{o['linked']}/{o['torch_linked']}", f"{o['worst_us']:.2f}",
                         f"{c.get('agreed', '-')}/{c.get('agreed', 0) + c.get('disagreed', 0)}", c.get('linked_by_id', '-'), c.get('linked_by_time', '-')])
    return table(['workload', '(operator, device event) pairs ours/torch', 'distinct', 'device events with an operator ours/torch',
                  'largest difference of device time an operator, us', 'ids and times agree', 'API calls linked by id', 'by time alone'], rows) if rows else []
