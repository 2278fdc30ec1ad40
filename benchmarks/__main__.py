"""Run the quick measurements, or those named: `python -m benchmarks [--list] [peers cop] [scale] ...`."""

import sys

from benchmarks.discover import choose, experiments

if "--list" in sys.argv[1:]:
    for name, module in experiments().items():
        print(f"{name:18} {'quick' if module.QUICK else '     '}  {module.TITLE}")
    sys.exit()
try:
    chosen = choose(sys.argv[1:])
except ValueError as error:
    sys.exit(str(error))
for name, module in chosen.items():
    print(f"== {name}: {module.TITLE}", flush=True)
    module.main()
