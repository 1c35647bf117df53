import json

import torch
import torch.autograd.profiler as prof
from torch._C._autograd import ProfilerActivity

NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def schedule(*, wait, warmup, active, repeat=0):
    def action(step):
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return NONE
        step %= cycle
        if step < wait:
            return NONE
        if step < wait + warmup:
            return WARMUP
        return RECORD if step < cycle - 1 else RECORD_AND_SAVE

    return action


class _KinetoProfile:
    def __init__(self, activities=None, record_shapes=False):
        self.activities = set(activities) if activities else torch.autograd._supported_activities()
        self.record_shapes = record_shapes
        self.profiler = None

    def prepare_trace(self):
        device = "cuda" if ProfilerActivity.CUDA in self.activities else None
        cpu = ProfilerActivity.CPU in self.activities
        self.profiler = prof.profile(use_cpu=cpu, use_device=device, record_shapes=self.record_shapes)
        self.profiler._prepare_trace()

    def start_trace(self):
        self.profiler._start_trace()
        if self.record_shapes:
            torch.autograd._add_metadata_json("record_shapes", "1")
        information = self._get_distributed_info()
        if information:
            torch.autograd._add_metadata_json("distributedInfo", json.dumps(information))

    def stop_trace(self):
        self.profiler.__exit__(None, None, None)

    def add_metadata_json(self, key, value):
        torch.autograd._add_metadata_json(key, value)

    def export_chrome_trace(self, path):
        self.profiler.export_chrome_trace(path)

    def events(self):
        return self.profiler.function_events

    def _get_distributed_info(self):
        dist = torch.distributed
        if not dist.is_available() or not dist.is_initialized():
            return None
        information = {"backend": dist.get_backend(), "rank": dist.get_rank(), "world_size": dist.get_world_size()}
        information.update(pg_count=dist.get_pg_count(), pg_config=dist.distributed_c10d._get_all_pg_configs())
        return information


class profile(_KinetoProfile):
    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False):
        super().__init__(activities, record_shapes)
        self.schedule = schedule or (lambda step: RECORD)
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.action = self.schedule(0)
        self.range = None

    def __enter__(self):
        self.move(NONE, self.action)
        self.range_begin()
        return self

    def __exit__(self, *args):
        self.range_end()
        self.move(self.action, None)

    def step(self):
        self.range_end()
        before, self.step_num = self.action, self.step_num + 1
        self.action = self.schedule(self.step_num)
        self.move(before, self.action)
        torch.autograd._kineto_step()
        self.range_begin()

    def range_begin(self):
        self.range = prof.record_function("ProfilerStep#%d" % self.step_num)
        self.range.__enter__()

    def range_end(self):
        self.range.__exit__(None, None, None)

    def finish(self):
        self.stop_trace()
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def move(self, before, after):
        recording = (RECORD, RECORD_AND_SAVE)
        if before == RECORD_AND_SAVE or (before == RECORD and after is None):
            self.finish()
        elif before == WARMUP and after is None:
            self.start_trace()
            self.stop_trace()
        if after == WARMUP and before != WARMUP:
            self.prepare_trace()
        elif after in recording and before not in (WARMUP, RECORD):
            self.prepare_trace()
            self.start_trace()
        elif after in recording and before == WARMUP:
            self.start_trace()
