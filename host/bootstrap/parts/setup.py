

def patch(place, name, ours):
    original = getattr(place, name)
    setattr(place, name, ours)
    S.patches.append((place, name, original, ours))


def unpatch(name=None):
    for entry in list(S.patches):
        place, attribute, original, ours = entry
        if name in (None, attribute):
            S.patches.remove(entry)
            if getattr(place, attribute, None) is ours:
                setattr(place, attribute, original)


def imported(name):
    """A module that was waited for has been imported."""
    if name == "torch":
        setup_guarded()
    else:
        watch_mark()


def import_failed(name, error):
    if name == "torch":
        reason("import_failed", describe(error))


def missed():
    """The process ends, and torch had been imported without our being told."""
    about_python(sys.modules["torch"])
    if sys.version_info < (3, 8):
        reason("python_unsupported", "this is Python " + sys.version.split()[0])
        return
    reason("import_missed", "torch was loaded by another import hook, and nothing was imported after it")


def setup_guarded():
    try:
        setup()
    except Exception as error:
        S.off = True
        try:
            unpatch()
            reason("torch_unsupported", describe(error))
        except Exception:
            pass


def setup():
    import threading

    torch = S.torch = sys.modules["torch"]
    S.torch_folder = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
    S.main = threading.main_thread().ident
    about_python(torch)
    if not load_library():
        return
    autograd = torch.autograd
    if not autograd.kineto_available():
        reason("torch_unsupported", "this torch was built without kineto")
        return
    S.prof = autograd.profiler
    S.prepare, S.enable, S.disable = autograd._prepare_profiler, autograd._enable_profiler, autograd._disable_profiler
    S.add_metadata = autograd._add_metadata_json
    S.save = autograd._ProfilerResult.save
    make_config()
    try:
        S.steps = parse_steps(os.environ.get("FLAGOS_TRACE_STEPS", ""))
    except ValueError as error:
        reason("steps", describe(error))
    if os.environ.get("KINETO_USE_DAEMON"):
        S.off = True
        reason("busy", "on-demand profiling by a daemon is switched on (KINETO_USE_DAEMON)")
    patch_ranges()
    patch_profiler()
    patch_lazy_init()
    patch_groups()
    os.register_at_fork(before=before_fork, after_in_parent=after_fork, after_in_child=in_child)
    S.ready = True
    S.callable = called  # the library borrows it for good
    code = S.lib.flagos_trace_host_attach(id(S.callable))
    if code != OK:
        reason("library", "flagos_trace_host_attach returned %d" % code)
    patch_steps()


def about_python(torch):
    cuda = getattr(torch.version, "cuda", None)
    about = {"version": sys.version.split()[0], "torch": str(torch.__version__), "ns": time.time_ns()}
    if cuda is not None:
        about["cuda"] = str(cuda)
    note("python", **about)


def load_library():
    import ctypes

    name = os.environ.get("FLAGOS_TRACE_LIBRARY", "")
    try:
        if not name:
            raise OSError("FLAGOS_TRACE_LIBRARY is not set")
        # Short calls keep the interpreter's lock, so that nothing of the program's runs between two of them.
        quick, slow = ctypes.PyDLL(name), ctypes.CDLL(name)

        class Library:
            flagos_trace_host_attach = quick.flagos_trace_host_attach
            flagos_trace_host_state = quick.flagos_trace_host_state
            flagos_trace_host_own = quick.flagos_trace_host_own
            flagos_trace_start = slow.flagos_trace_start
            flagos_trace_stop = slow.flagos_trace_stop

        Library.flagos_trace_host_attach.argtypes = [ctypes.c_void_p]
        Library.flagos_trace_host_state.restype = ctypes.c_uint32
        Library.flagos_trace_host_own.argtypes = [ctypes.c_int]
        S.lib = Library
        return True
    except (OSError, AttributeError) as error:
        reason("library", describe(error))
        return False


def called():
    """What the library queues; runs in the main thread between two bytecodes of the program."""
    enter(look)


def patch_ranges():
    """Keeps the list of open record_function ranges of the main thread."""
    cls = S.prof.record_function
    S.range_enter, S.range_exit = begin, end = cls.__enter__, cls.__exit__

    @wraps(begin)
    def __enter__(self):
        out = begin(self)
        if get_ident() == S.main:
            S.ranges.append(self)
        return out

    @wraps(end)
    def __exit__(self, *args):
        try:
            return end(self, *args)
        finally:
            if get_ident() == S.main:
                leave(self)

    patch(cls, "__enter__", __enter__)
    patch(cls, "__exit__", __exit__)


def leave(ended):
    """A range has ended: perhaps a step with it, or a slice that had to wait for it."""
    ranges = S.ranges
    if ranges and ranges[-1] is ended:
        ranges.pop()
    elif ended in ranges:
        ranges.remove(ended)
    if S.after is ended:
        S.after = None
        enter(step_over)
    elif S.cut or S.due:
        enter(look)


def patch_lazy_init():
    """Looks right after torch has initialised CUDA, so that the operator that made it do so is seen whole."""
    original = getattr(S.torch.cuda, "_lazy_init", None)
    if original is None:
        return

    @wraps(original)
    def _lazy_init(*args, **kwargs):
        out = original(*args, **kwargs)
        if not S.device and not S.dead and getattr(S.torch.cuda, "_initialized", True):
            enter(device_used)
        return out

    for name, module in list(sys.modules.items()):
        if name.startswith("torch.") and getattr(module, "__dict__", {}).get("_lazy_init") is original:
            patch(module, "_lazy_init", _lazy_init)


def patch_groups():
    """Has the end of the process groups told to us: torch takes the default group away before it forgets the others, by
    this function, however the program imported the one that it calls."""
    groups = sys.modules.get("torch.distributed.distributed_c10d")
    original = getattr(groups, "_update_default_pg", None)
    if original is None:
        return

    @wraps(original)
    def _update_default_pg(pg, *args, **kwargs):
        if pg is None and not S.dead:
            enter(groups_end, quiet=True)
        return original(pg, *args, **kwargs)

    patch(groups, "_update_default_pg", _update_default_pg)


def device_used():
    S.device = True
    unpatch("_lazy_init")
    look()


def before_fork():
    enter(end_before_fork, quiet=True)
    if os.getpid() == S.pid:
        clear_way()


def end_before_fork():
    """No child inherits a running profiler. Saving can wait: the process that forks is often about to do it again."""
    if S.session is not None and ours_to_touch():
        settle()
        if S.session is not None:
            stop()


def after_fork():
    enter(look, False, quiet=True)


def in_child():
    S.dead = True
    try:
        unpatch()
    except Exception:
        pass


def at_exit():
    enter(finish, quiet=True)
    if os.getpid() == S.pid and S.ready:
        clear_way()
        try:
            S.lib.flagos_trace_host_attach(None)  # nothing is to be queued in an interpreter that ends
        except Exception:
            pass
    S.dead = True


def finish():
    S.off = True
    if S.ready:
        if S.session is not None and ours_to_touch():
            settle()
            if S.session is not None:
                stop()
        save_results()
        reap(end=True)
        tell_steps()
