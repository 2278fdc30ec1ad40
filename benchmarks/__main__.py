"""Run all measurements, or one: `python -m benchmarks [constraints]`."""

import sys

from benchmarks.scale import constraints

EXPERIMENTS = {"constraints": constraints.main}

names = sys.argv[1:] or list(EXPERIMENTS)
unknown = [name for name in names if name not in EXPERIMENTS]
if unknown:
    sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(EXPERIMENTS)}")
for name in names:
    EXPERIMENTS[name]()
