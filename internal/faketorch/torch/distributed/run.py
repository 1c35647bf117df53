"""A launcher: python -m torch.distributed.run --nproc-per-node=N program.py arguments.

It initialises the device, as the real one may, and with FAKETORCH_LAUNCHER_USES=1 uses it. It ends the others when a
rank has failed, and exits with 1 then."""
import argparse
import os
import signal
import subprocess
import sys
import time

import torch


def main():
    p = argparse.ArgumentParser(allow_abbrev=False)
    p.add_argument("--nproc-per-node", type=int, default=1)
    for ignored in ("--nnodes", "--master-addr", "--master-port", "--local-addr"):
        p.add_argument(ignored)
    p.add_argument("--standalone", action="store_true")
    p.add_argument("program")
    p.add_argument("arguments", nargs=argparse.REMAINDER)
    o = p.parse_args()
    torch.cuda._lazy_init()
    if os.environ.get("FAKETORCH_LAUNCHER_USES"):
        torch.relu(torch.ones(2, device="cuda"))
    n = o.nproc_per_node
    ranks = []
    for i in range(n):
        env = dict(os.environ, RANK=str(i), LOCAL_RANK=str(i), WORLD_SIZE=str(n), LOCAL_WORLD_SIZE=str(n), GROUP_RANK="0")
        env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
        ranks.append(subprocess.Popen([sys.executable, "-u", o.program, *o.arguments], env=env))
    while any(r.poll() is None for r in ranks):
        if any(r.poll() for r in ranks):
            for r in ranks:
                if r.poll() is None:
                    r.send_signal(signal.SIGTERM)
            break
        time.sleep(0.05)
    sys.exit(1 if any([r.wait() for r in ranks]) else 0)


if __name__ == "__main__":
    main()
