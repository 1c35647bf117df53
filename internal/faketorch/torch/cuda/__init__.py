import ctypes as _ctypes
import os as _os
import threading as _threading

from torch._C import _engine

_initialized = False
_initialization_lock = _threading.Lock()
_tls = _threading.local()
_queued_calls = []
_device = None
_syncs = 0


def is_available():
    return True


def is_initialized():
    return _initialized and not _is_in_bad_fork()


def _is_in_bad_fork():
    return _initialized and _pid != _os.getpid()


def _lazy_call(callable, **kwargs):
    if is_initialized():
        callable()
    else:
        _queued_calls.append(callable)


def _lazy_init():
    """Initialises the device, once."""
    global _initialized, _device, _pid
    if is_initialized() or hasattr(_tls, "is_initializing"):
        return
    with _initialization_lock:
        if is_initialized():
            return
        if _is_in_bad_fork():
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")
        if _engine.poisoned:
            raise RuntimeError("CUDA error: initialization error")
        if _os.environ.get("FAKETORCH_NO_DEVICE"):
            raise RuntimeError("No CUDA GPUs are available")
        library = _os.environ.get("FAKETORCH_DEVICE")
        if library:
            _device = _ctypes.PyDLL(library)
            _device.faketorch_init()
        _tls.is_initializing = True
        try:
            for call in _queued_calls:
                call()
        finally:
            del _tls.is_initializing
        _pid = _os.getpid()
        _initialized = True


def _launch():
    _lazy_init()
    if _is_in_bad_fork():
        raise RuntimeError("CUDA error: initialization error")
    if _device is not None:
        _device.faketorch_launch()


def synchronize(device=None):
    global _syncs
    _lazy_init()
    _syncs += 1


def is_current_stream_capturing():
    return False


from .memory import memory_allocated
