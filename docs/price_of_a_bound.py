"""
The price of a bound
====================

The 178 wines, z-scored, in five clusters of at least so many bottles each, from 0 to a fifth of all. Draws
`docs/img/price-of-a-bound.png`: what the minimum costs, what one more bottle in each cluster would
cost (its price), and the sizes of one of the fits.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from coterie import SizeConstrainedKMeans
from coterie.assign import size_constrained_assignment

K, SHOWN = 5, 30
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"]
MARKS = ["o", "s", "^", "D", "v"]

X = scale(load_wine().data)
plain = SizeConstrainedKMeans(K, init="random", n_init=100, random_state=0).fit(X)
order = np.argsort(plain.sizes_)  # clusters by their size without a bound
start = plain.cluster_centers_[order]
minima = np.arange(len(X) // K + 1)

# the centres stay where plain k-means put them
costs = ((X[:, None] - start) ** 2).sum(axis=2) / 2
fixed = [size_constrained_assignment(costs, size_min=int(least)) for least in minima]
cost = np.array([one.cost for one in fixed])
prices = np.array([one.prices for one in fixed])

# the centres follow; a fit begins there, and where that of the next larger minimum ended
fits = []
for least in minima[::-1]:
    begins = [start, fits[-1].cluster_centers_] if fits else [start]
    found = [
        SizeConstrainedKMeans(K, size_min=int(least), init=one, n_init=1, tol=0.0).fit(X) for one in begins
    ]
    fits.append(min(found, key=lambda model: model.objective_))
fits.reverse()
shown = fits[SHOWN]

plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
figure, axes = plt.subplot_mosaic(
    [["cost", "sizes"], ["prices", "sizes"]], figsize=(8, 4.6), width_ratios=[1.15, 1], layout="constrained"
)

axis = axes["cost"]
axis.plot(minima, cost, color="#555555", ls="--", lw=1.5, label="centres stay")
axis.plot(minima, [one.objective_ for one in fits], color="#000000", lw=2, label="centres follow: the fit")
near = np.array([SHOWN - 3, SHOWN + 5])
slope = prices[SHOWN].sum()
axis.plot(near, cost[SHOWN] + slope * (near - SHOWN), color="#D55E00", lw=1.5)
axis.plot(SHOWN, cost[SHOWN], "o", color="#D55E00", ms=5)
axis.annotate(
    f"slope: the sum of the prices,\n{slope:.1f} a bottle more in each",
    (SHOWN, cost[SHOWN]),
    xytext=(-10, 2),
    textcoords="offset points",
    ha="right",
    color="#B04A00",
    fontsize=8,
)
axis.set_ylabel("objective")
axis.set_title("What a minimum costs", loc="left", fontweight="bold")
axis.legend(loc="upper left", frameon=False, fontsize=8)
axis.tick_params(labelbottom=False)

axis = axes["prices"]
axis.sharex(axes["cost"])
for h in range(K):
    axis.plot(minima, prices[:, h], color=COLOURS[h], marker=MARKS[h], markevery=5, ms=4, lw=1.5)
height = -np.inf
for h in np.argsort(prices[-1]):
    if prices[-1, h] > 0:
        height = max(prices[-1, h], height + 0.09 * prices[-1].max())  # names must not overlap
        axis.text(minima[-1] + 1, height, f"cluster {h}", color=COLOURS[h], va="center", fontsize=8)
axis.set_xlabel("size_min, the same for every cluster")
axis.set_ylabel("price of a bottle more")
axis.set_title("Its price by cluster, centres stay", loc="left", fontweight="bold")

axis = axes["sizes"]
places = np.arange(K)
axis.barh(places, shown.sizes_, color=COLOURS, height=0.62, zorder=2)
for place, size in zip(places, plain.sizes_[order], strict=True):
    axis.plot([size, size], [place - 0.4, place + 0.4], color="#000000", lw=1.8, ls=":", zorder=3)
axis.plot(
    [SHOWN, SHOWN], [-0.6, K - 0.4], color="#555555", lw=1, ls="--", zorder=1, label=f"size_min = {SHOWN}"
)
right = max(plain.sizes_.max(), shown.sizes_.max()) + 2
for place, price in zip(places, shown.prices_, strict=True):
    told = f"price {price:.2f}" if price else "no price"
    axis.text(right, place, told, ha="left", va="center", fontsize=9)
axis.plot([], [], color="#000000", lw=1.8, ls=":", label="size without a bound")
axis.set_yticks(places, [f"cluster {h}" for h in places])
axis.set_ylim(K - 0.4, -1.3)
axis.set_xlim(0, right + 14)
axis.set_xticks(range(0, int(right), 10))
axis.set_xlabel("bottles")
axis.set_title(f"The fit with size_min = {SHOWN}", loc="left", fontweight="bold")
axis.legend(loc="upper left", frameon=False, fontsize=8, ncols=2)

out = Path(__file__).parent / "img" / "price-of-a-bound.png"
out.parent.mkdir(exist_ok=True)
figure.savefig(out, dpi=200)
print(
    f"wrote {out.name}: {cost[0]:.1f} without a bound, {fits[-1].objective_:.1f} with size_min={minima[-1]}"
)
