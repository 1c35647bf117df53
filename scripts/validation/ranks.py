"""Two ranks on two GPUs, one process on two GPUs, the clocks of ranks held against their collective operations, and a rank that is killed."""
import collections, concurrent.futures, json, os, pathlib, re, signal, socket, subprocess, sys, time, traceback
from . import kill, operators
from .common import DEVICE, WORKLOADS, events, load, names, ns, record, run, table

DDP, TWO = WORKLOADS / 'ddp_two_ranks.py', WORKLOADS / 'two_devices.py'
RANKS = (0, 1)
LIMIT_S = 50  # for each program; more for the first, which read torch from the disk
# One host without a network; NVLink's multicast stays off.
ENV = {'NCCL_NVLS_ENABLE': '0', 'TORCH_SYMM_MEM_DISABLE_MULTICAST': '1', 'NVSHMEM_DISABLE_NVLS': '1', 'NCCL_SOCKET_IFNAME': 'lo',
       'GLOO_SOCKET_IFNAME': 'lo', 'NCCL_IB_DISABLE': '1', 'OMP_NUM_THREADS': '1', 'PYTHONUNBUFFERED': '1'}
# Arguments of a collective's kernels; addresses and ids differ from run to run, so only their presence is compared.
ARGS = ('Collective name', 'In msg nelems', 'Out msg nelems', 'Group size', 'dtype', 'In split size', 'Out split size', 'Process Group Name',
        'Process Group Description', 'Process Group Ranks', 'Dst Rank', 'Src Rank', 'Seq')
PRESENT = ('Input Tensors start', 'Output Tensors start', 'Comms Id')
LARGE = 1 << 25  # elements of a message that NCCL's buffers cannot hold, so that it is not sent before it is received
LANES = 10_000_000  # a row's further lanes are at so much more; see correlate's rows


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def launcher(*words):
    return [sys.executable, '-m', 'torch.distributed.run', '--nnodes=1', f'--nproc-per-node={len(RANKS)}', '--master-addr=127.0.0.1',
            f'--master-port={free_port()}', DDP, *words]


def descendants(pid):
    """The processes below one, itself included. Ranks have sessions of their own, so a process group does not hold them."""
    children = collections.defaultdict(list)
    for stat in pathlib.Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = stat.read_text().rpartition(')')[2].split()
        except OSError:
            continue
        children[int(fields[1])].append(int(stat.parent.name))
    found = [pid]
    for p in found:
        found += children[p]
    return found


class Program:
    """A running program, its output in files, ended with all below it when its time is over."""

    def __init__(self, argv, out, name, limit=LIMIT_S):
        self.files = [out / f'{name}.stdout', out / f'{name}.stderr']
        self.limit, self.begin = limit, time.monotonic()
        with open(self.files[0], 'w') as a, open(self.files[1], 'w') as b:
            self.p = subprocess.Popen([str(w) for w in argv], stdin=subprocess.DEVNULL, stdout=a, stderr=b, env={**os.environ, **ENV})

    def said(self):
        return self.files[0].read_text(errors='replace')

    def wait(self):
        """As subprocess.CompletedProcess; 124 where it was ended."""
        try:
            code = self.p.wait(max(1, self.limit - (time.monotonic() - self.begin)))
        except subprocess.TimeoutExpired:
            code = 124
            for pid in reversed(descendants(self.p.pid)):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.p.wait()
        out, err = (f.read_text(errors='replace') for f in self.files)
        done = subprocess.CompletedProcess(self.p.args, code, out, err)
        done.seconds = round(time.monotonic() - self.begin, 1)
        return done


def together(out, limit=LIMIT_S, **commands):
    """Runs programs at the same time."""
    programs = {name: Program(argv, out, name, limit) for name, argv in commands.items()}
    with concurrent.futures.ThreadPoolExecutor(len(programs)) as pool:
        return dict(zip(programs, pool.map(Program.wait, programs.values())))


def plain(text):
    """Lines of several processes in any order, without what differs from run to run: times, process ids, ports, addresses."""
    return collections.Counter(re.sub(r'0x[0-9a-f]+|\d+', '#', line) for line in text.split('\n'))


