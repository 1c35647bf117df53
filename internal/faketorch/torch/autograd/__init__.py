from torch._C._autograd import (
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    _add_metadata_json,
    _disable_profiler,
    _enable_profiler,
    _kineto_step,
    _prepare_profiler,
    _profiler_enabled,
    _ProfilerResult,
    _supported_activities,
    kineto_available,
)
from . import profiler
from .function import Function
