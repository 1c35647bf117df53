"""Runs the workload in children of multiprocessing, and exits with 3:
processes.py workload.py method children folder"""

import multiprocessing
import os
import runpy
import sys


def work(workload, counts):
    sys.argv = [workload, "--kernels", "90", "--counts", counts, "--sleep", "0.5"]
    try:
        runpy.run_path(workload, run_name="__main__")
    except SystemExit:
        pass


if __name__ == "__main__":
    _, workload, method, n, folder = sys.argv
    context = multiprocessing.get_context(method)
    children = [context.Process(target=work, args=(workload, os.path.join(folder, "counts.%d" % i))) for i in range(int(n))]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(3 if all(child.exitcode == 0 for child in children) else 9)