def same_run(alone, ours, fail):
    if alone.returncode != ours.returncode:
        fail(f'exit code {ours.returncode}, {alone.returncode} without us: {ours.stderr[-500:]}')
    for what in ('stdout', 'stderr'):
        a, b = plain(getattr(alone, what)), plain(getattr(ours, what))
        if a != b:
            fail(f'{what} differs: only ours {list((b - a).elements())[:5]}, only without us {list((a - b).elements())[:5]}')


def collective(e):
    """The arguments by which a kernel of a collective is compared; None for another event."""
    args = e.get('args') or {}
    if 'Collective name' not in args and not e['name'].startswith('nccl'):
        return None
    kept = {k: args[k] for k in ARGS if k in args}
    return e['name'], json.dumps(kept, sort_keys=True), tuple(k for k in PRESENT if k in args)


def same_names(r, ours, theirs, window, fail):
    for cat in DEVICE:
        mine, ref = names(ours, cat, window), names(theirs, cat)
        r[cat] = {'ours': sum(mine.values()), 'torch': sum(ref.values())}
        if mine != ref:
            fail(f'{cat}: only ours {dict(mine - ref)}, only torch {dict(ref - mine)}')


def same_collectives(r, ours, theirs, window, fail):
    mine = collections.Counter(filter(None, map(collective, events(ours, 'kernel', window))))
    ref = collections.Counter(filter(None, map(collective, events(theirs, 'kernel'))))
    with_args = sum(n for c, n in mine.items() if c[1] != '{}')
    r['collectives'] = {'ours': sum(mine.values()), 'torch': sum(ref.values()), 'with_args': with_args}
    if not ref:
        fail('torch.profiler shows no kernel of a collective')
    if mine != ref:
        fail(f'collective kernels differ: only ours {list((mine - ref).elements())[:3]}, only torch {list((ref - mine).elements())[:3]}')


def arrows(r, trace, fail):
    starts, ends = ({e['id'] for e in trace['traceEvents'] if e.get('ph') == ph and e.get('cat') == 'ac2g'} for ph in 'sf')
    r['without_arrow'] = sum(e['args']['correlation'] not in ends for cat in DEVICE for e in events(trace, cat))
    if starts != ends or r['without_arrow']:
        fail(f"{len(starts ^ ends)} arrows with one end, {r['without_arrow']} device events without an arrow")


def complete(r, trace, fail):
    c = trace.get('flagosTrace') or {}
    r['verdict'] = c.get('verdict')
    if c.get('verdict') != 'complete':
        fail(f"verdict {c.get('verdict')}: missing {c.get('missing')}, dropped {c.get('dropped')}, {c.get('diagnoses')}")


def traces_of(out, name, r, fail):
    """The ranks' traces that record's summary tells of, by rank; other processes' are counted."""
    try:
        s = load(out / f'{name}.summary.json')
    except (OSError, ValueError) as e:
        fail(f'no summary: {e}')
        return {}, {}
    listed = s.get('traces') or []
    r['others'] = [(t.get('process'), t.get('events')) for t in listed if 'rank' not in t]
    r['idle'] = len(s.get('idle') or [])
    of = {t['rank']: t for t in listed if 'rank' in t}
    if sorted(t['rank'] for t in listed if 'rank' in t) != sorted(RANKS):
        fail(f"traces of ranks {[t.get('rank') for t in listed]}, not one for each of {list(RANKS)}")
    found = {}
    for rank, t in of.items():
        if pathlib.Path(t['file']).name != f'{name}_rank{rank}.json.gz':
            fail(f"the trace of rank {rank} is named {t['file']}")
        found[rank] = load(t['file'])
    return found, of


