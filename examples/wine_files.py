"""
Two files to try the command line with
======================================

Writes `wine.csv`, 178 bottles and 13 measurements, and `pairs.csv`, sixty constraints about them, as a
taster might make them: these two are the same wine, those two are not. With them,

    coterie cluster wine.csv -k 3 --id bottle --pairs pairs.csv -o out/

finds three wines and writes the labels and a report to `out/`.
"""

import csv
import sys
from pathlib import Path

from sklearn.datasets import load_wine

from coterie import Constraints

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
out.mkdir(parents=True, exist_ok=True)

wine = load_wine()
bottles = [f"bottle-{number}" for number in range(len(wine.data))]
with open(out / "wine.csv", "w", newline="", encoding="utf-8") as file:
    table = csv.writer(file)
    table.writerow(["bottle", *wine.feature_names])
    table.writerows([bottle, *row] for bottle, row in zip(bottles, wine.data.tolist(), strict=True))

pairs = Constraints.sample(wine.target, n_pairs=60, random_state=0).with_ids(bottles)
pairs.write(out / "pairs.csv")
print(f"wrote {out / 'wine.csv'} and {out / 'pairs.csv'}")
