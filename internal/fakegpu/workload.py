"""The workload of fakegpu-workload through ctypes: a training-like loop on the
libraries that the loader finds. Python 3.8 or newer, no packages."""

import argparse
import ctypes as C
import json
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CUSTOM0, CUSTOM1 = 3, 4
H2D, D2H = 1, 2
BATCH = 1 << 20
NON_BLOCKING = 1


class Dim3(C.Structure):
    _fields_ = [("x", C.c_uint), ("y", C.c_uint), ("z", C.c_uint)]


class DriverConfig(C.Structure):
    _fields_ = [("dim", C.c_uint * 6), ("shared", C.c_uint), ("stream", C.c_void_p),
                ("attributes", C.c_void_p), ("n", C.c_uint)]


def read_kernels():
    with open(os.path.join(HERE, "kernels.inc")) as f:
        rows = re.findall(r'^KERNEL\("([^"]+)", (.*)\)$', f.read(), re.M)
    kernels = [(name, [int(n) for n in numbers.split(",")]) for name, numbers in rows]
    if not kernels:
        sys.exit("workload: no kernels in kernels.inc")
    return kernels


def check(rc, what):
    if rc:
        # A failing thread must end the whole program, as in the C version.
        sys.stderr.write("workload: %s: error %d\n" % (what, rc))
        sys.stderr.flush()
        os._exit(91)


class Gpu:
    """The libraries, the kernels and the streams."""

    def __init__(self, streams):
        self.cuda = C.CDLL("libcuda.so.1", mode=C.RTLD_GLOBAL)
        self.rt = C.CDLL("libcudart.so.13", mode=C.RTLD_GLOBAL)
        check(self.cuda.cuInit(0), "cuInit")
        self.cupti = None
        for name in ("libcupti.so.13", "libcupti.so.12"):
            try:
                # RTLD_NOLOAD: only a library that somebody has loaded.
                self.cupti = self.cupti or C.CDLL(name, mode=os.RTLD_NOLOAD)
            except OSError:
                pass
        if self.cupti is not None and not hasattr(self.cupti, "cuptiActivityPushExternalCorrelationId"):
            self.cupti = None
        self.next_external = 0
        self.lock = threading.Lock()
        self.kernels = read_kernels()
        self.stubs = (C.c_char * len(self.kernels))()
        fatbin = self.rt.__getattr__("__cudaRegisterFatBinary")
        fatbin.restype = C.c_void_p
        handle = C.c_void_p(fatbin(None))
        register = self.rt.__getattr__("__cudaRegisterFunction")
        register.restype = None
        for i, (name, _) in enumerate(self.kernels):
            register(handle, C.c_void_p(self.stub(i)), None, name.encode(), -1, None, None, None, None, None)
        self.malloc(256)
        module = C.c_void_p()
        check(self.cuda.cuModuleLoadData(C.byref(module), b"module"), "cuModuleLoadData")
        self.functions = []
        for name, _ in self.kernels:
            f = C.c_void_p()
            check(self.cuda.cuModuleGetFunction(C.byref(f), module, name.encode()), "cuModuleGetFunction")
            self.functions.append(f)
        self.rt.cudaLaunchKernel.argtypes = [C.c_void_p, Dim3, Dim3, C.c_void_p, C.c_size_t, C.c_void_p]
        self.rt.cudaMemcpyAsync.argtypes = [C.c_void_p, C.c_void_p, C.c_size_t, C.c_int, C.c_void_p]
        self.rt.cudaMemsetAsync.argtypes = [C.c_void_p, C.c_int, C.c_size_t, C.c_void_p]
        self.streams = [C.c_void_p()] + [self.stream() for _ in range(streams - 1)]

    def stub(self, i):
        return C.addressof(self.stubs) + i

    def malloc(self, size):
        p = C.c_void_p()
        check(self.rt.cudaMalloc(C.byref(p), C.c_size_t(size)), "cudaMalloc")
        return p

    def stream(self):
        s = C.c_void_p()
        check(self.rt.cudaStreamCreateWithPriority(C.byref(s), NON_BLOCKING, 0), "cudaStreamCreateWithPriority")
        return s

    def external(self):
        with self.lock:
            self.next_external += 1
            return self.next_external

    def push(self, kind, number):
        if self.cupti is not None:
            check(self.cupti.cuptiActivityPushExternalCorrelationId(kind, C.c_uint64(number)), "push")

    def pop(self, kind):
        if self.cupti is not None:
            check(self.cupti.cuptiActivityPopExternalCorrelationId(kind, None), "pop")

    def launch(self, i, route, stream):
        _, n = self.kernels[i]
        if route == 0:
            rc = self.cuda.cuLaunchKernel(self.functions[i], *n[:7], stream, None, None)
        elif route == 1:
            c = DriverConfig((C.c_uint * 6)(*n[:6]), n[6], stream, None, 0)
            rc = self.cuda.cuLaunchKernelEx(C.byref(c), self.functions[i], None, None)
        else:
            rc = self.rt.cudaLaunchKernel(self.stub(i), Dim3(*n[:3]), Dim3(*n[3:6]), None, n[6], stream)
        check(rc, "launch")


