"""What the page says of clusters that are connected: the price of it, and the same without bounds."""

import re

import numpy as np
import pytest

from coterie import ConnectedKCenter, ConnectedKMeans, ConstrainedLinkage, Constraints, PCKMeans
from coterie.adjacency import pieces, read_graph
from coterie.report import plain_labels, write_report
from tests.report.pages import Page

WIDE = 8
CELLS = np.arange(WIDE * WIDE).reshape(WIDE, WIDE)
EDGES = np.vstack(
    [
        np.column_stack([a.ravel(), b.ravel()])
        for a, b in ((CELLS[:, :-1], CELLS[:, 1:]), (CELLS[:-1], CELLS[1:]))
    ]
)


def text_of(model, X, path, **more):
    write_report(path, model, X, **more)
    return " ".join(" ".join(Page(path).texts).split())


@pytest.mark.parametrize(
    "model",
    [
        ConnectedKMeans(5, connectivity=EDGES),
        ConnectedKMeans(5, connectivity=EDGES, metric="cosine"),
        ConstrainedLinkage(5, connectivity=EDGES),
        ConnectedKCenter(5, connectivity=EDGES, random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.metric}",
)
def test_the_price_of_connectivity(model, tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(WIDE * WIDE, 3)) + 5.0
    text = text_of(model.fit(X), X, tmp_path / "r.html")
    metric = "cosine" if model.metric == "cosine" else "sqeuclidean"
    free = PCKMeans(5, metric=metric, n_init=4, random_state=0).fit(X)
    found = pieces(read_graph(EDGES, len(X)), free.labels_)[0]
    assert f"its 5 clusters would lie in {found} connected pieces." in text
    if isinstance(model, ConnectedKMeans):
        least = free.objective_ * (1 if metric == "cosine" else 2)  # PCKMeans counts half of the squares
        more = round(100 * (model.objective_ / least - 1))
        assert int(re.search(r"to the centres is ([0-9]+) % more", text)[1]) == pytest.approx(more, abs=1)
        assert "price of connectivity." in text
        assert "stopped by itself: the last round gained less than a thousandth." in text


def test_where_nothing_is_connected_there_is_no_price(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(WIDE * WIDE, 3))
    assert "Price of connectivity" not in text_of(ConnectedKMeans(5).fit(X), X, tmp_path / "free.html")
    D = np.abs(X[:, :1] - X[:, 0])
    model = ConnectedKCenter(5, connectivity=EDGES, metric="precomputed").fit(D)
    assert "Price of connectivity" not in text_of(model, D, tmp_path / "given.html")
    model = ConnectedKMeans(5, connectivity=EDGES).fit(X)
    assert "Price of connectivity" not in text_of(model, X, tmp_path / "alone.html", plain=None)


def test_as_many_clusters_without_the_bound_that_told_their_number(tmp_path, seed):
    X = np.random.default_rng(seed).normal(size=(WIDE * WIDE, 3))
    model = ConnectedKMeans(None, connectivity=EDGES, size_min=7, random_state=0)
    model.fit(X, constraints=Constraints([(0, 1)], n_items=len(X)))
    plain = plain_labels(model, X)
    assert len(np.unique(plain)) == model.n_clusters_ > 1
    assert pieces(read_graph(EDGES, len(X)), plain)[0] == model.n_clusters_
    text = text_of(model, X, tmp_path / "r.html")
    assert "All bounds on sizes hold" in text
    assert "of connectivity and of what else is asked for." in text
