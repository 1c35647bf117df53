from torch._C._autograd import ProfilerActivity
from torch.autograd.profiler import record_function
from .profiler import profile, schedule
