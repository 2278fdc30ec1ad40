"""
How sure is a mixture?
======================

240 shells of two species, and 24 pairs that two people stated, of which three are wrong. Draws
`docs/img/how-sure.png`: the posterior without the pairs, with them, and how sure it is; the data are those
of `docs/how-sure.md`.
"""

import io
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from PIL import Image

from coterie import Constraints, PenalizedGaussianMixture
from coterie.exceptions import ViolatedConstraintsWarning

warnings.simplefilter("ignore", ViolatedConstraintsWarning)
BLUE, ORANGE, RED, INK = "#0072b2", "#d55e00", "#cc0033", "#1b1f24"

rng = np.random.default_rng(3)
species = np.repeat([0, 0, 1, 1], 60)
middles = np.array([[-1.6, 1.8], [-1.6, -1.8], [1.6, 1.8], [1.6, -1.8]])
X = middles.repeat(60, axis=0) + rng.normal(scale=0.9, size=(240, 2))
pairs = rng.permutation(240)[:48].reshape(24, 2)
alike = species[pairs[:, 0]] == species[pairs[:, 1]]
alike[[17, 20, 23]] ^= True


def said(rows, confidence):
    """What someone said of some of the pairs."""
    some, yes = pairs[rows], alike[rows]
    return Constraints(some[yes], some[~yes], n_items=240, confidence=confidence)


known = said(slice(0, 16), 0.95) | said(slice(16, 24), 0.7)
plain = PenalizedGaussianMixture(n_components=2, random_state=0).fit(X)
weighed = PenalizedGaussianMixture(n_components=2, random_state=0).fit(X, constraints=known)

side = np.linspace(-4.6, 4.6, 200)
place = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
colours = LinearSegmentedColormap.from_list("clusters", ["#79b3d7", "#ffffff", "#eaad85"])
doubt = LinearSegmentedColormap.from_list("doubt", ["#7d3c98", "#ffffff"])


def show(axis, model, title):
    """Items and the posterior of the second cluster, which is the one above or to the right."""
    second = int(np.argmax(model.means_.sum(axis=1)))
    chance = model.predict_proba(place)[:, second].reshape(200, 200)
    axis.contourf(side, side, chance, levels=np.linspace(0, 1, 21), cmap=colours)
    axis.contour(side, side, chance, levels=[0.1, 0.5, 0.9], colors=INK, linewidths=[0.7, 1.4, 0.7])
    where = np.where(model.labels_ == second, ORANGE, BLUE)
    axis.scatter(*X.T, s=13, c=where, edgecolors="white", linewidths=0.4, zorder=3)
    axis.set_title(title, loc="left", fontsize=11)


figure, axes = plt.subplots(1, 3, figsize=(12, 4.3), layout="constrained")
show(axes[0], plain, "No pairs: young and old")
show(axes[1], weighed, "24 pairs of confidence .95 or .7: species")
for table, style in ((known.must_link, "-"), (known.cannot_link, (0, (4, 3)))):
    for i, j in table.tolist():
        broken = (weighed.labels_[i] == weighed.labels_[j]) != (style == "-")
        axes[1].plot(
            *X[[i, j]].T,
            linestyle=style,
            color=RED if broken else INK,
            linewidth=2 if broken else 0.8,
            zorder=4,
        )
sure = weighed.predict_proba(place).max(axis=1).reshape(200, 200)
shade = axes[2].contourf(side, side, sure, levels=np.linspace(0.5, 1, 11), cmap=doubt)
open_items = weighed.responsibilities_.max(axis=1) < 0.9
axes[2].scatter(*X[~open_items].T, s=13, c=INK, alpha=0.55, linewidths=0, zorder=3)
axes[2].scatter(*X[open_items].T, s=24, facecolors="white", edgecolors=INK, linewidths=1.0, zorder=3)
axes[2].set_title(f"How sure: {int(open_items.sum())} items below 90 %", loc="left", fontsize=11)
figure.colorbar(shade, ax=axes[2], label="probability of the better cluster", shrink=0.85)
for axis in axes:
    axis.set(aspect="equal", xticks=[], yticks=[], xlim=(-4.6, 4.6), ylim=(-4.6, 4.6))

drawn = io.BytesIO()
figure.savefig(drawn, dpi=130, facecolor="white")
out = Path(__file__).parent / "img" / "how-sure.png"
Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(out, optimize=True)
print(
    f"wrote {out.name}: {weighed.violations_.n_broken} pairs outvoted, {int(open_items.sum())} items in doubt"
)
