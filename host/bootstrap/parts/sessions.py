

class Session:
    """One session of torch's profiler: ours, or (program) one that the program ran. begun and ended are lists because
    starmap fills them in one go: a signal can come before or after a call to torch, never between it and the note that
    it was made."""

    def __init__(self, program=False):
        self.n = S.next
        S.next += 1
        self.program = program
        self.begun = []
        self.ended = []  # the result
        self.saved = []
        self.open_line, self.close_line = [], []  # what os.write returned
        self.open_ns = self.closed_ns = None
        self.cpu = True


# The fixes that made it safe to end a session with callbacks on all threads while other threads are inside operators,
# and to begin the next one before these operators have ended, are in torch from here on. Before, both can crash the
# program, so there a session sees the main thread and the threads of autograd that work for it, no others.
ALL_THREADS_SINCE = (2, 14)


def version():
    """torch's version as two numbers."""
    digits = []
    for part in S.torch.__version__.split(".")[:2]:
        digits.append(int("".join(c for c in part if c.isdigit()) or 0))
    return tuple(digits)


def make_config():
    """The profiler's configuration, made once. Raises TypeError if this torch wants other arguments."""
    if S.config is not None:
        return S.config
    memory = "memory" in S.options
    # With callbacks on all threads torch drops memory events: it looks for who wants them on the thread alone.
    S.all_threads = "threads" in S.options or (version() >= ALL_THREADS_SINCE and not memory)
    experimental = S.torch._C._profiler._ExperimentalConfig
    extra = None
    if S.all_threads:
        try:
            extra = experimental(profile_all_threads=True)
        except TypeError:
            S.all_threads = False
    if extra is None:
        extra = experimental()
    autograd = S.torch.autograd
    args = (
        autograd.ProfilerState.KINETO,
        "shapes" in S.options,
        memory,
        "stack" in S.options,
        False,  # with_flops
        "modules" in S.options,
        extra,
    )
    try:
        S.config = autograd.ProfilerConfig(*args, "")  # 2.5 and newer: an id for the trace, here none
    except TypeError:
        S.config = autograd.ProfilerConfig(*args)
    return S.config


def ours_to_touch():
    """Without callbacks on all threads a session belongs to the thread that began it, and ours to the main thread."""
    return S.all_threads or get_ident() == S.main


# Python code of torch that runs below an operator written in C++, or calls into one that may call back. Files whose
# frames are on the stack while a whole training loop runs (optim, nn, utils.data, multiprocessing) are not among them.
CARRIERS = (
    "autograd/function.py", "autograd/__init__.py", "autograd/graph.py", "_tensor.py", "_ops.py", "library.py",
    "_library/", "_custom_op", "_dynamo/", "_inductor/", "_functorch/", "func/", "fx/", "jit/", "_higher_order_ops/",
    "_subclasses/", "_prims", "_refs/", "_decomp/", "utils/_python_dispatch.py",
)  # fmt: skip


