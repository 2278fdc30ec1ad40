"""
What do sixty constraints say?
==============================

Sixty pairs are drawn from the three cultivars of the wine data, as a reviewer might state them. Before any
clustering, `Constraints` says what they amount to: which bottles they join, whether three clusters are
enough, and how much they tell that the data alone do not. Then two contradictions are planted and
explained.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from coterie import Constraints

X, cultivar = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
bottles = [f"bottle-{number}" for number in range(len(X))]
constraints = Constraints.sample(cultivar, n_pairs=60, random_state=0).with_ids(bottles)

print("What was stated")
print(f"  {constraints}")

sizes = constraints.contracted.sizes
print("\nWhat follows")
print(
    f"  must-links join {len(bottles)} bottles into {len(sizes)} components; "
    f"{np.sum(sizes > 1)} have more than one bottle, the largest has {sizes.max()}"
)
print(f"  cannot-links hold {np.sum(np.diff(constraints.contracted.indptr) > 0)} of the components apart")

print("\nCan it be met?")
for n_clusters in (1, 2, 3):
    print(f"  {constraints.check(n_clusters)}")
print(f"  conflicts for any number of clusters: {constraints.explain()}")

print("\nIs it worth having?")
plain = KMeans(n_clusters=3, n_init=10, random_state=0).fit(X).labels_
print(f"  informativeness {constraints.informativeness(plain):.2f}: the share that plain k-means breaks")
print(
    f"  coherence       {constraints.coherence(X):.2f}: the share of must-link/cannot-link pairs that do not "
    "pull against each other"
)
print("  " + str(constraints.violations(plain)).replace("\n", "\n  "))

# Two mistakes: a cannot-link inside a component, and a must-link across two that are held apart.
component = constraints.components
largest = np.flatnonzero(component == np.argmax(sizes))
apart = constraints.cannot_link[constraints.cannot_link[:, 0] > 100][0]
mistakes = Constraints(
    must_link=[[bottles[i] for i in apart]],
    cannot_link=[(bottles[largest[0]], bottles[largest[-1]])],
    ids=bottles,
    source="planted",
)
print("\nWith two contradictions planted")
explanation = (constraints | mistakes).explain()
print("  " + str(explanation).replace("\n", "\n  "))

repaired = (constraints | mistakes).drop(explanation.suggestion)
print(f"\nAfter dropping what was suggested: {repaired.check(3)}")
