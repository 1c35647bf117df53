# The second part of the start-up file: runs once torch has been imported.
#
# One State (S) for the process. Whatever of ours runs, runs through enter(), which lets one thread in at a time, keeps
# our errors from the program, and hands the program the exceptions that its own signal handlers raised meanwhile.
import os
import sys
import time
from _thread import allocate_lock, get_ident, interrupt_main
from functools import wraps
from itertools import starmap
from json import dumps, loads

WINDOW, DEVICE, CUT = 1, 2, 4  # bits of flagos_trace_host_state()
OK = 0  # FLAGOS_TRACE_OK


class State:
    """What we know and have in hand. Attributes, not globals, so that a test can look at them."""

    def __init__(self):
        self.pid = os.getpid()
        self.main = 0  # identifier of the main thread
        self.folder = os.environ.get("FLAGOS_TRACE_DIR", "")
        self.base = "%d.%s" % (self.pid, start_ticks())
        self.options = set(filter(None, os.environ.get("FLAGOS_TRACE_HOST", "").split(",")))
        self.lock = allocate_lock()
        self.owner = None  # the thread inside enter()
        self.queue = []  # work that came while that thread was inside
        self.owed = None  # an exception of the program's that could not be raised where it arrived
        self.ready = False  # torch is there and patched
        self.callable = None  # what the library queues
        self.pending = None  # what we queue ourselves
        self.dead = False  # forked child, or the end of the process: nothing of ours runs any more
        self.noted = False  # the status file is there
        self.reasons = set()
        self.patches = []  # (object, name, original, ours)
        self.torch = self.prof = self.lib = None
        self.torch_folder = "\0"
        # own sessions
        self.next = 1  # number of the next slice
        self.session = None
        self.results = []  # stopped, not yet saved
        self.config = None
        self.all_threads = False
        self.device = False  # the device has been used
        self.cut = False  # the slice is to be cut as soon as that is safe
        self.due = False  # a session is to begin as soon as that is safe
        self.opened = False  # there has been a session
        self.off = False  # no sessions of ours any more
        self.failures = 0
        self.ranges = []  # record_function ranges open on the main thread, outermost first
        # the program's sessions
        self.prepared = False
        self.programs = []  # running
        self.unsaved = []  # ended, their trace not yet had
        self.metadata = []  # what the program gave for its next trace while ours ran
        self.save_patched = None
        self.way = None  # held until the main thread has ended our session for another thread's
        # steps
        self.steps = None
        self.marked = False
        self.step = 0
        self.step_range = None
        self.in_window = False
        self.optimizer = None
        self.after = None  # the range whose end is the step's end


def start_ticks():
    """Start time of the process in clock ticks since boot: with the pid it names the process."""
    try:
        with open("/proc/self/stat", "rb") as f:
            return f.read().rpartition(b")")[2].split()[19].decode()
    except Exception:
        return "0"


S = State()


def path(suffix):
    return os.path.join(S.folder, S.base + suffix)


def note(what, once=None, **fields):
    """Appends a line to the status file; given a list, only if that is empty, and then it is not."""
    line = dumps(dict(what=what, **fields), separators=(",", ":")) + "\n"
    once = [] if once is None else once
    if once:
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    name = path(".host.jsonl")
    if not S.noted:
        S.noted = True
        try:
            os.close(os.open(name, flags | os.O_EXCL, 0o600))
        except FileExistsError:
            after_exec(name)
    fd = os.open(name, flags, 0o600)
    try:
        once.extend(starmap(os.write, ((fd, line.encode()),)))
    finally:
        os.close(fd)


def after_exec(name):
    """The process has replaced itself by another Python: it goes on with the same files and the next number."""
    with open(name, "rb") as f:
        for line in f:
            try:
                S.next = max(S.next, loads(line.decode()).get("n", 0) + 1)
            except ValueError:
                pass


def reason(code, text):
    """Says once why something of the host side is missing."""
    if code not in S.reasons:
        S.reasons.add(code)
        note("reason", code=code, text=text[:500])


def describe(error):
    return "%s: %s" % (type(error).__name__, error)


def enter(work, *args, quiet=False):
    """Runs work(*args). The program sees nothing of it: not its errors, and not a second time what a signal handler of
    its own raised. A call from inside ourselves (a pending call or a signal between two of our bytecodes) is queued.
    Work is written so that it can be begun again after an interruption. With quiet=True nothing is ever raised."""
    if S.dead or os.getpid() != S.pid:
        return
    if S.owner == get_ident() and S.lock.locked():
        if work is not look or (work, args) not in S.queue:
            S.queue.append((work, args))
        return
    owed = None
    with S.lock:
        try:
            S.owner = get_ident()
            owed = attempt(work, args)
            while S.queue:
                owed = attempt(*S.queue.pop(0)) or owed
        except Exception:
            pass
        finally:
            S.owner = None
    way = S.way
    if way is not None and S.session is None and get_ident() == S.main:
        S.way = None
        way.release()
    if quiet:
        if owed is not None:
            hand_back(owed)
        return
    if owed is None and S.owed is not None and get_ident() == S.main:
        owed, S.owed = S.owed, None
    if owed is not None:
        raise owed


def hand_back(owed):
    """An exception of the program's arrived where none may be raised: it is raised at the next place where it may."""
    import signal

    if isinstance(owed, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        interrupt_main()
    else:
        S.owed = owed


def attempt(work, args):
    """Runs work; returns the exception of the program's that arrived meanwhile, if one did."""
    owed = None
    for _ in range(4):
        try:
            work(*args)
            break
        except BaseException as error:
            if foreign(error):
                owed = error
                continue
            try:
                failed(error)
            except Exception:
                pass
            break
    return owed


def foreign(error):
    """Whether a signal handler of the program's raised this while our code ran. Ours and torch's are Exceptions that
    come from our frames or from what these call; a handler written in Python shows in the traceback."""
    if not isinstance(error, Exception):
        return True
    codes = handlers()
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def ours(error):
    """Lets an exception of the program's pass; used where ours are caught on the way."""
    if foreign(error):
        raise error


def handlers():
    """The code objects of the signal handlers that are installed."""
    import signal

    codes = set()
    for number in range(1, signal.NSIG):
        try:
            handler = signal.getsignal(number)
        except ValueError:
            continue
        while hasattr(handler, "func"):  # functools.partial
            handler = handler.func
        if not hasattr(handler, "__code__"):
            handler = getattr(handler, "__func__", getattr(type(handler), "__call__", None))
        code = getattr(handler, "__code__", None)
        if code is not None:
            codes.add(code)
    return codes


def failed(error):
    """One of our own errors: said once, and after a few of them we stop trying."""
    S.failures += 1
    if S.failures >= 5:
        S.off = True
    reason("session_failed", describe(error))