def compare_ranks(out, alone, ref, ours, traces):
    """One result for each rank. Fills traces with ours."""
    whole = {'mode': 'two ranks', 'failures': [], 'seconds': {k: p.seconds for k, p in (('alone', alone), ('torch', ref), ('recorded', ours))}}
    same_run(alone, ours, whole['failures'].append)
    if ref.returncode:
        whole['failures'].append(f'torch.profiler: exit code {ref.returncode}: {ref.stderr[-500:]}')
    traces.update(traces_of(out, 'ddp', whole, whole['failures'].append)[0])
    windows = {int(a): (int(b), int(c)) for a, b, c in re.findall(r'^WINDOW (\d+) (\d+) (\d+)$', ours.stdout, re.M)}
    results = [whole]
    for rank in RANKS:
        r = {'mode': f'rank {rank}', 'failures': []}
        results.append(r)
        fail, file = r['failures'].append, out / f'ddp.rank{rank}.json'
        if rank not in traces or rank not in windows or not file.exists():
            fail('no trace, no WINDOW line or no trace of torch.profiler')
            continue
        a, b, window = traces[rank], load(file), windows[rank]
        same_names(r, a, b, window, fail)
        same_collectives(r, a, b, window, fail)
        arrows(r, a, fail)
        operators.compare(r, a, b, window, fail)
        complete(r, a, fail)
        r['distributedInfo'] = a.get('distributedInfo')
        if a.get('distributedInfo') != b.get('distributedInfo'):
            fail(f"distributedInfo {a.get('distributedInfo')}, torch has {b.get('distributedInfo')}")
    return results


def device(e):
    """A copy between devices has three of them instead of one."""
    return e['args'].get('device', e['args'].get('inDevice'))


def placed(e):
    """Where an event of a device is said to be, with both devices of a copy between two. A row's lanes count as one."""
    a = e['args']
    return (e['cat'], e['name'], device(e), a.get('stream'), a.get('fromDevice'), a.get('inDevice'), a.get('toDevice'), a.get('bytes'))


def compare_devices(out, alone, ref, ours):
    r = {'mode': 'one process, two GPUs', 'failures': [], 'seconds': {k: p.seconds for k, p in (('alone', alone), ('torch', ref), ('recorded', ours))}}
    fail = r['failures'].append
    same_run(alone, ours, fail)
    m = re.search(r'^WINDOW (\d+) (\d+)$', ours.stdout, re.M)
    mine, theirs = out / 'two.json.gz', out / 'two.torch.json'
    if ref.returncode or not m or not mine.exists() or not theirs.exists():
        fail(f'no WINDOW line, no trace or no trace of torch.profiler: {ref.stderr[-500:]} {ours.stderr[-500:]}')
        return [r]
    a, b, window = load(mine), load(theirs), (int(m[1]), int(m[2]))
    same_names(r, a, b, window, fail)
    arrows(r, a, fail)
    operators.compare(r, a, b, window, fail)
    complete(r, a, fail)
    judge_devices(r, a, b, window, fail)
    return [r]


def judge_devices(r, a, b, window, fail):
    """Rows, devices and copies between devices."""
    mine = [e for cat in DEVICE for e in events(a, cat, window)]
    ref = [e for cat in DEVICE for e in events(b, cat)]
    x, y = collections.Counter(map(placed, mine)), collections.Counter(map(placed, ref))
    if x != y:
        fail(f'devices, streams or sizes differ: only ours {list((x - y).elements())[:4]}, only torch {list((y - x).elements())[:4]}')
    wrong = [placed(e) for e in mine if e['pid'] != device(e) or e['tid'] % LANES != e['args'].get('stream')]
    if wrong:
        fail(f'{len(wrong)} events are not on the row of their device and stream, such as {wrong[0]}')
    rows = lambda es: collections.Counter((e['pid'], e['tid'] % LANES) for e in es)
    r['rows'] = {f'{p}/{t}': n for (p, t), n in sorted(rows(mine).items())}
    if rows(mine) != rows(ref):
        fail(f"rows (device/stream: events) {r['rows']}, torch has { {f'{p}/{t}': n for (p, t), n in sorted(rows(ref).items())} }")
    peer = collections.Counter((e['args'].get('fromDevice'), e['args'].get('toDevice')) for e in mine if 'fromDevice' in e['args'])
    r['peer'] = {f'{f} to {t}': n for (f, t), n in sorted(peer.items(), key=str)}
    if not all(peer[d] for d in ((0, 1), (1, 0))):
        fail(f"copies between the devices: {r['peer']}, not in both directions")
    r['devices'] = [d.get('name') for d in a.get('deviceProperties') or []]
    if {d.get('id') for d in a.get('deviceProperties') or []} != {d.get('id') for d in b.get('deviceProperties') or []}:
        fail(f"deviceProperties of {len(r['devices'])} devices, torch has {len(b.get('deviceProperties') or [])}")


