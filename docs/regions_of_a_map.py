"""
Regions of a map
================

600 districts with an income each, in 12 groups by Ward's method: by income alone, with groups connected, and
with groups connected and not too large. Draws `docs/img/hierarchies-map.png`. Map and incomes are made up.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import ListedColormap
from PIL import Image
from scipy.spatial import Voronoi

from coterie.adjacency import pieces, read_graph
from coterie.hierarchy import ConstrainedLinkage

N, K, LARGEST = 600, 12, 75


def districts():
    """Cells of random places, the pairs of cells that share a border, and an income for each."""
    rng = np.random.default_rng(0)
    places = rng.random((N, 2))
    around = np.array([[-1, 1, 0, 0], [1, -1, 0, 0], [-1, 1, 2, 0], [1, -1, 0, 2]])
    mirrored = [places * [a, b] + [c, d] for a, b, c, d in around]  # so that cells end at the edge of the map
    cells = Voronoi(np.vstack([places, *mirrored]))
    inside = (cells.ridge_points < N).all(axis=1)
    hills = np.sin(5 * places[:, 0]) + np.cos(4 * places[:, 1] + 2 * places[:, 0])
    income = 30 + 5 * hills + rng.normal(scale=2.0, size=N)
    return cells, inside, cells.ridge_points[inside], income[:, None]


def draw(axis, income, labels):
    """The map under labels: the mean income of each group, and its borders; how many pieces groups lie in."""
    cells, inside, borders, _ = districts()
    ridges = np.array(cells.ridge_vertices)[inside]
    same = labels[borders[:, 0]] == labels[borders[:, 1]]
    mean = np.array([income[labels == h].mean() for h in range(labels.max() + 1)])
    corners = [cells.vertices[cells.regions[cells.point_region[i]]] for i in range(N)]
    filled = PolyCollection(corners, array=mean[labels], edgecolors="#FFFFFF90", linewidths=0.3)
    # light to dark, for people who see few colours, and never so dark that a border is lost
    shades = ListedColormap(plt.get_cmap("YlGnBu")(np.linspace(0.05, 0.72, 256)))
    filled.set(cmap=shades, clim=(20, 40))
    axis.add_collection(filled)
    axis.add_collection(LineCollection(cells.vertices[ridges[~same]], colors="#000000", linewidths=1.1))
    axis.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[], yticks=[])
    return filled, pieces(read_graph(borders, N), labels)[0]


def finish(figure, axes, filled, name):
    """Add the scale of incomes, and save the picture."""
    words = "mean income of the group"
    figure.colorbar(filled, ax=axes, shrink=0.75, pad=0.01, label=words, ticks=range(20, 41, 5))
    save(figure, name)


def save(figure, name):
    """Save a picture in `docs/img`, with few colours: a fifth of the size."""
    out = Path(__file__).parent / "img" / name
    out.parent.mkdir(exist_ok=True)
    figure.savefig(out, dpi=150)
    Image.open(out).convert("RGB").quantize(96).save(out, optimize=True)


def main():
    """Three trees."""
    _, _, borders, income = districts()
    models = {
        "By income alone": ConstrainedLinkage(K),
        "Connected": ConstrainedLinkage(K, connectivity=borders),
        f"Connected, at most {LARGEST}": ConstrainedLinkage(K, connectivity=borders, size_max=LARGEST),
    }
    plt.rcParams.update({"font.size": 9})
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
    for axis, (name, model) in zip(axes, models.items(), strict=True):
        labels = model.fit(income).labels_
        filled, n_pieces = draw(axis, income, labels)
        largest = np.bincount(labels).max()
        axis.set_title(name, loc="left", fontweight="bold")
        axis.set_xlabel(f"{model.n_clusters_} groups, {n_pieces} pieces; largest: {largest} districts")
        print(f"{name}: {model.n_clusters_} in {n_pieces} pieces, at most {largest}, {model.n_roots_} roots")
    finish(figure, axes, filled, "hierarchies-map.png")


if __name__ == "__main__":
    main()
