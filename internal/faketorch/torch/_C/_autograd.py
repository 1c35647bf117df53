from ._engine import (
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
    kineto_available,
)


def _supported_activities():
    return {ProfilerActivity.CPU, ProfilerActivity.CUDA}
