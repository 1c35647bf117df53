"""The profiler's core: sessions, operators, results. One process has one kineto; a session lives on a thread, or, with
profile_all_threads, in the process. Where the real one would follow a stale pointer this one ends the process with 139."""
import itertools
import json
import os
import sys
import threading
import time

_VERSION = tuple(int(p) for p in os.environ.get("FAKETORCH_VERSION", "2.11.0").split("+")[0].split(".")[:2])
_tls = threading.local()
_ids = itertools.count(1)


class Kineto:
    """What the process has one of."""

    prepared = False
    active = None  # the session that kineto traces
    whole = None  # the session of all threads
    metadata = {}
    sessions = 0
    saving = 0
    external = {}  # thread -> stack of external ids


def crash(why):
    os.write(2, ("Segmentation fault (%s)\n" % why).encode())
    os._exit(139)


def warn(text):
    os.write(2, ("[W profiler_kineto.cpp] " + text + "\n").encode())


def no_session_yet():
    return Kineto.sessions == 0


class ProfilerState:
    Disabled, CPU, CUDA, NVTX, ITT, KINETO = range(6)


class ProfilerActivity:
    """As the enumeration of the real one: hashable, comparable values."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "<ProfilerActivity.%s>" % self.name


for _name in ("CPU", "XPU", "MTIA", "CUDA", "PrivateUse1"):
    setattr(ProfilerActivity, _name, ProfilerActivity(_name))


class _ExperimentalConfig:
    def __init__(self, profiler_metrics=(), profiler_measure_per_kernel=False, verbose=False, **more):
        known = {"performance_events", "enable_cuda_sync_events", "adjust_profiler_step", "disable_external_correlation"}
        if _VERSION >= (2, 7):
            known.add("profile_all_threads")
        if set(more) - known:
            raise TypeError("__init__(): incompatible constructor arguments")
        self.all_threads = more.get("profile_all_threads", False)


class ProfilerConfig:
    def __init__(self, *args):
        if len(args) != (8 if _VERSION >= (2, 5) else 7) or not isinstance(args[6], _ExperimentalConfig):
            raise TypeError("__init__(): incompatible constructor arguments")
        if _VERSION >= (2, 5) and not isinstance(args[7], str):
            raise TypeError("__init__(): incompatible constructor arguments")
        self.state, self.shapes, self.memory, self.stack, self.flops, self.modules, self.extra = args[:7]


class Session:
    def __init__(self, config, activities):
        self.config = config
        self.activities = activities
        self.thread = threading.get_ident()
        self.start_ns = time.time_ns()
        self.events = []
        self.prepared = Kineto.prepared
        self.lost = False


class RecordFunction:
    """An operator or range. What it is recorded in is settled when it begins, where it ends is looked up then."""

    def __init__(self, name, scope="cpu_op"):
        self.name, self.scope = name, scope
        self.entries = []
        self.ended = False

    def begin(self):
        for session in sessions_here():
            if ProfilerActivity.CPU not in session.activities:
                continue
            event = {"name": self.name, "cat": self.scope, "id": next(_ids), "begin": time.time_ns(), "end": None}
            event["thread"] = threading.get_native_id()
            session.events.append(event)
            stack().append(event["id"])
            self.entries.append((session, event))
        return self

    def end(self):
        entries, self.entries = self.entries, []
        for session, event in entries:
            whole = session.config.extra.all_threads
            state = Kineto.whole if whole else getattr(_tls, "state", None)
            if whole and _VERSION >= (2, 14):
                stack().pop()
                if state is session:
                    event["end"] = time.time_ns()
                continue
            if state is None:
                continue  # the id stays on the stack: so does the real one's
            if state is not session:
                crash("%s began in a session that has gone" % self.name)
            event["end"] = time.time_ns()
            stack().pop()

    def __del__(self):
        self.end()


def stack():
    return Kineto.external.setdefault(threading.get_ident(), [])


def sessions_here():
    return [s for s in (Kineto.whole, getattr(_tls, "state", None)) if s is not None]


def _profiler_enabled():
    return getattr(_tls, "state", None) is not None


def _prepare_profiler(config, activities):
    if config.state != ProfilerState.KINETO:
        return
    if Kineto.active is not None:
        Kineto.active.lost = True  # "Cancelling current trace request"
        Kineto.active = None
    Kineto.prepared = True


def _enable_profiler(config, activities, scopes=frozenset()):
    there = Kineto.whole if config.extra.all_threads else getattr(_tls, "state", None)
    if there is not None:
        raise RuntimeError("Profiler is already enabled on this thread.")
    if config.state == ProfilerState.KINETO and not activities:
        raise RuntimeError("No activities specified.")
    Kineto.sessions += 1
    session = Session(config, set(activities))
    if config.extra.all_threads:
        Kineto.whole = session
    else:
        _tls.state = session
    if config.state == ProfilerState.KINETO:
        Kineto.active = session
        Kineto.prepared = False


def _disable_profiler():
    whole = Kineto.whole is not None
    session = Kineto.whole if whole else getattr(_tls, "state", None)
    if session is None:
        if _VERSION < (2, 0):
            raise RuntimeError("Can't disable Kineto profiler when it's not running")
        warn("disableProfiler called but no active profiling session found.")
        return _ProfilerResult()
    kineto = session.config.state == ProfilerState.KINETO
    if kineto and Kineto.active is not session and not session.lost:
        crash("the session that ends is not the one that kineto traces")
    result = _ProfilerResult(session, Kineto.metadata) if kineto else _ProfilerResult()
    # From here on nothing is called: a signal handler of the program's runs before all of it or after, as for the real
    # one, which is not written in Python.
    if kineto:
        Kineto.metadata = {}
        if Kineto.active is session:
            Kineto.active = None
    if whole:
        Kineto.whole = None
    else:
        _tls.state = None
    return result


class _ProfilerResult:
    def __init__(self, session=None, metadata=None):
        self._session = session
        self._metadata = metadata
        self._saved = False
        self._end = time.time_ns()

    def trace_start_ns(self):
        return self._session.start_ns if self._session else 0

    def events(self):
        return list(self._session.events) if self._session else []

    def experimental_event_tree(self):
        return self.events()

    def save(self, path):
        if self._session is None:
            crash("a result without a trace was saved")
        if self._saved:
            raise RuntimeError("Trace is already saved.")
        if Kineto.sessions and os.environ.get("FAKETORCH_SAVE_SLOW"):
            time.sleep(float(os.environ["FAKETORCH_SAVE_SLOW"]))
        write_trace(path, self._session, self._metadata, self._end)
        self._saved = True


if _VERSION < (2, 2):
    _ProfilerResult.trace_start_us = lambda self: self._session.start_ns // 1000 if self._session else 0
    del _ProfilerResult.trace_start_ns


def write_trace(path, session, metadata, end):
    pid = os.getpid()
    base = session.start_ns - session.start_ns % 10**9
    rows = []

    def us(ns):
        return round(ns / 1000, 3)

    for e in session.events:
        begin = e["begin"]
        if e["end"] is None and ProfilerActivity.CPU not in session.activities:
            continue
        row = {"ph": "X", "cat": e["cat"], "name": e["name"], "pid": pid, "tid": e["thread"], "ts": us(begin - base)}
        row["dur"] = us((e["end"] or end) - begin)
        row["args"] = {"External id": e["id"], "Record function id": 0}
        if e["end"] is None:
            row["args"]["finished"] = False
        rows.append(row)
    rows.append({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": us(end - base)})
    document = {"schemaVersion": 1, "deviceProperties": []}
    document.update((k, json.loads(v)) for k, v in metadata.items())
    document["lost"] = session.lost
    document["prepared"] = session.prepared
    document.update(displayTimeUnit="ms", baseTimeNanoseconds=base, traceEvents=rows, traceName=path)
    with open(path + ".tmp", "w") as f:
        json.dump(document, f)
    os.rename(path + ".tmp", path)


def _add_metadata_json(key, value):
    if Kineto.sessions == 0 and not Kineto.prepared:
        warn("Profiler is not initialized: skipping profiling metadata")
        return
    Kineto.metadata[key] = value


def _kineto_step():
    pass


def kineto_available():
    return not os.environ.get("FAKETORCH_NO_KINETO")


def on_autograd_thread(work):
    """Runs work on a thread that has the caller's thread-local state, as the engine does for backward."""
    state = getattr(_tls, "state", None)
    errors = []

    def run():
        _tls.state = state
        try:
            work()
        except BaseException as error:
            errors.append(error)
        _tls.state = None

    thread = threading.Thread(target=run, name="autograd")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


# Kineto opens the device: a child forked after the first session of the process cannot use it.
poisoned = False


def _in_child():
    global poisoned
    if Kineto.sessions:
        poisoned = True


os.register_at_fork(after_in_child=_in_child)
