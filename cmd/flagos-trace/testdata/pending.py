"""Stands in for the bootstrap: gives the agent a callable, opens a session of the
profiler when it is told to, and cuts it when it is told to. Writes what it saw as
JSON."""

import atexit
import ctypes as C
import json
import os
import signal
import sys
import threading
import time

agent_path, kineto_path, mode = sys.argv[1:4]
agent = C.CDLL(agent_path)
agent.flagos_trace_host_attach.argtypes = [C.c_void_p]
agent.flagos_trace_host_state.restype = C.c_uint32
kineto = C.CDLL(kineto_path)
seen, threads = [], set()
open_session = False
sessions = cuts = caught = sets = 0
counts = (C.c_uint64 * 32)()


class Interrupted(Exception):
    pass


def close():
    global open_session
    if open_session:
        open_session = False
        assert kineto.fk_end(counts) == 0
        agent.flagos_trace_host_own(0)


def look():
    global open_session, sessions, cuts
    threads.add(threading.get_ident())
    state = agent.flagos_trace_host_state()
    seen.append(state)
    if state & 4:
        cuts += 1
        close()
    if state & 3 == 3 and not open_session:
        assert agent.flagos_trace_host_own(1) == 0
        assert kineto.fk_begin(0) == 0
        open_session, sessions = True, sessions + 1
    elif state & 3 != 3:
        close()
    if mode == "signal" and len(seen) == 2:
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.01)


def handler(*_):
    raise Interrupted


rc = agent.flagos_trace_host_attach(id(look))
atexit.register(lambda: agent.flagos_trace_host_attach(None))
if rc != 0:
    sys.exit("attach: %d" % rc)
signal.signal(signal.SIGUSR1, handler)

if mode == "child":
    pid = os.fork()
    if pid != 0:
        status = os.waitpid(pid, 0)[1]
        time.sleep(0.2)
        # Nothing is recorded in the parent, which never used the device.
        ok = status == 0 and not seen and agent.flagos_trace_host_state() == 0 and agent.flagos_trace_host_own(1) == 1
        sys.exit(0 if ok else 7)

rt = C.CDLL("libcudart.so.13", mode=C.RTLD_GLOBAL)
ptr = C.c_void_p()
assert rt.cudaMalloc(C.byref(ptr), C.c_size_t(4096)) == 0
end = time.monotonic() + 1.5
while time.monotonic() < end:
    try:
        assert rt.cudaMemsetAsync(ptr, 0, C.c_size_t(4096), None) == 0
        sets += 1
        time.sleep(0.001)
    except Interrupted:
        caught += 1
    if mode == "window" and sets == 200:
        assert rt.cudaDeviceSynchronize() == 0
        assert agent.flagos_trace_stop() == 0
        time.sleep(0.1)
        time.sleep(0)
        assert not open_session, seen
        assert agent.flagos_trace_start() == 0
        for _ in range(100):
            time.sleep(0.002)
        assert open_session, seen

if mode in ("child", "grandchild"):
    before = len(seen)
    pid = os.fork()
    if pid == 0:
        time.sleep(0.3)
        # A child of a recorded process does nothing.
        ok = len(seen) == before and agent.flagos_trace_host_state() == 0 and agent.flagos_trace_host_own(1) == 1
        os._exit(0 if ok and agent.flagos_trace_host_attach(id(look)) == 1 else 8)
    assert os.waitpid(pid, 0)[1] == 0
close()
assert rt.cudaDeviceSynchronize() == 0
with open(sys.argv[4], "w") as f:
    json.dump({"seen": seen, "sessions": sessions, "cuts": cuts, "sets": sets, "caught": caught,
               "main": threads == {threading.get_ident()}}, f)
