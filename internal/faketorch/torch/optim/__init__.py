from . import optimizer
from .optimizer import Optimizer


class SGD(Optimizer):
    @Optimizer.profile_hook_step
    def step(self, closure=None):
        from torch._tensor import _op

        _op("aten::_foreach_add_", "cuda" if any(p.device == "cuda" for p in self.params) else "cpu")


del optimizer
