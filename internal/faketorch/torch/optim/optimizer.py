import functools
from collections import OrderedDict

from torch._C._engine import _VERSION

_hooks = OrderedDict()

if _VERSION >= (2, 0):

    def register_optimizer_step_post_hook(hook):
        _hooks[len(_hooks)] = hook


def _ranged(func):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        import torch

        self, *_ = args
        with torch.autograd.profiler.record_function("Optimizer.step#%s.step" % type(self).__name__):
            out = func(*args, **kwargs)
            for hook in _hooks.values():
                hook(self, args, kwargs)
            return out

    return wrapper


class Optimizer:
    def __init__(self, params):
        self.params = list(params)
        self._hook_for_profile()

    def _hook_for_profile(self):
        if _VERSION < (2, 0) and not getattr(type(self).step, "hooked", None):
            type(self).step = _ranged(type(self).step)
            type(self).step.hooked = True

    @staticmethod
    def profile_hook_step(func):
        return _ranged(func) if _VERSION >= (2, 0) else func