class Job(threading.Thread):
    """One training thread."""

    def __init__(self, gpu, index, options):
        super().__init__()
        self.gpu, self.index, self.o = gpu, index, options
        self.counts = dict.fromkeys(
            ("launches", "graph_launches", "graph_kernels", "memcpys", "memsets", "externals"), 0)

    def run(self):
        g, rt, n = self.gpu, self.gpu.rt, self.counts
        compute = g.streams[self.index % len(g.streams)]
        other = g.streams[(self.index + 1) % len(g.streams)]
        device, pinned, event = g.malloc(BATCH), C.c_void_p(), C.c_void_p()
        check(rt.cudaMallocHost(C.byref(pinned), C.c_size_t(BATCH)), "cudaMallocHost")
        check(rt.cudaEventCreateWithFlags(C.byref(event), 2), "cudaEventCreateWithFlags")
        loss, dev = C.c_float(), C.c_int()
        done = step = 0
        while done < self.o.kernels:
            g.push(CUSTOM1, 1000000 + step)
            step += 1
            check(rt.cudaGetDevice(C.byref(dev)), "cudaGetDevice")
            check(rt.cudaMemcpyAsync(device, pinned, BATCH, H2D, compute), "cudaMemcpyAsync")
            check(rt.cudaMemsetAsync(device, 0, BATCH // 4, compute), "cudaMemsetAsync")
            n["memcpys"] += 1
            n["memsets"] += 1
            for k in range(min(len(g.kernels), self.o.kernels - done)):
                if g.cupti is not None:
                    g.push(CUSTOM0, g.external())
                    n["externals"] += 1
                g.launch(k, k % 4, compute)
                g.pop(CUSTOM0)
                check(rt.cudaGetLastError(), "cudaGetLastError")
                n["launches"] += 1
                done += 1
            check(rt.cudaEventRecord(event, compute), "cudaEventRecord")
            check(rt.cudaStreamWaitEvent(other, event, 0), "cudaStreamWaitEvent")
            rt.cudaEventQuery(event)
            check(rt.cudaMemcpyAsync(C.addressof(loss), device, 4, D2H, compute), "cudaMemcpyAsync")
            n["memcpys"] += 1
            check(rt.cudaStreamSynchronize(compute), "cudaStreamSynchronize")
            check(rt.cudaEventSynchronize(event), "cudaEventSynchronize")
            g.pop(CUSTOM1)
            time.sleep(self.o.step_sleep_ms / 1000.0)
        if self.o.graphs:
            self.graphs(g.stream())
        check(rt.cudaEventDestroy(event), "cudaEventDestroy")
        check(rt.cudaFreeHost(pinned), "cudaFreeHost")
        check(rt.cudaFree(device), "cudaFree")

    def graphs(self, stream):
        g, rt = self.gpu, self.gpu.rt
        graph, executable = C.c_void_p(), C.c_void_p()
        check(rt.cudaStreamBeginCapture(stream, 0), "cudaStreamBeginCapture")
        for k in range(1, 5):
            check(rt.cudaLaunchKernel(g.stub(k), Dim3(8, 1, 1), Dim3(128, 1, 1), None, 0, stream), "cudaLaunchKernel")
        check(rt.cudaStreamEndCapture(stream, C.byref(graph)), "cudaStreamEndCapture")
        check(rt.cudaGraphInstantiate(C.byref(executable), graph, C.c_uint64(0)), "cudaGraphInstantiate")
        for _ in range(self.o.graphs):
            check(rt.cudaGraphLaunch(executable, stream), "cudaGraphLaunch")
            self.counts["graph_launches"] += 1
            self.counts["graph_kernels"] += 4
        check(rt.cudaStreamSynchronize(stream), "cudaStreamSynchronize")
        check(rt.cudaGraphExecDestroy(executable), "cudaGraphExecDestroy")
        check(rt.cudaGraphDestroy(graph), "cudaGraphDestroy")


def train(options):
    gpu = Gpu(options.streams)
    jobs = [Job(gpu, i, options) for i in range(options.threads)]
    for job in jobs[1:]:
        job.start()
    jobs[0].run()
    for job in jobs[1:]:
        job.join()
    check(gpu.rt.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
    if options.counts:
        total = {key: sum(job.counts[key] for job in jobs) for key in jobs[0].counts}
        with open(options.counts, "w") as f:
            json.dump(total, f)
    return gpu


def fork_child(gpu):
    pid = os.fork()
    if pid == 0:
        d = C.c_int()
        if gpu is not None and gpu.rt.cudaGetDevice(C.byref(d)) != 3:
            os._exit(94)
        sys.exit(3)
    _, status = os.waitpid(pid, 0)
    if not os.WIFEXITED(status) or os.WEXITSTATUS(status) != 3:
        sys.stderr.write("workload: the forked child did not exit 3\n")
        sys.exit(93)


def main():
    p = argparse.ArgumentParser(allow_abbrev=False)
    for name, default in (("kernels", 90), ("threads", 2), ("streams", 2), ("graphs", 1), ("step-sleep-ms", 0),
                          ("exit-code", 0), ("signal", 0)):
        p.add_argument("--" + name, type=int, default=default)
    for name in ("fork", "subprocess", "abort", "_exit", "no-cuda", "print"):
        p.add_argument("--" + name, action="store_true")
    p.add_argument("--counts")
    p.add_argument("--sleep", type=float, default=0)
    o = p.parse_args()
    if getattr(o, "print"):
        sys.stdout.write("workload: this line is for stdout\n")
        sys.stderr.write("workload: this line is for stderr\n")
        sys.stdout.flush()
        sys.stdout.buffer.write(sys.stdin.buffer.read())
        sys.stdout.flush()
    gpu = None if o.no_cuda else train(o)
    if o.fork:
        fork_child(gpu)
    if o.subprocess:
        subprocess.check_call([sys.executable, os.path.abspath(__file__), "--kernels", "9", "--threads", "1",
                               "--graphs", "0"])
    time.sleep(o.sleep)
    if o.signal:
        os.kill(os.getpid(), o.signal)
    if o.abort:
        os.abort()
    if o._exit:
        os._exit(o.exit_code)
    sys.exit(o.exit_code)


if __name__ == "__main__":
    main()
