"""
Papers to try "who is who" with
===============================

Writes `papers.csv`: a row for each author of each paper, as the name stands there, in full or with initials,
at times misspelt. With it,

    coterie resolve papers.csv --name author --context paper -o authors

says which names are the same person. `person` is the truth; nobody looks at it.
"""

import csv
import sys
from pathlib import Path

from coterie.datasets import make_references

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
out.mkdir(parents=True, exist_ok=True)

made = make_references(
    150, 250, 250, attribute="name", p_ambiguous=0.05, p_continue=0.7, popularity=0.5, random_state=0
)
rows = zip(made.data[:, 0], made.contexts, made.target, strict=True)
with open(out / "papers.csv", "w", newline="", encoding="utf-8") as file:
    table = csv.writer(file)
    table.writerow(["record", "author", "paper", "person"])
    table.writerows(
        [f"r{at}", name, f"paper {paper}", person] for at, (name, paper, person) in enumerate(rows)
    )
print(f"wrote {out / 'papers.csv'}: {made.DESCR.partition('.')[0]}")
