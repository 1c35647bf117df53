"""Checks, against the torch that is importable, what the recorder's start-up file takes for granted about it.

Prints a line for each assumption: OK, FAIL, or SKIP with the reason; exits with 1 if one failed. Run it without the
recorder (python3 contract/contract.py), on a machine with a device for all of it.
"""
import contextlib
import io
import json
import os
import sys
import tempfile
import threading
import time
import traceback

import torch
import torch.autograd.profiler as prof

ACTIVITY = torch.autograd.ProfilerActivity
FAILED = []


class Skip(Exception):
    pass


CHECKS = []


def check(text):
    def keep(function):
        CHECKS.append((text, function))
        return function

    return keep


def version():
    return tuple(int("".join(c for c in p if c.isdigit()) or 0) for p in torch.__version__.split(".")[:2])


def make_config(**extra):
    autograd = torch.autograd
    experimental = torch._C._profiler._ExperimentalConfig(**extra)
    args = (autograd.ProfilerState.KINETO, False, False, False, False, False, experimental)
    try:
        return autograd.ProfilerConfig(*args, "")
    except TypeError:
        return autograd.ProfilerConfig(*args)


def begin(**extra):
    config, activities = make_config(**extra), {ACTIVITY.CPU}
    torch.autograd._prepare_profiler(config, activities)
    torch.autograd._enable_profiler(config, activities)


def end():
    return torch.autograd._disable_profiler()


def saved(result):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "slice.json.part")
    result.save(path)
    with open(path) as f:
        return json.load(f)


def names(document):
    return [e.get("name") for e in document["traceEvents"] if e.get("cat") in ("cpu_op", "user_annotation")]


def work():
    torch.mm(torch.ones(2, 2), torch.ones(2, 2))


@check("torch is built with kineto")
def _():
    assert torch.autograd.kineto_available()


@check("a session of CPU activities records operators, and its result can be saved under any name")
def _():
    begin()
    work()
    document = saved(end())
    assert "aten::mm" in names(document), names(document)
    assert all("External id" in e["args"] for e in document["traceEvents"] if e.get("cat") == "cpu_op")
    assert "baseTimeNanoseconds" in document or version() < (2, 4)


@check("a result can be saved once only")
def _():
    begin()
    result = end()
    saved(result)
    try:
        saved(result)
    except RuntimeError as error:
        assert "already saved" in str(error), error
    else:
        raise AssertionError("saved twice")


@check("a second session on the thread is refused with 'already enabled'")
def _():
    begin()
    try:
        torch.autograd._enable_profiler(make_config(), {ACTIVITY.CPU})
    except RuntimeError as error:
        assert "already enabled" in str(error), error
    else:
        raise AssertionError("two sessions")
    finally:
        end()


@check("_profiler_enabled() tells of a session on this thread")
def _():
    assert not torch.autograd._profiler_enabled()
    begin()
    assert torch.autograd._profiler_enabled()
    end()
    assert not torch.autograd._profiler_enabled()


@check("a result can be saved while the next session runs, and each has its own operators")
def _():
    begin()
    torch.relu(torch.ones(2))
    first = end()
    begin()
    work()
    document = saved(first)
    second = saved(end())
    assert "aten::relu" in names(document) and "aten::mm" not in names(document), names(document)
    assert "aten::mm" in names(second) and "aten::relu" not in names(second), names(second)


@check("results have trace_start_ns or trace_start_us, and it is not 0")
def _():
    begin()
    result = end()
    assert (getattr(result, "trace_start_ns", None) or result.trace_start_us)() > 0


@check("the class of results takes another save()")
def _():
    cls = torch.autograd._ProfilerResult
    original = cls.save
    seen = []

    def save(self, *args):
        out = original(self, *args)
        seen.append(args)
        return out

    cls.save = save
    try:
        begin()
        result = end()
        assert type(result) is cls
        saved(result)
        assert len(seen) == 1
    finally:
        cls.save = original


