from ._engine import _ExperimentalConfig, ProfilerActivity, ProfilerConfig, ProfilerState
