"""Runs the workload and exits with 7 when it is asked to end: onterm.py workload.py [argument...]"""

import runpy
import signal
import sys

del sys.argv[0]
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
runpy.run_path(sys.argv[0], run_name="__main__")