def operations(trace):
    """Kernels of collectives, in order, as (start, end) ns by (group, operation, other rank of a send or receive, whether that is large)."""
    base, found = trace.get('baseTimeNanoseconds', 0), collections.defaultdict(list)
    for e in sorted(events(trace, 'kernel'), key=lambda e: e['ts']):
        a = e.get('args') or {}
        if 'Collective name' in a:
            name = a['Collective name']
            key = a.get('Process Group Name'), name, a.get('Dst Rank' if name == 'send' else 'Src Rank'), name in ('send', 'recv') and a.get('In msg nelems', 0) >= LARGE
            found[key].append((ns(e['ts'], base), ns(e['ts'] + e['dur'], base)))
    return found


def judge_clocks(r, by_rank, uncertainty, fail):
    """No rank can have done with an all-reduce before all have begun it, nor with a large send before it is received."""
    ops = {rank: operations(t) for rank, t in by_rank.items()}
    gaps, pairs, early, small = [], 0, [], []
    for group in {k[0] for o in ops.values() for k in o if k[1] == 'allreduce'}:
        lists = [o.get((group, 'allreduce', None, False), []) for o in ops.values()]
        if len({len(x) for x in lists}) != 1:
            fail(f'group {group}: {[len(x) for x in lists]} all-reduces, not as many for each rank')
        for spans in zip(*lists):
            pairs += 1
            gaps.append(max(s for s, _ in spans) - min(e for _, e in spans))
    for rank, o in ops.items():
        for (group, name, other, large), list_ in o.items():
            if name == 'send':
                received = ops.get(other, {}).get((group, 'recv', rank, large), [])
                if len(received) != len(list_):
                    fail(f'{len(list_)} sends from rank {rank} to {other}, {len(received)} receives')
                (early if large else small).extend(begin - end for (_, end), (begin, _) in zip(list_, received))
    r.update(all_reduces=pairs, sends=len(early), uncertainty_ns=uncertainty, closest_overlap_ns=-max(gaps, default=0), latest_receive_ns=max(early, default=None),
             small_sends=len(small), latest_small_receive_ns=max(small, default=None))
    if not pairs:
        fail('no all-reduce was found in both ranks')
    apart = [g for g in gaps if g > uncertainty]
    if apart:
        fail(f'{len(apart)} of {pairs} all-reduces do not overlap across the ranks: apart by up to {max(apart)} ns, uncertainty {uncertainty} ns')
    late = [e for e in early if e > uncertainty]
    if late:
        fail(f'{len(late)} of {len(early)} sends end before their receive began: by up to {max(late)} ns, uncertainty {uncertainty} ns')


def by_rank(trace):
    """A merged trace's parts: its events by the rank in their process's label."""
    rank = {e['pid']: int(m[1]) for e in trace['traceEvents'] if e.get('ph') == 'M' and e.get('name') == 'process_labels'
            and (m := re.match(r'rank (\d+)\b', str((e.get('args') or {}).get('labels'))))}
    parts = {r: {'baseTimeNanoseconds': trace.get('baseTimeNanoseconds', 0), 'traceEvents': []} for r in rank.values()}
    for e in trace['traceEvents']:
        if e.get('pid') in rank:
            parts[rank[e['pid']]]['traceEvents'].append(e)
    return parts


def uncertainties(value):
    """Every number of ns that is called an uncertainty of the clocks, wherever it stands."""
    if isinstance(value, dict):
        for k, v in value.items():
            if 'uncertainty' in k and k.endswith('ns') and isinstance(v, (int, float)) and not k.startswith('host_offset'):
                yield v
            else:
                yield from uncertainties(v)
    elif isinstance(value, list):
        for v in value:
            yield from uncertainties(v)


