"""Stands for the extension module."""
from . import _autograd, _profiler
