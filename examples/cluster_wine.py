"""
Wine under sixty constraints
============================

Sixty pairs are drawn from the three cultivars of the wine data, as a reviewer might state them. The bottles
are clustered without them, under them (`COPKMeans`: every pair holds) and with a price on each
(`PCKMeans`). The script prints what came out and writes `runs/wine/`: the labels, the constraints and a
picture.
"""

import csv
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from coterie import Constraints, COPKMeans, PCKMeans

out = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/wine")
out.mkdir(parents=True, exist_ok=True)

X, cultivar = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)
bottles = [f"bottle-{number}" for number in range(len(X))]
constraints = Constraints.sample(cultivar, n_pairs=60, random_state=0).with_ids(bottles)
unnamed = np.setdiff1d(np.arange(len(X)), constraints.constrained_items)
print(f"{len(X)} bottles, 13 features, {constraints}")
print(f"{len(unnamed)} bottles occur in no constraint\n")

models = {
    "without": COPKMeans(n_clusters=3, random_state=0),
    "COPKMeans": COPKMeans(n_clusters=3, random_state=0),
    "PCKMeans": PCKMeans(n_clusters=3, random_state=0),
}
seconds = {}
for name, model in models.items():
    known = None if name == "without" else constraints
    model.fit(X, constraints=known)  # loads the compiled loops; the seconds are those of a second fit
    start = time.perf_counter()
    model.fit(X, constraints=known)
    seconds[name] = time.perf_counter() - start

print(f"{'':10} {'sizes':>12} {'met':>5} {'broken':>7} {'ARI':>6} {'ARI, others':>12} {'seconds':>8}")
for name, model in models.items():
    broken = constraints.violations(model.labels_)
    sizes = "/".join(map(str, np.bincount(model.labels_)))
    agreement = adjusted_rand_score(cultivar, model.labels_)
    others = adjusted_rand_score(cultivar[unnamed], model.labels_[unnamed])
    met = broken.n_stated - broken.n_broken
    row = f"{name:10} {sizes:>12} {met:5} {broken.n_broken:7} {agreement:6.3f} {others:12.3f}"
    print(f"{row} {seconds[name]:8.4f}")
print("(ARI: agreement with the cultivars, 1 is perfect; others: on the bottles that no constraint names)")
print(f"\nWhat clustering without constraints breaks:\n{constraints.violations(models['without'].labels_)}")

with open(out / "labels.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["bottle", "cultivar", *models])
    columns = [cultivar.tolist(), *(model.labels_.tolist() for model in models.values())]
    table.writerows(zip(bottles, *columns, strict=True))
constraints.write(out / "constraints.csv")
print(f"\nwrote {out / 'labels.csv'} and {out / 'constraints.csv'}")

try:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("no picture: matplotlib is missing; pip install coterie[plot]")

xy = PCA(n_components=2).fit_transform(X)
colours = np.array(["#0072B2", "#E69F00", "#009E73"])
figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharex=True, sharey=True, layout="constrained")
for axis, name in zip(axes, ("without", "COPKMeans"), strict=True):
    labels = models[name].labels_
    # cluster numbers are arbitrary: colour each cluster by the cultivar it holds most of
    main = np.array([np.bincount(cultivar[labels == h], minlength=3).argmax() for h in range(3)])
    wrong = main[labels] != cultivar
    kinds = (
        ("must-link", constraints.must_link, "#444444", "-", np.not_equal),
        ("cannot-link", constraints.cannot_link, "#999999", ":", np.equal),
    )
    for kind, pairs, colour, dashes, breaks in kinds:
        broken = breaks(*labels[pairs].T)
        for group, paint, width, told in (
            (pairs[~broken], colour, 0.8, kind),
            (pairs[broken], "#D00000", 2.0, f"broken {kind}"),
        ):
            for number, (i, j) in enumerate(group):
                label = told if number == 0 else None
                axis.plot(*xy[[i, j]].T, color=paint, lw=width, ls=dashes, zorder=1, label=label)
    axis.scatter(*xy.T, c=colours[main[labels]], s=26, zorder=2, edgecolor="white", linewidth=0.5)
    axis.scatter(
        *xy[wrong].T,
        s=90,
        facecolor="none",
        edgecolor="black",
        lw=0.9,
        zorder=3,
        label="not its cluster's cultivar",
    )
    broken = constraints.violations(labels).n_broken
    agreement = adjusted_rand_score(cultivar, labels)
    axis.set_title(f"{name} constraints" if name == "without" else f"{name} under 60 constraints")
    axis.set_xlabel(f"first principal component\n{broken} of 60 constraints broken, ARI {agreement:.2f}")
    axis.legend(loc="lower right", fontsize=8, framealpha=0.9)
axes[0].set_ylabel("second principal component")
figure.savefig(out / "wine.png", dpi=120)
print(f"wrote {out / 'wine.png'}")
