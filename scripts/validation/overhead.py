"""Time added to a launch, by ways of recording.

Two loops. The bare one is a C program that starts in a moment: many processes without the recorder and with a paused one are compared, and others
are recorded in some of their windows. The torch one is there for torch.profiler, which needs torch. Within a process windows alternate between
nothing and recording, so that the added time is a difference of neighbours; processes of all ways are interleaved in a random order, by rounds."""
import os, random, re, sys, time
from . import stats
from .common import API, DEVICE, WORKLOADS, inside, load, names, record, run, span, summary, table

LEAD = 4  # windows before the first recording; the first of them warms up
BARE_PAIRS, TORCH_PAIRS = 4, 6
# What torch.profiler records with CUDA activities alone holds no operators, so neither do these; "operators" and "torch-operators" do.
FLAGS = {'paused': ['--no-host'], 'attached': ['--no-host'], 'default': ['--no-host'], 'minimal': ['--no-host', '--api', 'minimal'],
         'no-sync': ['--no-host', '--no-sync'], 'per-thread': ['--no-host'], 'operators': []}
LETTERS = {'torch': 't', 'torch-operators': 'T'}
ENV = {'per-thread': {'FLAGOS_TRACE_PER_THREAD': '1'}}
MARGIN = 0.05
FINISH = 15  # seconds kept for reading traces and for the intervals


class Loop:
    """Runs processes of one of the two loops and keeps what they say."""

    def __init__(self, name, command, args, out, env):
        self.name, self.command, self.args, self.out, self.env = name, command, args, out, env
        self.size = ['--launches', args.launches] if args.launches else []
        self.got, self.failures, self.content, self.files = {}, [], {}, {}

    def process(self, way, schedule):
        """One process. Windows are kept if it ended well and nothing was lost."""
        mode = way.split('+')[0]
        key = f'{self.name}-{way}'.replace('+', '-and-')
        argv, first = [*self.command, schedule, *self.size, '--cpu', self.args.cpu], way not in self.got
        if first and 't' in schedule.lower():
            self.files[way] = self.out / f'{key}.torch.json'
            argv += ['--export', self.files[way]]
        # The first trace of a way is kept, to see what is in it.
        ours = mode in FLAGS
        name = key if first else f'{self.name}-again'
        if ours:
            argv = record(self.args, self.out, name, '--start-paused', *FLAGS[mode]) + argv
        p, seconds = run(argv, timeout=120, env={**os.environ, **self.env, **ENV.get(mode, {})})
        windows = [(m[0], float(m[1]), float(m[2]), int(m[3]), int(m[4]))
                   for m in re.findall(r'^WINDOW (\w) ([\d.]+) ([\d.]+) (\d+) (\d+)$', p.stdout, re.M)]
        recorded = re.search(r'^RECORDED (\d+)$', p.stdout, re.M)
        if p.returncode or len(windows) != len(schedule) or not recorded:
            self.failures.append(f'{self.name} loop, {way}: exit code {p.returncode}: {(p.stdout + p.stderr)[-400:]}')
            return
        if ours:
            verdict, kinds = summary(self.out / f'{name}.summary.json')
            if verdict != 'complete' or kinds.get('kernel', 0) != int(recorded[1]):
                self.failures.append(f"{self.name} loop, {way}: verdict {verdict}, {kinds.get('kernel', 0)} kernels of {recorded[1]} launches")
                return
        self.got.setdefault(way, []).append({'seconds': round(seconds, 2), 'windows': [w[:3] for w in windows]})
        if first:
            self.content[way] = windows

    def times(self, way):
        """Each process's windows as (letter, us)."""
        return [[(w[0], w[1]) for w in p['windows']] for p in self.got.get(way, [])]

    def off(self, way):
        return [[us for letter, us in ws[1:] if letter in '0a'] for ws in self.times(way)]

    def added(self, way, letter='r'):
        return [d for d in (stats.added(ws, letter) for ws in self.times(way)) if d]

    def on(self, way, letter):
        return [us for ws in self.times(way) for us in [us for k, us in ws if k == letter][1:]]

    def changes(self, way):
        return [stats.changes(ws, LEAD) for ws in self.times(way)]


