"""Data-parallel training over NCCL, a rank for each GPU: `python3 -m torch.distributed.run --nproc-per-node=2 ddp_two_ranks.py MODE [OUT]`.

plain    two runs to warm up, then one between the times printed as `WINDOW rank start end`, CLOCK_REALTIME ns.
profile  the same run under torch.profiler, whose trace goes to OUT.rankN.json; `profile+shapes` with the shapes of the operators' inputs.
steps    trains until it is killed: prints `PID rank n` and `READY rank` once warm, then for every step `STEP rank start end`; a step ends with a wait
         for the device."""
import os, sys, time
import torch
import torch.distributed as dist

# A line in one write, so that those of two ranks do not mix.
say = lambda *words: os.write(1, (' '.join(map(str, words)) + '\n').encode())


class Job:
    def __init__(self):
        self.rank = dist.get_rank()
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
        self.model = torch.nn.parallel.DistributedDataParallel(net, device_ids=[torch.cuda.current_device()])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)
        self.x = torch.randn(256, 1024, device='cuda')
        self.large = torch.ones(1 << 26, device='cuda')

    def step(self):
        self.model(self.x).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def run(self):
        """Three steps, then each kind of collective operation once. A small message is sent when it lies in NCCL's buffers, perhaps before anybody
        receives it; the large one, 256 MB, does not fit into them."""
        for _ in range(3):
            self.step()
        n = dist.get_world_size()
        t = torch.ones(1 << 20, device='cuda')
        dist.all_reduce(t)
        dist.all_gather([torch.empty_like(t) for _ in range(n)], t)
        dist.broadcast(t, 0)
        dist.reduce_scatter_tensor(torch.empty(t.numel() // n, device='cuda'), t)
        for message in (t, self.large):
            if self.rank == 0:
                dist.send(message, 1)
            elif self.rank == 1:
                dist.recv(message, 0)
        dist.barrier()
        torch.cuda.synchronize()


def main():
    mode, out = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ''
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
    dist.init_process_group('nccl')
    job = Job()
    job.run()
    job.run()
    if mode == 'plain':
        start = time.time_ns()
        job.run()
        say('WINDOW', job.rank, start, time.time_ns())
    elif mode == 'steps':
        say('PID', job.rank, os.getpid())
        say('READY', job.rank)
        while True:
            start = time.time_ns()
            job.step()
            torch.cuda.synchronize()
            say('STEP', job.rank, start, time.time_ns())
    else:
        from torch.profiler import profile, ProfilerActivity as A
        with profile(activities=[A.CPU, A.CUDA], record_shapes='shapes' in mode) as p:
            job.run()
        p.export_chrome_trace(f'{out}.rank{job.rank}.json')
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
