

def program_prepares():
    """The program is about to use the profiler: ours ends first, and stays away until the program's has ended."""
    S.prepared = True
    make_way(True)


def make_way(flag):
    if S.session is not None and ours_to_touch():
        settle()
        if S.session is not None:
            stop(flag)
    # What the program gave kineto for its next trace while ours ran would have gone into ours.
    while S.metadata:
        S.add_metadata(*S.metadata[0])
        del S.metadata[0]


def clear_way():
    """Before a session of the program's, a fork, and the end: whatever went wrong with ours, it does not stand there."""
    session = S.session
    if session is not None and session.begun and not session.ended and not S.dead and ours_to_touch():
        S.session = None
        S.off = True
        try:
            S.disable()
            S.lib.flagos_trace_host_own(0)
        except Exception:
            pass


def ask_main():
    """The session to end belongs to the main thread, and this is another: asks it, and waits for a second. If it does
    not come by, our session is given up and never touched again; ending it under theirs could crash the program."""
    if S.dead or os.getpid() != S.pid or S.session is None or ours_to_touch():
        return
    import ctypes

    S.prepared = True
    done = allocate_lock()
    done.acquire()
    S.way = done
    S.pending = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(pending_look)
    ctypes.pythonapi.Py_AddPendingCall(S.pending, None)
    if not done.acquire(True, 1.0):
        S.way = None
        S.off = True
        S.session = None
        reason("busy", "another thread started a profiler while the main thread, which has ours, was waiting")


def pending_look(_):
    enter(look, quiet=True)
    return 0


def program_begins():
    make_way(False)


def program_began(args, kwargs):
    activities = kwargs.get("activities", args[1] if len(args) > 1 else ())
    kinds = S.torch.autograd.ProfilerActivity
    session = Session(program=True)
    session.cpu = kinds.CPU in activities
    S.programs.append(session)
    S.prepared = False
    note("program", on=True, n=session.n, ns=time.time_ns(), cpu=session.cpu, cuda=kinds.CUDA in activities)


def program_ended(result, ns):
    """A session of the program's has ended; the result is what _disable_profiler returned, or None if it failed."""
    if S.programs:
        session = S.programs.pop()
        session.closed_ns = ns
        note("program", on=False, n=session.n, ns=ns)
        if session.cpu and result is not None and has_trace(result) and patch_save(type(result)):
            session.ended.append(result)
            S.unsaved.append(session)
    if not S.programs:
        S.prepared = False
        look(save=False)


def program_failed():
    """Their session did not begin."""
    if not S.programs:
        S.prepared = False
        look(save=False)


def program_saved(result, args, kwargs):
    """The program saved its trace: we take a copy, for a result can be saved once only."""
    for session in S.unsaved:
        if session.ended[0] is result:
            break
    else:
        return
    S.unsaved.remove(session)
    source = str(args[0] if args else kwargs.get("path"))
    part = slice_name(session) + ".part"
    try:
        import shutil

        shutil.copyfile(source[7:] if source.startswith("file://") else source, part)
        publish(session, part)
    except Exception as error:
        ours(error)
        remove(part)
        reason("save_failed", describe(error))


def reap(end=False):
    """Saves for the program's sessions whose result nobody but us holds any more, or, at the end, all that are left."""
    for session in list(S.unsaved):
        if end or sys.getrefcount(session.ended[0]) <= 2:
            S.unsaved.remove(session)
            try:
                save_result(session, session.ended[0])
            except Exception as error:
                ours(error)
                reason("save_failed", describe(error))


def patch_save(cls):
    """Has save() of the profiler's results tell us. The class is changed, not the result: that stays torch's own."""
    if S.save_patched is None:
        original = S.save

        @wraps(original)
        def save(self, *args, **kwargs):
            out = original(self, *args, **kwargs)
            enter(program_saved, self, args, kwargs)
            return out

        try:
            patch(cls, "save", save)
            S.save_patched = True
        except Exception as error:
            S.save_patched = False
            reason("torch_unsupported", "the program's own profiles cannot be had: " + describe(error))
    return S.save_patched


def patch_profiler():
    """Wraps the functions by which torch.profiler, emit_nvtx, emit_itt and others begin and end sessions."""
    autograd = S.torch.autograd
    places = [S.prof, autograd, getattr(S.torch._C, "_autograd", None), sys.modules.get("torch.autograd.profiler_legacy")]

    def everywhere(name, make):
        original = getattr(autograd, name, None)
        if original is None:
            return
        ours = wraps(original)(make(original))
        for place in places:
            if getattr(place, name, None) is original:
                patch(place, name, ours)

    def prepare(original):
        def _prepare_profiler(*args, **kwargs):
            ask_main_quietly()
            enter(program_prepares)
            clear_way()
            return original(*args, **kwargs)

        return _prepare_profiler

    def enable(original):
        def _enable_profiler(*args, **kwargs):
            ask_main_quietly()
            enter(program_begins)
            clear_way()
            try:
                out = original(*args, **kwargs)
            except BaseException:
                enter(program_failed, quiet=True)
                raise
            enter(program_began, args, kwargs)
            return out

        return _enable_profiler

    def disable(original):
        def _disable_profiler(*args, **kwargs):
            if not S.programs:
                enter(program_begins)  # ends ours: it is not theirs to end
                clear_way()
            ns = time.time_ns()
            out = None
            try:
                out = original(*args, **kwargs)
            finally:
                enter(program_ended, out, ns, quiet=True)
            return out

        return _disable_profiler

    def metadata(original):
        def _add_metadata_json(key, value):
            if S.session is not None and not S.dead:
                S.metadata.append((key, value))
                return None
            return original(key, value)

        return _add_metadata_json

    everywhere("_prepare_profiler", prepare)
    everywhere("_enable_profiler", enable)
    everywhere("_disable_profiler", disable)
    everywhere("_enable_profiler_legacy", enable)
    everywhere("_disable_profiler_legacy", disable)
    everywhere("_add_metadata_json", metadata)
    ended = getattr(S.prof, "_run_on_profiler_stop", None)
    if ended is not None:

        @wraps(ended)
        def _run_on_profiler_stop():
            ended()
            if S.session is not None and not S.dead:
                set_flag(True)

        patch(S.prof, "_run_on_profiler_stop", _run_on_profiler_stop)


def ask_main_quietly():
    try:
        ask_main()
    except Exception:
        pass