def scout(command, args, env):
    """The CPU on which launches are quickest, by two processes that try all. CPU 0, which often serves interrupts, is left out."""
    tries = []
    for _ in range(2):
        p, _ = run([*command, '--scout'], timeout=120, env={**os.environ, **env})
        if p.returncode:
            return {'failure': f'exit code {p.returncode}: {p.stderr[-300:]}'}
        tries.append({int(m[0]): float(m[1]) for m in re.findall(r'^CPU (\d+) ([\d.]+)$', p.stdout, re.M)})
    cpus = [c for c in tries[0] if c in tries[1] and (c or len(tries[0]) == 1)]
    return {'us_by_cpu': tries, 'cpu': min(cpus, key=lambda c: max(t[c] for t in tries))}


def torch_libcupti():
    """torch's own copy of the library, so that both loops use the same; None if there is none."""
    p, _ = run([sys.executable, '-c', 'import importlib.util, glob, os; s = importlib.util.find_spec("torch"); '
                'd = os.path.dirname(s.origin) if s and s.origin else ""; '
                'print(*glob.glob(d + "/lib/libcupti*.so*") + glob.glob(d + "/../nvidia/**/libcupti.so*", recursive=True), sep="\\n")'])
    found = [line for line in p.stdout.split('\n') if line]
    return os.path.realpath(found[0]) if found else None


def rounds(loop, ways, n, rng, schedule, deadline):
    """n rounds, each with one process of every way that is due, in random order. No round is begun that would end after the deadline if it took as
    long as the longest so far. Returns the number run."""
    longest = 0
    for i in range(n):
        begin = time.monotonic()
        if begin + longest > deadline:
            return i
        order = list(ways)
        rng.shuffle(order)
        for way in order:
            loop.process(way, schedule(way, rng))
        longest = max(longest, time.monotonic() - begin)
    return n


def bare_schedule(way, rng):
    tail = 2 * BARE_PAIRS
    return '0' * LEAD + {'none': '0' * tail, 'paused': '0' * tail, 'attached': 'a' * tail}.get(way, 'r0' * BARE_PAIRS)


def torch_schedule(way, rng):
    if way.endswith('+torch'):
        t = 'T' if way.startswith('operators') else 't'
        return '0' * LEAD + ''.join(rng.choice((f'r0{t}0', f'{t}0r0')) for _ in range(TORCH_PAIRS))
    return '0' * LEAD + (LETTERS.get(way, 'r') + '0') * TORCH_PAIRS


def measure(args, out, start):
    rng, begin = random.Random(20), time.monotonic()
    env, report = {}, {'margin': MARGIN, 'failures': []}
    cupti = torch_libcupti()
    if cupti and not os.environ.get('FLAGOS_CUPTI_LIBRARY'):
        env['FLAGOS_CUPTI_LIBRARY'] = cupti
    command = [args.bin / 'flagos-trace-launch-loop']
    if args.cpu == 'auto':
        report['scout'] = scout(command, args, env)
        args.cpu = report['scout'].get('cpu', -1)
    report['cpu'] = args.cpu
    bare = Loop('bare', command, args, out, env)
    torch = Loop('torch', [sys.executable, WORKLOADS / 'launch_loop.py'], args, out, {})
    limit = args.time_limit or 1e9
    split = lambda text: [w for w in text.split(',') if w]
    report['bare_rounds'] = rounds(bare, split(args.bare_modes), args.bare, rng, bare_schedule, begin + 0.4 * (start + limit - begin))
    report['torch_rounds'] = rounds(torch, split(args.modes), args.overhead, rng, torch_schedule, start + limit - FINISH)
    report['failures'] = bare.failures + torch.failures
    report['bare'], report['torch'] = describe(bare), describe(torch)
    report['content'] = content(torch)
    report['claims'] = claims(bare, torch, report['content'])
    report['processes'] = {'bare': bare.got, 'torch': torch.got}
    return report


