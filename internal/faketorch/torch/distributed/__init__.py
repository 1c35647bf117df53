import os

from . import distributed_c10d
from .distributed_c10d import destroy_process_group, get_pg_count, init_process_group, new_group


def is_available():
    return True


def is_initialized():
    return "FAKETORCH_RANK" in os.environ or distributed_c10d.default is not None


def get_backend():
    return "nccl"


def get_rank():
    return int(os.environ.get("FAKETORCH_RANK") or os.environ["RANK"])


def get_world_size():
    return int(os.environ.get("WORLD_SIZE", 8))


def all_reduce(tensor):
    from torch._tensor import _op

    _op("c10d::allreduce_", tensor.device, "record_param_comms")


def barrier():
    pass
