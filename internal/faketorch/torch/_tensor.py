from torch._C._engine import RecordFunction, on_autograd_thread


def _op(name, device, *children):
    record = RecordFunction(name).begin()
    try:
        for child in children:
            _op(child, device)
        if device == "cuda":
            from torch import cuda

            cuda._launch()
    finally:
        record.end()


class Tensor:
    def __init__(self, device):
        self.device = device

    def backward(self):
        def work():
            _op("autograd::engine::evaluate_function: MmBackward0", self.device, "MmBackward0")

        on_autograd_thread(work)

    def item(self):
        _op("aten::item", self.device, "aten::_local_scalar_dense")
        return 1.0


def ones(*shape, device="cpu"):
    if device == "cuda":
        from torch import cuda

        cuda._lazy_init()
    _op("aten::ones", device, "aten::fill_")
    return Tensor(device)


def mm(a, b):
    _op("aten::mm", a.device)
    return Tensor(a.device)


def relu(a):
    _op("aten::relu", a.device)
    return Tensor(a.device)