def clocks(args, out, traces):
    results = [r := {'mode': 'clocks, each rank as recorded', 'failures': []}]
    if sorted(traces) != sorted(RANKS):
        r['failures'].append('a rank has no trace')
        return results
    judge_clocks(r, traces, max(uncertainties([t.get('flagosTrace') for t in traces.values()]), default=0), r['failures'].append)
    results.append(r := {'mode': 'clocks, merged', 'failures': []})
    merged = out / 'merged.json.gz'
    p, _ = run([args.bin / 'flagos-trace', 'merge', '--align', 'collectives', '-o', merged, *(out / f'ddp_rank{k}.json.gz' for k in RANKS)], timeout=60)
    r['lines'] = [line for line in (p.stdout + p.stderr).split('\n') if line][:40]
    if re.search(r'unknown (command|flag)', p.stderr):
        r['skipped'] = 'this build has no `merge --align`'
        return results
    if p.returncode or not merged.exists():
        r['failures'].append(f'merge: exit code {p.returncode}: {p.stderr[-500:]}')
        return results
    t = load(merged)
    parts = by_rank(t)
    if sorted(parts) != sorted(RANKS):
        r['failures'].append(f'the merged trace has rows of ranks {sorted(parts)}')
        return results
    judge_clocks(r, parts, max(uncertainties({k: v for k, v in t.items() if k != 'traceEvents'}), default=0), r['failures'].append)
    c, _ = run([args.bin / 'flagos-trace', 'check', merged], timeout=60)
    if c.returncode:
        r['failures'].append('check: ' + (c.stdout + c.stderr)[-500:])
    return results


def kill_one(args, out, name, *flags, victim=1):
    """Training of which one rank is killed with SIGKILL."""
    merged = '--merge' in flags
    r = {'mode': f'rank {victim} killed' + (', merged' if merged else ''), 'failures': []}
    fail = r['failures'].append
    p = Program(record(args, out, name, *flags) + launcher('steps'), out, name, LIMIT_S + 20)
    while sum(f'READY {k}\n' in p.said() for k in RANKS) < len(RANKS) and p.p.poll() is None and time.monotonic() - p.begin < LIMIT_S:
        time.sleep(0.05)
    pids = {int(a): int(b) for a, b in re.findall(r'^PID (\d+) (\d+)$', p.said(), re.M)}
    if sorted(pids) == sorted(RANKS) and p.p.poll() is None:
        time.sleep(1.5)
        killed = time.time_ns()
        os.kill(pids[victim], signal.SIGKILL)
    done = p.wait()
    r['exit_code'], r['seconds'] = done.returncode, {'recorded': done.seconds}
    if sorted(pids) != sorted(RANKS):
        fail(f'training did not begin: {done.stderr[-500:]}')
        return [r]
    if done.returncode in (0, 124):
        fail(f'exit code {done.returncode}: {done.stderr[-300:]}')
    if merged:
        try:
            s, whole = load(out / f'{name}.summary.json'), load(out / f'{name}.json.gz')
        except (OSError, ValueError) as e:
            fail(f'no summary or no trace: {e}')
            return [r]
        of, traces = {t['rank']: t for t in s['traces'] if 'rank' in t}, by_rank(whole)
        r['labels'] = [c.get('label') for c in (whole.get('flagosTrace') or {}).get('processes') or []]
        # By what, the recorder sees only until the launcher has taken note of the end.
        if not any(re.match(rf'rank {victim}, (killed by SIGKILL|ended) at ', str(x)) for x in r['labels']):
            fail(f"no label says when rank {victim} died: {r['labels']}")
    else:
        traces, of = traces_of(out, name, r, fail)
    results, said = [r], done.stdout
    for rank in RANKS:
        one = {'mode': f"{r['mode']}: rank {rank}", 'failures': []}
        results.append(one)
        if rank not in traces:
            one['failures'].append('no trace')
            continue
        kill.judge(one, traces[rank], killed, [(int(a), int(b)) for a, b in re.findall(rf'^STEP {rank} (\d+) (\d+)$', said, re.M)])
        t = of.get(rank) or {}
        one['verdict'], one['signal'] = t.get('verdict'), (t.get('completeness') or {}).get('signal')
        ended = t.get('ended_ns')
        one['ended_ms_after_kill'] = round((ended - killed) / 1e6, 1) if ended else None
        if rank == victim and (one['signal'] not in ('SIGKILL', None) or ended is None or abs(ended - killed) > 250e6):
            one['failures'].append(f"ended by {one['signal']}, {one['ended_ms_after_kill']} ms after it was killed")
    last = {rank: (of.get(rank) or {}).get('ended_ns') for rank in RANKS}
    if all(last.values()) and min(last, key=last.get) != victim:
        fail(f'the summary says that rank {min(last, key=last.get)} died first')
    return results


