

def parse_steps(text):
    """Steps "A:B" as two numbers, A <= step < B; None if none are asked for."""
    if not text:
        return None
    first, _, end = text.partition(":")
    first, end = int(first), int(end)
    if not 0 <= first < end:
        raise ValueError("no steps in " + repr(text))
    return first, end


def patch_steps():
    """Has the end of each step told to us: a global hook of the optimizers, or for torch before 2.0 their step().

    Step k is what lies between the end of step k-1 (for 0: the import of torch) and its own. Only the optimizer that
    stepped first is counted, and only steps it takes: one that a GradScaler leaves out for an overflow does not end a
    step, its iteration counts to the next."""
    if S.steps is None:
        return
    if mark_parts()[0]:
        watch_mark()
    else:
        optimizers = sys.modules["torch.optim.optimizer"]  # torch.optim deletes the name
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is not None:
            register(after_optimizer)
        elif hasattr(optimizers.Optimizer, "_hook_for_profile"):
            patch_old_optimizers(optimizers.Optimizer)
        else:
            reason("torch_unsupported", "this torch has no hook for optimizer steps")
            return
    if S.steps[0] == 0:
        enter(open_window)


def patch_old_optimizers(base):
    original = base._hook_for_profile

    @wraps(original)
    def _hook_for_profile(self):
        original(self)
        step = type(self).step
        if not getattr(step, "_flagos_trace", False):

            @wraps(step)
            def counted(*args, **kwargs):
                out = step(*args, **kwargs)
                after_optimizer(args[0], args[1:], kwargs)
                return out

            counted._flagos_trace = True
            type(self).step = counted

    patch(base, "_hook_for_profile", _hook_for_profile)


def after_optimizer(optimizer, args, kwargs):
    if not S.dead:
        try:
            stepped(optimizer)
        except Exception as error:
            ours(error)


def stepped(optimizer):
    import weakref

    known = S.optimizer and S.optimizer()
    if known is None:
        S.optimizer = weakref.ref(optimizer)
    elif known is not optimizer:
        return
    # The hook runs inside the range that torch puts around a step: the step ends with that range.
    last = S.ranges[-1] if S.ranges and get_ident() == S.main else None
    if last is not None and str(last.name).startswith("Optimizer.step#"):
        S.after = last
    else:
        enter(step_over)


after_optimizer._torchdynamo_disable = True  # a compiled step() leaves the graph for it instead of tracing it


def mark_parts():
    module, _, name = os.environ.get("FLAGOS_TRACE_STEP_MARK", "").partition(":")
    return module, name


def watch_mark():
    """Wraps the function whose calls are steps, once it is there (in __main__ that is when its def has run)."""
    module, name = mark_parts()
    if S.steps is None or not name or S.marked or module not in sys.modules:
        return
    place = sys.modules[module]
    for part in name.split(".")[:-1]:
        place = getattr(place, part, None)
    original = getattr(place, name.rpartition(".")[2], None)
    if original is None:
        return
    S.marked = True

    @wraps(original)
    def marked(*args, **kwargs):
        out = original(*args, **kwargs)
        enter(step_over)
        return out

    patch(place, name.rpartition(".")[2], marked)


def step_over():
    """A step has ended."""
    done = S.step
    S.step += 1
    if S.in_window and S.step >= S.steps[1]:
        close_window()
    elif S.in_window:
        note("step", step=S.step, ns=time.time_ns())
        change_range(S.step)
    elif done + 1 == S.steps[0]:
        open_window()


def open_window():
    S.in_window = True
    change_range(S.step)  # before there is a session: else the ranges around it would leave a piece in front of it
    S.lib.flagos_trace_start()
    look()
    note("step", step=S.step, ns=time.time_ns())


def close_window():
    """The step's work on the device belongs to it, so it is waited for, once, where the window ends: torch.profiler does
    the same at the end of a session with CUDA activities. Without, its kernels would be recorded without an end."""
    cuda = S.torch.cuda
    try:
        if cuda.is_initialized() and not cuda.is_current_stream_capturing():
            cuda.synchronize()
    except Exception as error:
        ours(error)  # a device error: the program meets it at its own next call
    S.in_window = False
    note("step", step=S.step, ns=time.time_ns())
    if S.session is not None and ours_to_touch():
        stop()  # ends the ranges, too
    change_range(None)
    S.lib.flagos_trace_stop()
    save_results()


def tell_steps():
    """At the end: why none of the steps asked for was recorded."""
    if S.steps is None or S.in_window or S.step >= S.steps[0]:
        return
    module, name = mark_parts()
    if module and not S.marked:
        text = "%s:%s is not there, or was not yet when the program first used the GPU: define it before" % (module, name)
    else:
        text = "the program made %d steps, and the first to record was number %d, counted from 0" % (S.step, S.steps[0])
    reason("steps_not_reached", text)


def change_range(step):
    """Puts a range for the step around all others (None: takes it away). Ranges that the program has open are ended and
    begun again, for ranges of a thread have to be nested."""
    if get_ident() != S.main:
        return
    if not S.programs:  # a session of the program's sees its own ranges and no others
        leave_ranges()
    if S.step_range in S.ranges:
        S.ranges.remove(S.step_range)
    S.step_range = None
    if step is not None:
        S.step_range = S.prof.record_function("ProfilerStep#%d" % step)
        S.ranges.insert(0, S.step_range)
    if not S.programs:
        join_ranges()
