import functools

import torch
from torch._C._engine import _VERSION, RecordFunction
from torch.autograd import (
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    _disable_profiler,
    _enable_profiler,
    _prepare_profiler,
    _ProfilerResult,
)
from torch._C._profiler import _ExperimentalConfig

if _VERSION >= (2, 1):
    _is_profiler_enabled = False

    def _set_is_profiler_enabled(enable):
        global _is_profiler_enabled
        _is_profiler_enabled = enable

    def _run_on_profiler_start():
        _set_is_profiler_enabled(True)

    def _run_on_profiler_stop():
        _set_is_profiler_enabled(False)

else:

    def _run_on_profiler_start():
        pass

    _run_on_profiler_stop = _run_on_profiler_start


class record_function:
    def __init__(self, name, args=None):
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self.record = None

    def __enter__(self):
        self.record = RecordFunction(self.name, "user_annotation").begin()
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if not self.run_callbacks_on_exit:
            return
        assert self.record is not None
        self.record.end()

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapped


class profile:
    def __init__(self, use_cpu=True, use_device=None, record_shapes=False, experimental_config=None):
        self.activities = ({ProfilerActivity.CPU} if use_cpu else set()) | ({ProfilerActivity.CUDA} if use_device else set())
        self.record_shapes = record_shapes
        self.use_device = use_device
        self.extra = experimental_config or _ExperimentalConfig()
        self.kineto_results = None
        self.function_events = None

    def config(self):
        args = (ProfilerState.KINETO, self.record_shapes, False, False, False, False, self.extra)
        return ProfilerConfig(*args, "0123") if _VERSION >= (2, 5) else ProfilerConfig(*args)

    def _prepare_trace(self):
        _prepare_profiler(self.config(), self.activities)

    def _start_trace(self):
        _run_on_profiler_start()
        _enable_profiler(self.config(), self.activities)

    def __enter__(self):
        self._prepare_trace()
        self._start_trace()
        return self

    def __exit__(self, *args):
        if self.use_device:
            torch.cuda.synchronize()
        self.kineto_results = _disable_profiler()
        _run_on_profiler_stop()
        assert isinstance(self.kineto_results, _ProfilerResult)
        self.function_events = self.kineto_results.events()
        return False

    def export_chrome_trace(self, path):
        self.kineto_results.save(path)


class emit_nvtx:
    def __enter__(self):
        _run_on_profiler_start()
        args = (ProfilerState.NVTX, False, False, False, False, False, _ExperimentalConfig())
        _enable_profiler(ProfilerConfig(*args, "") if _VERSION >= (2, 5) else ProfilerConfig(*args), set())
        return self

    def __exit__(self, *args):
        torch.cuda.synchronize()
        _disable_profiler()
        _run_on_profiler_stop()
