"""Runs the workload and then fails as programs do: raise.py workload.py [argument...]"""

import runpy
import sys

del sys.argv[0]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
    pass
raise ValueError("after the last launch")