def guarded(mode, work, *args):
    """What a failure of ours leaves unsaid does not take the rest of the report with it."""
    try:
        return work(*args)
    except Exception:
        return [{'mode': mode, 'failures': [traceback.format_exc()[-800:]]}]


def measure(args, out):
    out = out / 'ranks'
    out.mkdir(exist_ok=True)
    first = together(out, LIMIT_S + 40, **{'ddp-alone': launcher('plain'), 'two-alone': [sys.executable, TWO, 'plain'],
                             'two-torch': [sys.executable, TWO, 'profile', out / 'two.torch.json']})
    second = together(out, **{'ddp-torch': launcher('profile', out / 'ddp'), 'two': record(args, out, 'two') + [sys.executable, TWO, 'plain']})
    # Nothing beside it: the collectives' times are those of ranks that have their GPUs for themselves.
    ours = together(out, **{'ddp': record(args, out, 'ddp') + launcher('plain')})['ddp']
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        killed = [pool.submit(guarded, name, kill_one, args, out, name, *flags) for name, flags in (('killed', []), ('killed-merged', ['--merge']))]
        traces = {}
        results = guarded('two ranks', compare_ranks, out, first['ddp-alone'], second['ddp-torch'], ours, traces)
        results += guarded('two GPUs', compare_devices, out, first['two-alone'], first['two-torch'], second['two'])
        results += guarded('clocks', clocks, args, out, traces)
        for k in killed:
            results += k.result()
    return results


def markdown(results):
    both = lambda c: f"{c['ours']}/{c['torch']}" if c else '-'
    rows = []
    for r in results:
        c = r.get('collectives')
        note = [f"{k}: {r[k]}" for k in ('rows', 'peer', 'others', 'idle', 'labels', 'exit_code', 'seconds', 'skipped', 'distributedInfo') if r.get(k) not in (None, [], 0)]
        if 'all_reduces' in r:
            note.append(f"{r['all_reduces']} all-reduces overlap by {r['closest_overlap_ns']} ns or more, {r['sends']} large sends, latest receive began "
                        f"{r['latest_receive_ns']} ns after its send ended (of {r['small_sends']} that fit into NCCL's buffers {r['latest_small_receive_ns']} ns), uncertainty {r['uncertainty_ns']} ns")
        if 'steps_due' in r:
            note.append(f"{r['steps_due']} of {r['steps']} steps were due, {r['kernels_a_step']} kernels each, last kernel {r['last_kernel_ms']:.1f} ms before the kill, "
                        f"ended by {r['signal']} {r['ended_ms_after_kill']} ms after it")
        rows.append([r['mode'], both(r.get('kernel')) if isinstance(r.get('kernel'), dict) else r.get('kernels', '-'), both(r.get('gpu_memcpy')), both(c) + (f" ({c['with_args']} with arguments)" if c else ''),
                     r.get('verdict', '-'), '; '.join(note), 'FAILED' if r['failures'] else r.get('skipped') and 'skipped' or 'ok'])
    lines = table(['ranks', 'kernels ours/torch', 'copies', "collectives' kernels", 'verdict', 'more', 'result'], rows) + operators.markdown([dict(r, workload=r['mode']) for r in results])
    for r in results:
        lines += [f"- {r['mode']}: {f}" for f in r['failures']] + [f"- {r['mode']}: `{line}`" for line in r.get('lines', [])]
    return lines + ['']


