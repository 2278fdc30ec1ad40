"""Measurements behind the figures that the documentation states; run with `python -m benchmarks`."""