@check("a range of record_function can be ended early and again; begun anew it is in the next session")
def _():
    begin()
    each = prof.record_function("inner")
    each.__enter__()
    each.__exit__(None, None, None)
    first = end()
    each.__exit__(None, None, None)
    begin()
    each.__exit__(None, None, None)
    each.__enter__()
    work()
    each.__exit__(None, None, None)
    each.__exit__(None, None, None)
    second = end()
    assert "inner" in names(saved(first))
    assert names(saved(second)).count("inner") == 1


@check("operators of backward are seen without callbacks on all threads")
def _():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.ones(4, 4, requires_grad=True, device=device) if not fake() else torch.ones(4, 4, device=device)
    torch.mm(x, x)
    begin()
    (torch.mm(x, x) if fake() else torch.mm(x, x).sum()).backward()
    assert any("Backward" in n for n in names(saved(end())))


def fake():
    return hasattr(torch._C, "_engine")


@check("operators of other Python threads are not seen without callbacks on all threads")
def _():
    begin()
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "aten::mm" not in names(saved(end()))


@check("profile_all_threads sees operators of other Python threads (one session, ended while they are idle)")
def _():
    try:
        torch._C._profiler._ExperimentalConfig(profile_all_threads=True)
    except TypeError:
        raise Skip("this torch has no profile_all_threads")
    begin(profile_all_threads=True)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "aten::mm" in names(saved(end()))


@check("metadata added while a session runs is in its trace")
def _():
    begin()
    torch.autograd._add_metadata_json("record_shapes", "1")
    torch.autograd._add_metadata_json("distributedInfo", json.dumps({"rank": 3}))
    document = saved(end())
    assert document["record_shapes"] == 1 and document["distributedInfo"]["rank"] == 3


@check("_get_distributed_info needs no profiler object")
def _():
    import torch.profiler.profiler

    torch.profiler.profiler._KinetoProfile._get_distributed_info(None)


@check("a process group's end is told by _update_default_pg(None), with the groups still there")
def _():
    dist = torch.distributed
    if not dist.is_available() or dist.is_initialized():
        raise Skip("no process groups, or there is one")
    groups = sys.modules.get("torch.distributed.distributed_c10d")
    assert groups is not None, "torch.distributed.distributed_c10d is not imported with torch"
    seen, original = [], groups._update_default_pg

    def ours(pg):
        seen.append(torch.profiler.profiler._KinetoProfile._get_distributed_info(None) if pg is None else "begin")
        return original(pg)

    groups._update_default_pg = ours
    old = {k: os.environ.get(k) for k in ("RANK", "WORLD_SIZE")}
    os.environ.update(RANK="0", WORLD_SIZE="1")
    try:
        more = {"store": dist.HashStore(), "rank": 0, "world_size": 1} if hasattr(dist, "HashStore") else {}
        try:
            dist.init_process_group("gloo", **more)
        except RuntimeError as error:
            raise Skip("no process group can be made here: %s" % error)
        dist.destroy_process_group()
    finally:
        groups._update_default_pg = original
        for k, v in old.items():
            os.environ.pop(k) if v is None else os.environ.update({k: v})
    assert [s == "begin" for s in seen] == [True, False], seen
    assert seen[1]["rank"] == 0 and seen[1]["pg_count"] == 1 and seen[1]["pg_config"][0]["ranks"] == [0], seen


@check("torch.profiler goes through the functions in torch.autograd.profiler")
def _():
    calls = []
    originals = {}

    def wrap(name):
        original = originals[name] = getattr(prof, name)

        def call(*args, **kwargs):
            calls.append(name)
            return original(*args, **kwargs)

        setattr(prof, name, call)

    for name in ("_prepare_profiler", "_enable_profiler", "_disable_profiler"):
        wrap(name)
    try:
        with torch.profiler.profile(activities=[ACTIVITY.CPU]):
            work()
    finally:
        for name, original in originals.items():
            setattr(prof, name, original)
    assert calls == ["_prepare_profiler", "_enable_profiler", "_disable_profiler"], calls


