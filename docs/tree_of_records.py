"""
The tree of some records
========================

Fifteen records of three tables, at most one of each in an entity. Draws `docs/img/hierarchies-tree.png`:
the tree of `docs/hierarchies.md`, with the merges that this rule forbids.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import CountVectorizer

from coterie import Constraints
from coterie.hierarchy import ConstrainedLinkage, plot_dendrogram

TABLES = {
    "clinic": ["Anna Kowalska", "John Smith", "Joan Smith", "Maria Garcia", "Peter Olsen"],
    "lab": ["Ana Kowalska", "Jon Smith", "Joann Smith", "Petra Olsen", "Li Wei"],
    "pharmacy": ["Anna Kowalsky", "John Smyth", "Maria Garzia", "Peter Olson", "Petra Olson"],
}
source = [table for table, rows in TABLES.items() for _ in rows]
names = [name for rows in TABLES.values() for name in rows]
letters = CountVectorizer(analyzer="char_wb", ngram_range=(2, 2)).fit_transform(names)
rule = ConstrainedLinkage(None, distance_threshold=0.6, linkage="average", metric="cosine")
people = rule.fit(letters, constraints=Constraints.distinct(source))

figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
plot_dendrogram(people, axis, labels=[f"{name}, {table}" for name, table in zip(names, source, strict=True)])
out = Path(__file__).parent / "img" / "hierarchies-tree.png"
figure.savefig(out, dpi=150)
print(f"wrote {out.name}: {people.n_clusters_} people, {people.n_roots_} roots")
