"""One process on two GPUs: `python3 two_devices.py plain|profile [OUT.json]`. Work on two streams of each device, copies between the devices in
both directions, and to and from the host. `plain` prints `WINDOW start end` of the run that counts, CLOCK_REALTIME ns; `profile` has torch.profiler
write its trace of that run."""
import sys, time
import torch

DEVICES = ('cuda:0', 'cuda:1')


class Job:
    def __init__(self):
        self.x = [torch.randn(1024, 1024, device=d) for d in DEVICES]
        self.side = [torch.cuda.Stream(d) for d in DEVICES]
        self.host = torch.randn(1 << 20).pin_memory()

    def wait(self):
        for d in DEVICES:
            torch.cuda.synchronize(d)

    def run(self):
        for _ in range(4):
            for i, d in enumerate(DEVICES):
                x, other = self.x[i], self.x[1 - i]
                torch.softmax(torch.relu(x @ x), -1)
                torch.zeros(1 << 20, device=d)
                x.clone()
                self.host.to(d, non_blocking=True).sum().item()
                other.to(d)
                self.side[i].wait_stream(torch.cuda.current_stream(d))
                with torch.cuda.stream(self.side[i]):
                    torch.mm(x, x)
            self.wait()
            self.x[0].copy_(self.x[1])
            self.wait()


def main():
    job = Job()
    job.run()
    if sys.argv[1] == 'plain':
        job.run()
        start = time.time_ns()
        job.run()
        print('WINDOW', start, time.time_ns(), flush=True)
        return
    from torch.profiler import profile, ProfilerActivity as A
    job.run()
    with profile(activities=[A.CPU, A.CUDA]) as p:
        job.run()
    p.export_chrome_trace(sys.argv[2])


if __name__ == '__main__':
    main()