@check("torch.profiler ends with a synchronize when it has CUDA activities")
def _():
    if not torch.cuda.is_available():
        raise Skip("no device")
    torch.ones(2, device="cuda")
    seen = []
    original = torch.cuda.synchronize
    torch.cuda.synchronize = lambda *a: seen.append(1) or original(*a)
    try:
        with torch.profiler.profile(activities=[ACTIVITY.CPU, ACTIVITY.CUDA]):
            work()
    finally:
        torch.cuda.synchronize = original
    assert seen


@check("the flag for compiled code is there from 2.1 on")
def _():
    if version() < (2, 1):
        raise Skip("older")
    prof._set_is_profiler_enabled(True)
    assert prof._is_profiler_enabled
    prof._set_is_profiler_enabled(False)
    prof._run_on_profiler_start
    prof._run_on_profiler_stop


@check("hooks after an optimizer step run inside the range around it")
def _():
    register = getattr(sys.modules["torch.optim.optimizer"], "register_optimizer_step_post_hook", None)
    if register is None:
        assert hasattr(torch.optim.Optimizer, "_hook_for_profile")
        raise Skip("no global hook: step() is wrapped instead")
    seen = []
    open_ranges = []
    enter, leave = prof.record_function.__enter__, prof.record_function.__exit__
    prof.record_function.__enter__ = lambda self: open_ranges.append(self.name) or enter(self)
    prof.record_function.__exit__ = lambda self, *a: open_ranges.pop() and leave(self, *a)
    hook = register(lambda optimizer, args, kwargs: seen.append(list(open_ranges)))
    try:
        p = torch.ones(2) if fake() else torch.nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([p]) if fake() else torch.optim.SGD([p], lr=0.1)
        if not fake():
            p.grad = torch.ones(2)
        optimizer.step()
    finally:
        prof.record_function.__enter__, prof.record_function.__exit__ = enter, leave
        if hook is not None:
            hook.remove()
    assert seen and seen[0] and seen[0][-1] == "Optimizer.step#SGD.step", seen


@check("torch.cuda initialises through torch.cuda._lazy_init, also from an operator")
def _():
    if not torch.cuda.is_available():
        raise Skip("no device")
    code = (
        "import torch\nseen=[]\no=torch.cuda._lazy_init\n"
        "def f(*a, **k):\n    seen.append(1)\n    return o(*a, **k)\n"
        "torch.cuda._lazy_init=f\ntorch.ones(1, device='cuda')\n"
        "assert seen and torch.cuda._initialized, seen\n"
    )
    assert run(code) == 0


@check("a child can use the device if the process only imported torch before it forked")
def _():
    if not torch.cuda.is_available():
        raise Skip("no device")
    assert run(PRELUDE + CHILD) == 0


@check("the next session begins in under 50 ms after the end of an empty one (what a fork costs)")
def _():
    begin()
    end()
    t = time.perf_counter()
    begin()
    end()
    ms = (time.perf_counter() - t) * 1e3
    print("     begin + end: %.2f ms" % ms)
    assert ms < 50


@check("100 sessions in a row, each saved while the next one runs")
def _():
    begin()
    for _ in range(100):
        work()
        result = end()
        begin()
        assert "aten::mm" in names(saved(result))
    end()


PRELUDE = "import os, sys, torch\n"
CHILD = (
    "pid = os.fork()\n"
    "if pid == 0:\n"
    "    try:\n        torch.ones(2, device='cuda'); os._exit(0)\n"
    "    except Exception:\n        os._exit(7)\n"
    "sys.exit(os.waitpid(pid, 0)[1] >> 8)\n"
)


def run(code):
    import subprocess

    return subprocess.run([sys.executable, "-c", code]).returncode


def main():
    print("torch %s, Python %s" % (torch.__version__, sys.version.split()[0]))
    for text, function in CHECKS:
        try:
            function()
            print("OK   " + text)
        except Skip as skip:
            print("SKIP %s: %s" % (text, skip))
        except BaseException as error:
            FAILED.append(text)
            print("FAIL %s: %s: %s" % (text, type(error).__name__, str(error)[:300]))
            out = io.StringIO()
            traceback.print_exc(file=out)
            with contextlib.suppress(Exception):
                torch.autograd._profiler_enabled() and end()
            sys.stderr.write(out.getvalue())
        sys.stdout.flush()
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