def describe(loop):
    """What is printed of each way; of a mixed one in two entries."""
    found = {}
    for way in loop.got:
        off = loop.off(way)
        one = {'processes': len(off), 'off_windows': sum(map(len, off)), 'off_median': stats.pooled(off), 'off_span': span([x for c in off for x in c]),
               'levels': sorted(round(stats.median(c), 3) for c in off)}
        if way != 'none' and loop.got.get('none'):
            # Against processes without the recorder: of recorded ones, the windows before the first recording.
            cut = lambda w: [[us for _, us in ws[1:LEAD if w not in ('none', 'paused') else None]] for ws in loop.times(w)]
            for key, stat in (('against_none', stats.shift), ('against_none_means', stats.mean_shift)):
                one[key] = stats.bootstrap([cut(way), cut('none')], stat)
        letters = [letter for letter in 'rtT' if any(letter == w[0] for w in loop.times(way)[0])]
        for letter in letters or ['']:
            row = dict(one)
            on = loop.on(way, letter)
            if on:
                sample = loop.added(way, letter)
                row.update(on_windows=len(on), on_median=stats.median(on), on_span=span(on), added=stats.bootstrap([sample], stats.pooled),
                           added_by_process=sorted(round(stats.median(c), 3) for c in sample))
            found[way if len(letters) < 2 else f"{way}: {'recorder' if letter == 'r' else 'torch'}"] = row
    return found


def content(torch):
    """What lies in a window of the torch loop: ours by way, and torch.profiler's. A torch window is one of a session of the same loop."""
    counts = lambda trace, w: {c: dict(names(trace, c, w)) for c in sorted({e.get('cat', '') for e in inside(trace, w)})}
    found = {}
    for way, windows in torch.content.items():
        for letter in 'rtT':
            last = [w for w in windows if w[0] == letter][-1:]
            file = torch.out / f"torch-{way.replace('+', '-and-')}.json.gz" if letter == 'r' else torch.files.get(way)
            if last and file and file.exists():
                found[f'{way}: torch' if letter == 't' and way != 'torch' else way] = counts(load(file), last[0][3:5])
    result = {'counts': found, 'equal': None, 'differs': []}
    if 'default' in found and 'torch' in found:
        a, b = found['default'], found['torch']
        result['differs'] = [f'{c}: ours {a.get(c, {})}, torch {b.get(c, {})}' for c in DEVICE + API if a.get(c, {}) != b.get(c, {})]
        if not a.get('kernel'):
            result['differs'].append('no kernels')
        result['equal'] = not result['differs']
    return result


def claims(bare, torch, seen):
    at_most = lambda part: lambda ours, theirs: stats.pooled(ours) - part * stats.pooled(theirs)
    ratio = lambda a, b: {'ratio': stats.pooled(a) / stats.pooled(b)} if a and b and stats.pooled(b) > 0 else {}
    unequal = None if seen['equal'] else 'the traces were not seen to hold the same kernels and API calls'
    found = []
    pairs = [(way, torch.added(way), torch.added('torch', 't'), '') for way in ('default', 'minimal')]
    pairs += [(way[:-6], torch.added(way), torch.added(way, 'T' if way.startswith('operators') else 't'), ', both in the same processes')
              for way in torch.got if way.endswith('+torch')]
    for way, ours, theirs, where in pairs:
        if where and not ours:
            continue
        part = {'default': 1, 'minimal': 0.6, 'operators': 1}.get(way)
        if part:
            found.append(stats.decide(f'{way} adds at most {part:.0%} of what torch.profiler adds{where}', [ours, theirs], at_most(part), 0,
                                      reason=unequal if way == 'default' else None,
                                      rule=f'added({way}) - {part:g} * added(torch.profiler) at most 0', **ratio(ours, theirs)))
    if torch.got.get('operators'):
        found.append(stats.decide('with operators: adds at most what torch.profiler with CPU and CUDA activities adds',
                                  [torch.added('operators'), torch.added('torch-operators', 'T')], at_most(1), 0,
                                  rule='added(operators) - added(torch.profiler, CPU and CUDA) at most 0',
                                  **ratio(torch.added('operators'), torch.added('torch-operators', 'T'))))
    none, paused = bare.off('none'), bare.off('paused')
    bound = MARGIN * stats.pooled(none) if none else 0
    rule = f'{MARGIN:.0%} of a launch without the recorder at most'
    found.append(stats.decide('paused costs no more than noise, between processes', [paused, none], stats.shift, bound, rule=rule))
    differ = lambda a, b: stats.pooled(a) - stats.pooled(b)
    if bare.got.get('attached'):
        found.append(stats.decide('paused costs no more than noise, within processes that load the recorder half-way',
                                  [bare.changes('attached'), bare.changes('none')], differ, bound, rule=rule + ', less the drift of processes without it'))
    for way in ('default', 'minimal'):
        if way in bare.got or way == 'default':
            found.append(stats.decide(f'after a stop ({way}) as fast as before', [bare.changes(way), bare.changes('none')], differ, bound,
                                      rule=rule + ', less the drift of processes without it'))
    return found