def self_test():
    """Known answers. Raises AssertionError."""
    def kernel(name, start, dur, device=0, cat='kernel', stream=7, **args):
        return {'ph': 'X', 'cat': cat, 'name': name, 'ts': start, 'dur': dur, 'pid': device, 'tid': stream, 'args': {'device': device, 'stream': stream, **args}}

    def failures(judge, *args):
        r = {'failures': []}
        judge(r, *args, r['failures'].append)
        return r['failures']

    def ranks(shift=0, receive=12, lost=0, size=LARGE):
        group = {'Process Group Name': '0', 'In msg nelems': size}
        reduce = lambda at: kernel('ncclDevKernel_AllReduce', at, 10, **group, **{'Collective name': 'allreduce'})
        one = [reduce(0), reduce(100), kernel('ncclDevKernel_SendRecv', 200, 20, **group, **{'Collective name': 'send', 'Dst Rank': 1})]
        two = [reduce(2 + shift), reduce(95 + shift), kernel('ncclDevKernel_SendRecv', 200 + receive + shift, 20, **group, **{'Collective name': 'recv', 'Src Rank': 0})]
        return {0: {'traceEvents': one}, 1: {'traceEvents': two[lost:]}}

    assert not failures(judge_clocks, ranks(), 0)
    assert failures(judge_clocks, ranks(shift=9), 0), 'an all-reduce does not overlap'
    assert not failures(judge_clocks, ranks(shift=9), 2000) and failures(judge_clocks, ranks(shift=-6), 0)
    assert failures(judge_clocks, ranks(receive=25), 0), 'a send ends before it is received'
    assert not failures(judge_clocks, ranks(receive=25, size=1000), 0), 'a small message is sent when it lies in a buffer'
    assert failures(judge_clocks, ranks(lost=1), 0) and failures(judge_clocks, {0: {'traceEvents': []}, 1: {'traceEvents': []}}, 0)

    def peer(f, t):
        e = kernel('Memcpy PtoP (Device -> Device)', 5, 1, f, 'gpu_memcpy', fromDevice=f, inDevice=f, toDevice=t, bytes=4)
        del e['args']['device']
        return e

    def devices(*more):
        return {'deviceProperties': [{'id': 0}, {'id': 1}], 'traceEvents': [kernel('k', 1, 1), kernel('k', 2, 1, 1), peer(0, 1), *more]}

    whole = devices(peer(1, 0))
    assert not failures(judge_devices, whole, whole, None)
    assert failures(judge_devices, devices(), devices(), None), 'one direction'
    assert failures(judge_devices, devices(peer(1, 0), kernel('k', 3, 1)), devices(peer(1, 0), kernel('k', 3, 1, 1)), None), 'another device'
    moved = dict(kernel('k', 3, 1), pid=1)
    assert failures(judge_devices, devices(peer(1, 0), moved), devices(peer(1, 0), moved), None), "another device's row"
    lane = dict(kernel('k', 3, 1), tid=7 + LANES)
    assert not failures(judge_devices, devices(peer(1, 0), lane), devices(peer(1, 0), kernel('k', 3, 1)), None)

    reduce = kernel('ncclDevKernel_AllReduce', 0, 1, **{'Collective name': 'allreduce', 'In msg nelems': 4, 'Comms Id': 9})
    other = kernel('ncclDevKernel_AllReduce', 0, 1, **{'Collective name': 'allreduce', 'In msg nelems': 8, 'Comms Id': 9})
    bare, elsewhere = kernel('ncclDevKernel_AllReduce', 0, 1), json.loads(json.dumps(reduce).replace('9}', '8}'))
    one = lambda e: {'traceEvents': [e]}
    assert not failures(same_collectives, one(reduce), one(elsewhere), None), 'ids differ from run to run'
    assert failures(same_collectives, one(other), one(reduce), None) and failures(same_collectives, one(bare), one(reduce), None)
    assert failures(same_collectives, one(kernel('k', 0, 1)), one(kernel('k', 0, 1)), None), 'no collective at all'

    merged = {'traceEvents': [{'ph': 'M', 'name': 'process_labels', 'pid': p, 'args': {'labels': f'rank {p % 10} GPU 0'}} for p in (10, 11)]
              + [kernel('k', 1, 1, 10), kernel('k', 1, 1, 11), kernel('k', 1, 1, 11)]}
    assert {k: len(list(events(t, 'kernel'))) for k, t in by_rank(merged).items()} == {0: 1, 1: 2}
    assert sorted(uncertainties({'clock': {'uncertainty_ns': 3, 'host_offset_uncertainty_ns': 9}, 'x': [{'skew_uncertainty_ns': 5.5}]})) == [3, 5.5]
    assert plain('a 12\nb 0x7f') == plain('b 0x11\na 3')
