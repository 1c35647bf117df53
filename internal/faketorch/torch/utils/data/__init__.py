"""DataLoader with forked workers: what matters is that it forks at the start of every epoch."""
import os

import torch


class DataLoader:
    def __init__(self, items, num_workers=0):
        self.items, self.num_workers = items, num_workers

    def __iter__(self):
        workers = []
        for _ in range(self.num_workers):
            pid = os.fork()
            if pid == 0:
                torch.ones(2)
                os._exit(0)
            workers.append(pid)
        for item in self.items:
            with torch.autograd.profiler.record_function("enumerate(DataLoader)#_Iter.__next__"):
                torch.ones(2)
            yield item
        for pid in workers:
            assert os.waitpid(pid, 0)[1] == 0