def interval(i, digits=2):
    return f'{i[0]:.{digits}f} | {i[1]:.{digits}f} to {i[2]:.{digits}f}' if i else '- | -'


def markdown(r):
    lines = [f"Pinned to CPU {r['cpu']}. Rounds: bare loop {r['bare_rounds']}, torch loop {r['torch_rounds']}.", '']
    for loop in ('bare', 'torch'):
        lines.append(f'{loop} loop, us a launch:')
        lines.append('')
        rows = [[way, v['processes'], f"{v['off_median']:.2f} ({v['off_span']})", interval(v.get('against_none')), v.get('on_windows', '-'),
                 f"{v['on_median']:.2f} ({v['on_span']})" if 'on_median' in v else '-', interval(v.get('added'))] for way, v in r[loop].items()]
        lines += table(['way', 'processes', 'windows not recorded: median (lowest to highest)', 'above none, between processes', '95 % interval',
                        'windows recorded', 'recorded: median (lowest to highest)', 'added', '95 % interval'], rows)
    signed = lambda c: f"{c['estimate']:.3f} | {c['low']:.3f} to {c['high']:.3f}" if 'estimate' in c else '- | -'
    rows = [[c['claim'] + (f" (ratio {c['ratio']:.2f})" if 'ratio' in c else ''), c['rule'], signed(c), f"{c['bound']:.3f}",
             '/'.join(map(str, c.get('windows', ['-']))) + ' (' + '/'.join(map(str, c.get('processes', ['-']))) + ')', f"**{c['verdict']}**: {c['why']}"]
            for c in r['claims']]
    lines += table(['claim', 'rule', 'estimate, us', '95 % interval', 'bound', 'windows (processes)', 'verdict'], rows)
    lines.append('A claim holds if the whole interval is at most the bound, fails if the whole interval is above it, and is inconclusive otherwise.')
    lines.append('')
    for way, kinds in r['content']['counts'].items():
        lines.append(f'- in one window, {way}: ' + ', '.join(f'{c} {sum(n.values())} ({len(n)} names)' for c, n in kinds.items()))
    equal = {True: 'equal in number and name, default and torch.profiler', False: 'DIFFERENT', None: 'not compared'}[r['content']['equal']]
    lines.append(f'- kernels, copies, fills and API calls of a window: {equal}' + ''.join('; ' + d for d in r['content']['differs']))
    for loop in ('bare', 'torch'):
        lines += [f"- medians of processes, not recorded, {loop} loop, {way}: {' '.join(f'{x:.2f}' for x in v['levels'])}"
                  + (f"; mean above none {interval(v['against_none_means']).replace(' | ', ', 95 % interval ')}" if 'against_none_means' in v else '')
                  for way, v in r[loop].items()]
    lines += [f'- FAILED: {f}' for f in r['failures']]
    return lines + ['']