def straddled():
    """Whether an operator may be open around the code we were called from. torch keeps a pointer into the session for
    the operator's end; once that session has gone and another is there, the end writes into freed memory. So a session
    that follows another begins only where no operator of the thread can be left over from it."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        if name.startswith(S.torch_folder) and name[len(S.torch_folder) :].startswith(CARRIERS):
            return True
        if code.co_name == "__torch_dispatch__" or code.co_name.startswith("torch_dynamo_resume"):
            return True
        if "torchinductor_" in name or (code.co_argcount and code.co_varnames[0] == "ctx"):
            return True
        frame = frame.f_back
    return False


def may_begin():
    return not S.opened or (S.all_threads and version() >= ALL_THREADS_SINCE) or not straddled()


def look(save=True):
    """Brings what runs in line with what is wanted. Everything ours is decided here."""
    state = S.lib.flagos_trace_host_state()
    if state & DEVICE:
        S.device = True
    if state & CUT:
        S.cut = True
    watch_mark()
    if ours_to_touch():
        wanted = bool(state & WINDOW) and S.device and not (S.off or S.prepared or S.programs)
        if S.session is not None:
            settle()
        if S.session is not None and (not wanted or (S.cut and may_begin())):
            stop()
        if S.session is None:
            S.cut = S.due = False
            if wanted:
                S.due = not may_begin()
                if not S.due:
                    start()
    if save:
        save_results()
        reap()


def settle():
    """Takes up a session whose beginning was interrupted."""
    if not S.session.begun:
        S.session = None
        S.lib.flagos_trace_host_own(0)
    elif not S.session.open_line:
        announce()


def start():
    """Begins a session of ours on this thread."""
    if S.torch.autograd._profiler_enabled():
        reason("busy", "a profiler session that was not started through torch.autograd.profiler is running")
        return
    config = make_config()
    activities = {S.torch.autograd.ProfilerActivity.CPU}
    # Ranges that began in a session of the program's must have ended before another session is there (see straddled).
    leave_ranges()
    S.session = session = Session()
    S.lib.flagos_trace_host_own(1)
    try:
        S.prepare(config, activities)
        S.opened = True
        session.begun.extend(starmap(S.enable, ((config, activities),)))
    except Exception:
        S.session = None
        S.lib.flagos_trace_host_own(0)
        raise
    announce()


def announce():
    """What follows once the session runs."""
    session = S.session
    if session.open_ns is None:
        session.open_ns = time.time_ns()
    set_flag(True)
    join_ranges()
    note(
        "open",
        session.open_line,
        n=session.n,
        ns=session.open_ns,
        all_threads=S.all_threads,
        stack="stack" in S.options,
        shapes="shapes" in S.options,
    )
    try:
        add_metadata()
    except Exception as error:
        ours(error)
        reason("metadata", describe(error))


def set_flag(on):
    """Compiled code and others look at a flag of torch.autograd.profiler to see whether their ranges are wanted."""
    change = getattr(S.prof, "_set_is_profiler_enabled", None)
    if change is not None:
        change(on)


def add_metadata():
    """The keys that torch.profiler writes into its traces."""
    names = (("memory", "profile_memory"), ("stack", "with_stack"), ("shapes", "record_shapes"), ("modules", "with_modules"))
    for option, key in names:
        if option in S.options:
            S.add_metadata(key, "1")
    add_groups()


def add_groups():
    """The process groups, as torch.profiler has them. They are made after the device was first used, where our session
    begins, so they are asked for again where it ends, and before they are destroyed."""
    base = getattr(sys.modules.get("torch.profiler.profiler"), "_KinetoProfile", None)
    if base is not None:
        information = base._get_distributed_info(None)
        if information:
            S.add_metadata("distributedInfo", dumps(information))


def groups_end():
    """The process groups are about to change."""
    if S.session is not None and S.session.begun:
        try:
            add_groups()
        except Exception as error:
            ours(error)
            reason("metadata", describe(error))


def stop(flag=True):
    """Ends our session; its result waits to be saved."""
    session = S.session
    if session.closed_ns is None:
        groups_end()
        session.closed_ns = time.time_ns()
        leave_ranges()
    try:
        if not session.ended:
            session.ended.extend(starmap(S.disable, ((),)))
    except Exception as error:
        ours(error)
        if not S.all_threads and S.torch.autograd._profiler_enabled():
            S.disable()
        reason("session_failed", describe(error))
    S.lib.flagos_trace_host_own(0)
    if flag:
        set_flag(False)
    if session.ended and session not in S.results:
        S.results.append(session)
    S.session = None
    S.cut = False


def leave_ranges():
    """Ends the ranges of record_function that are open, innermost first, so that their ends lie in this session."""
    for each in reversed(S.ranges):
        if getattr(each, "run_callbacks_on_exit", True) and each.record is not None:
            S.range_exit(each, None, None, None)


def join_ranges():
    """Begins them again, so that the next session has them as well. The program ends the new ones without knowing."""
    for each in S.ranges:
        if getattr(each, "run_callbacks_on_exit", True):
            S.range_enter(each)


def has_trace(result):
    """A result without a trace must not be saved: torch follows a null pointer."""
    begin = getattr(result, "trace_start_ns", None) or getattr(result, "trace_start_us", None)
    return begin is not None and begin() > 0


def save_results():
    while S.results:
        session = S.results[0]
        try:
            save_result(session, session.ended[0])
        except Exception as error:
            ours(error)
            reason("save_failed", describe(error))
            remove(slice_name(session) + ".part")
        if S.results and S.results[0] is session:
            del S.results[0]


def slice_name(session):
    return path(".host-%d.json" % session.n)


def remove(name):
    try:
        os.unlink(name)
    except OSError:
        pass


def save_result(session, result):
    """Writes a slice: whole or not at all."""
    if not has_trace(result):
        return
    part = slice_name(session) + ".part"
    if not session.saved:
        session.saved.extend(starmap(S.save, ((result, part),)))
    publish(session, part)


def publish(session, part):
    name = slice_name(session)
    if os.path.exists(part):
        os.chmod(part, 0o600)
        os.rename(part, name)
    fields = {"program": True} if session.program else {}
    note("close", session.close_line, n=session.n, ns=session.closed_ns, file=os.path.basename(name), **fields)
