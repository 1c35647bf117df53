"""Medians, bootstrap intervals and verdicts on claims. Pure Python.

A sample is a list of clusters, one a process, each a list of values, one a window: windows of one process are alike, so whole processes are drawn
again, and then windows within each."""
import random, statistics

median = statistics.median
FEW_CLUSTERS, FEW_VALUES = 6, 20  # with fewer a claim is not decided


def pooled(sample):
    """The median of all values."""
    return median([x for cluster in sample for x in cluster])


def shift(a, b):
    """How far a lies above b: the median of all differences between a process of a and a process of b (Hodges-Lehmann). Where processes run at one of
    two levels it compares like with like, as long as neither sample is nearly all on one level and the other not."""
    right = [median(c) for c in b]
    return median([x - y for x in (median(c) for c in a) for y in right])


def mean_shift(a, b):
    mean = lambda s: statistics.fmean(median(c) for c in s)
    return mean(a) - mean(b)


def bootstrap(samples, stat, times=2000, seed=1):
    """The value of stat for the samples, and the ends of its 95 % percentile interval. stat takes as many samples as there are."""
    rng = random.Random(seed)
    draw = lambda sample: [rng.choices(c, k=len(c)) for c in rng.choices(sample, k=len(sample))]
    values = sorted(stat(*(draw(s) for s in samples)) for _ in range(times))
    return stat(*samples), values[int(times * 0.025)], values[min(int(times * 0.975), times - 1)]


def added(windows, letter):
    """Differences between each window of that letter and the mean of the windows beside it in which nothing was recorded. windows: (letter, us). The
    first such window warms up and is left out."""
    on = [i for i, w in enumerate(windows) if w[0] == letter][1:]
    found = []
    for i in on:
        beside = [windows[j][1] for j in (i - 1, i + 1) if 0 <= j < len(windows) and windows[j][0] in '0a']
        if beside:
            found.append(windows[i][1] - statistics.fmean(beside))
    return found


def changes(windows, lead):
    """Windows in which nothing is recorded, after the first lead ones, less the median of those; the very first warms up and is left out."""
    before = median([us for _, us in windows[1:lead]])
    return [us - before for letter, us in windows[lead:] if letter in '0a']


def decide(claim, samples, stat, bound, unit='us', reason=None, **more):
    """A claim that stat is at most bound: holds if the whole interval is, fails if none of it is, else inconclusive. reason: why it cannot be
    decided at all. more goes into the result."""
    result = {'claim': claim, 'bound': bound, 'unit': unit, 'verdict': 'inconclusive', 'why': '', **more}
    if any(not s for s in samples):
        return {**result, 'why': 'not measured'}
    point, low, high = bootstrap(samples, stat)
    result.update(estimate=point, low=low, high=high, processes=[len(s) for s in samples], windows=[sum(map(len, s)) for s in samples])
    if min(result['processes']) < FEW_CLUSTERS or min(result['windows']) < FEW_VALUES:
        return {**result, 'why': f'fewer than {FEW_CLUSTERS} processes or {FEW_VALUES} windows'}
    if reason:
        return {**result, 'why': reason}
    if high <= bound:
        return {**result, 'verdict': 'holds', 'why': 'the whole interval is at most the bound'}
    if low > bound:
        return {**result, 'verdict': 'fails', 'why': 'the whole interval is above the bound'}
    return {**result, 'why': 'the bound lies within the interval'}


def self_test():
    """Known answers. Raises AssertionError."""
    rng = random.Random(7)
    level = lambda: rng.choice((6.5, 9.5))
    processes = lambda n, plus, sd=0.1: [[base + plus + rng.gauss(0, sd) for _ in range(5)] for base in (level() for _ in range(n))]

    assert pooled([[1, 2], [9]]) == 2 and shift([[3], [5]], [[1], [1]]) == 3 and mean_shift([[3], [5]], [[1], [1]]) == 3
    assert bootstrap([[[2.0] * 5] * 8], pooled) == (2.0, 2.0, 2.0)
    sample = [processes(30, 0)]
    assert bootstrap(sample, pooled) == bootstrap(sample, pooled), 'not repeatable'
    # The interval of a median of 40 numbers is about as wide as theory has it: 2 * 1.96 * 1.2533 / sqrt(40).
    widths = []
    for seed in range(20):
        r = random.Random(seed)
        _, low, high = bootstrap([[[r.gauss(0, 1)] for _ in range(40)]], pooled, times=400)
        widths.append(high - low)
    assert 0.6 < statistics.fmean(widths) < 0.95, widths
    # About 95 % of the intervals hold the truth.
    hits = 0
    for seed in range(100):
        r = random.Random(1000 + seed)
        _, low, high = bootstrap([[[r.gauss(0, 1)] for _ in range(30)]], pooled, times=200, seed=seed)
        hits += low <= 0 <= high
    assert 86 <= hits <= 100, hits
    # Windows of a process are alike: more of them make the interval no narrower.
    few = [[x] * 2 for x in range(10)]
    many = [[x] * 50 for x in range(10)]
    width = lambda sample: (lambda r: r[2] - r[1])(bootstrap([sample], pooled))
    assert width(many) > 0.7 * width(few) > 1
    # Two levels: the shift between like processes is found in spite of them, where a difference of medians may be off by 3.
    point, low, high = bootstrap([processes(30, 0.5), processes(30, 0)], shift, times=400)
    assert low <= 0.5 <= high and abs(point - 0.5) < 0.3, (point, low, high)

    walk = [('0', 9.0), ('0', 5.0), ('0', 5.2), ('r', 20.0), ('0', 5.4), ('r', 8.0), ('0', 5.0), ('r', 8.3), ('0', 5.6)]
    assert [round(x, 6) for x in added(walk, 'r')] == [2.8, 3.0] and added(walk, 't') == []
    assert [round(x, 6) for x in changes(walk, 3)] == [0.3, -0.1, 0.5]
    assert [round(x, 6) for x in added([('0', 1), ('r', 9), ('0', 1), ('t', 5), ('r', 4)], 'r')] == []

    ours, theirs = ([[mean + rng.gauss(0, 0.1) for _ in range(5)] for _ in range(8)] for mean in (1.5, 3.0))
    at_most = lambda part: lambda a, b: pooled(a) - part * pooled(b)
    assert decide('half', [ours, theirs], at_most(0.6), 0)['verdict'] == 'holds'
    assert decide('third', [ours, theirs], at_most(0.3), 0)['verdict'] == 'fails'
    assert decide('exactly', [ours, theirs], at_most(0.5), 0)['verdict'] == 'inconclusive'
    assert decide('few', [ours[:3], theirs], at_most(0.6), 0)['verdict'] == 'inconclusive'
    assert decide('none', [[], theirs], at_most(0.6), 0)['why'] == 'not measured'
    assert decide('spoilt', [ours, theirs], at_most(0.6), 0, reason='x')['verdict'] == 'inconclusive'
