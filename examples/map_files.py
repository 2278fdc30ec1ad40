"""
A map to try connected clusters with
====================================

Writes `districts.csv`, 108 districts with income, age and people, and `borders.csv`, which districts are
neighbours. Four of them are an island. With them,

    coterie cluster districts.csv -k 5 --id district --columns income,age --connected borders.csv -o regions

makes five regions, each connected.
"""

import csv
import sys
from pathlib import Path

import numpy as np

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
out.mkdir(parents=True, exist_ok=True)

WIDE, HIGH = 12, 9
rng = np.random.default_rng(0)
x, y = (part.ravel() for part in np.meshgrid(np.arange(WIDE), np.arange(HIGH)))
names = [f"d{row}-{column}" for row, column in zip(y, x, strict=True)]
income = 20 + 12 * (x > 5) + 8 * (y > 5) + 4 * rng.normal(size=len(x))
age = 38 + 6 * (x + y > 10) + 3 * rng.normal(size=len(x))
people = rng.integers(500, 3000, size=len(x))
island = (x > 9) & (y > 6)  # no bridge

with open(out / "districts.csv", "w", newline="", encoding="utf-8") as file:
    table = csv.writer(file)
    table.writerow(["district", "x", "y", "income", "age", "people"])
    table.writerows(zip(names, x, y, income.round(2), age.round(2), people, strict=True))

with open(out / "borders.csv", "w", newline="", encoding="utf-8") as file:
    table = csv.writer(file)
    table.writerow(["i", "j"])
    for a in range(len(x)):
        for b in (a + 1, a + WIDE):
            if b < len(x) and abs(x[a] - x[b]) <= 1 and island[a] == island[b]:
                table.writerow([names[a], names[b]])
print(f"wrote {out / 'districts.csv'} and {out / 'borders.csv'}")
