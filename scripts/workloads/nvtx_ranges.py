"""Ranges and marks through torch.cuda.nvtx, on two threads, with work in them: for `flagos-trace record --nvtx`.

Prints, as one line of JSON, what the trace has to hold: the number of ranges and of marks by name, and for each range
how many kernels its thread launched in it. With --check TRACE it reads such a line from its input, compares the trace
with it, and exits with 1 if something differs.

    flagos-trace record --nvtx -o nvtx.json.gz -- python3 scripts/workloads/nvtx_ranges.py > expected.json
    python3 scripts/workloads/nvtx_ranges.py --check nvtx.json.gz < expected.json
"""
import collections
import gzip
import json
import sys

STEPS, INNER = 5, 3


def work():
    import threading
    import torch

    nvtx = torch.cuda.nvtx
    nvtx.range_push('before the device')  # not recorded: it ends before the agent is there
    nvtx.range_pop()
    nvtx.range_push('around all')  # not recorded: it is open when the agent comes
    x = torch.ones(1 << 16, device='cuda')
    torch.cuda.synchronize()
    across = nvtx.range_start('across threads')

    def train(name, stream, last):
        with torch.cuda.stream(stream):
            for i in range(STEPS):
                nvtx.range_push('step of ' + name)
                for _ in range(INNER):
                    nvtx.range_push('layer of ' + name)
                    x.add(1)
                    nvtx.range_pop()
                nvtx.mark('mark of ' + name)
                nvtx.range_pop()
                x.add(2)  # in none of them
        if last:
            nvtx.range_end(across)

    other = threading.Thread(target=train, args=('thread', torch.cuda.Stream(), False))
    other.start()
    other.join()
    train('main', torch.cuda.current_stream(), True)
    late = threading.Thread(target=train, args=('late', torch.cuda.Stream(), False))
    late.start()
    late.join()
    torch.cuda.synchronize()
    nvtx.range_pop()
    names = ['main', 'thread', 'late']
    ranges = {f'{what} of {n}': count for n in names for what, count in (('step', STEPS), ('layer', STEPS * INNER))}
    print(json.dumps({
        'ranges': dict(ranges, **{'across threads': 1}),
        'marks': {f'mark of {n}': STEPS for n in names},
        'kernels': {f'{what} of {n}': count for n in names for what, count in (('step', INNER), ('layer', 1))},
    }), flush=True)


def check(path):
    expected = json.load(sys.stdin)
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as f:
        events = json.load(f)['traceEvents']
    of = lambda cat: [e for e in events if e.get('cat') == cat and e.get('ph') in ('X', 'i')]
    ours = [e for e in of('user_annotation') if e['args'].get('source') == 'NVTX']
    calls = {e['args']['correlation']: e for c in ('cuda_runtime', 'cuda_driver') for e in of(c)}
    failures = []

    def same(what, got, want):
        if got != want:
            failures.append(f'{what}: {got}, want {want}')

    count = lambda list: dict(collections.Counter(e['name'] for e in list))
    same('ranges', count(ours), expected['ranges'])
    same('marks', count(e for e in of('cpu_instant_event') if e.get('args', {}).get('source') == 'NVTX'), expected['marks'])
    kernels = of('kernel')
    spans = of('gpu_user_annotation')
    for r in ours:
        want = expected['kernels'].get(r['name'])
        if want is None:
            continue
        if 'finished' in r['args']:
            failures.append(f"{r['name']} at {r['ts']} has no end")
        end = r['ts'] + r['dur']
        mine = [k for k in kernels if (c := calls.get(k['args']['correlation'])) and c['tid'] == r['tid'] and r['ts'] <= c['ts'] <= end]
        same(f"kernels in {r['name']} at {r['ts']}", len(mine), want)
        if r['name'].startswith('layer') and not any(
                s['name'].startswith('step') and s['tid'] == r['tid'] and s['ts'] <= r['ts'] and end <= s['ts'] + s['dur'] for s in ours):
            failures.append(f"{r['name']} at {r['ts']} lies in no step")
        if mine:
            first, last = min(k['ts'] for k in mine), max(k['ts'] + k['dur'] for k in mine)
            if not any(g['name'] == r['name'] and abs(g['ts'] - first) < 0.01 and abs(g['ts'] + g['dur'] - last) < 0.01 for g in spans):
                failures.append(f"no span on a stream for {r['name']} at {r['ts']}")
    print('\n'.join(failures) or f"as expected: {len(ours)} ranges, {len(spans)} spans on streams")
    return bool(failures)


if __name__ == '__main__':
    sys.exit(check(sys.argv[2]) if sys.argv[1:2] == ['--check'] else work())
