"""A stand-in for torch: what the recorder's start-up file calls, with the behaviour the real one has there.

FAKETORCH_VERSION chooses the version that it behaves as (2.11.0 unless set), FAKETORCH_DEVICE a shared library that
plays the device, FAKETORCH_FAIL makes the import fail.
"""
import os as _os

__version__ = _os.environ.get("FAKETORCH_VERSION", "2.11.0+cu130")
_VERSION = tuple(int(p) for p in __version__.split("+")[0].split(".")[:2])

from . import version
from . import _C

if _os.environ.get("FAKETORCH_FAIL"):
    raise ImportError("libfake.so.1: cannot open shared object file: No such file or directory")

from . import autograd
from . import cuda
from .autograd import profiler as _profiler_module
from . import optim, profiler, nn, distributed, utils
from ._tensor import Tensor, mm, ones, relu

from torch._C._engine import no_session_yet as _no_session_yet

assert _no_session_yet(), "a profiler was started before torch had been imported"
