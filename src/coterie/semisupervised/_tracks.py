"""Tracks, images that show one thing: what they say as constraints, and the class of each.

A track is tied to its centroid, one row more, and tracks are compared by their centroids: the pairs of two
tracks of 1,000 images are 2,001, not two million.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from coterie._arrays import Floats, Index
from coterie.constraints import Constraints
from coterie.constraints._model import MOST_GROUP_PAIRS
from coterie.constraints._reading import known_labels


class TrackRows(NamedTuple):
    """Rows and constraints to learn from.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_images + n_tracks, n_features)
        The images, then the centroid of each track.
    constraints : Constraints
        About these rows.
    tracks : array of shape (n_tracks,)
        The tracks in the order of their centroids.
    """

    X: Any
    constraints: Constraints
    tracks: Any


def track_rows(X: Any, tracks: Any, times: Any = None) -> TrackRows:
    """Rows and constraints that say which images are of one track.

    Each image must join the centroid of its track, which is a row after those of X. With `times` two tracks
    that were seen at one time are of different things: their centroids cannot join.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_images, n_features)
        The images by their features; a kernel has no centroids. A frame becomes an array.
    tracks : array of shape (n_images,)
        The track of each image, by number or name; -1, None or NaN: an image of no track.
    times : array of shape (n_images,), optional
        When each image was taken, as numbers or dates; nothing is seen by two cameras at once. A track lasts
        from its first to its last image. Images of no track need no time.

    Returns
    -------
    TrackRows
        Named: `X`, `constraints`, `tracks`. A centroid has no label: put -1 (or None) behind `y` for each.

    See Also
    --------
    predict_tracks : The class of each track.
    select_pairs : Pairs of tracks to ask about.

    Examples
    --------
    >>> from coterie.semisupervised import track_rows
    >>> X = [[0.0], [2.0], [5.0], [7.0], [9.0]]
    >>> told = track_rows(X, ["a", "a", "b", "b", None], times=[1, 3, 2, 4, 2])
    >>> told.X[5:].ravel().tolist(), told.tracks.tolist()
    ([1.0, 6.0], ['a', 'b'])
    >>> told.constraints.must_link.tolist(), told.constraints.cannot_link.tolist()
    ([[0, 5], [1, 5], [2, 6], [3, 6]], [[5, 6]])
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = X.shape[0]
    names, code = read_tracks(tracks, n)
    items = np.flatnonzero(code >= 0)
    must = np.column_stack([items, n + code[items]])
    cannot = n + _overlaps(times, code, len(names))
    source = ["one track"] * len(must) + ["seen at one time"] * len(cannot)
    known = Constraints(must, cannot, n_items=n + len(names), source=source)
    parts = [X, centroids_of(X, code, len(names))]
    rows = sparse.vstack(parts, format="csr") if sparse.issparse(X) else np.vstack(parts)
    return TrackRows(rows, known, names)


def read_tracks(tracks: Any, n_rows: int) -> tuple[Any, Index]:
    """The tracks as they come first, and the number of the track of each row; -1: of none."""
    items, numbers, n = known_labels(tracks, "tracks")
    if n != n_rows:
        raise ValueError(f"tracks has {n:,} values, but X has {n_rows:,} rows; give each image its track.")
    code = np.full(n, -1, dtype=np.int64)
    code[items] = numbers
    _, first = np.unique(numbers, return_index=True)
    names = np.asarray(tracks)[items[first]]
    return names, code


def sums_of(rows: Any, code: Index, n_codes: int) -> Any:
    """The sum of the rows of each code; rows of code -1 count nowhere."""
    items = np.flatnonzero(code >= 0)
    shape = (n_codes, rows.shape[0])
    return sparse.csr_matrix((np.ones(len(items)), (code[items], items)), shape) @ rows


def centroids_of(X: Any, code: Index, n_tracks: int) -> Any:
    """The mean of each track."""
    share = 1.0 / np.bincount(code[code >= 0], minlength=n_tracks)
    return (sparse.diags_array(share) @ sums_of(X, code, n_tracks)).astype(X.dtype)


def _overlaps(times: Any, code: Index, n_tracks: int) -> Index:
    """Pairs of tracks that were there at one time, also where the one ends when the other begins."""
    if times is None or not n_tracks:
        return np.empty((0, 2), dtype=np.int64)
    times = np.asarray(times)
    if times.shape != code.shape:
        raise ValueError(f"times must have a value for each of the {len(code):,} rows; got {times.shape}.")
    if times.dtype.kind not in "iufMm":
        raise TypeError(
            f"times must be numbers, or dates without a time zone (datetime64); got {times.dtype}."
        )
    order = np.argsort(code, kind="stable")[(code < 0).sum() :]
    none = times[order] != times[order]  # NaN and NaT
    if none.any():
        raise ValueError(
            f"times[{order[none].min()}] is {times[order[none].min()]}, but the image is of a track: say "
            "when it was taken, or take it out of the track (-1)."
        )
    begins = np.searchsorted(code[order], np.arange(n_tracks))
    first, last = np.minimum.reduceat(times[order], begins), np.maximum.reduceat(times[order], begins)
    by_start = np.argsort(first, kind="stable")
    after = np.arange(1, n_tracks + 1)
    count = np.searchsorted(first[by_start], last[by_start], side="right") - after
    if count.sum() > MOST_GROUP_PAIRS:
        raise ValueError(
            f"{count.sum():,} pairs of tracks were seen at one time, more than {MOST_GROUP_PAIRS:,}; take a "
            "shorter stretch of time."
        )
    one = np.repeat(np.arange(n_tracks), count)
    other = np.arange(len(one)) - np.repeat(np.cumsum(count) - count, count) + after[one]
    return np.column_stack([by_start[one], by_start[other]])


def parts_of(model: Any) -> tuple[Any, Any]:
    """The steps before a classifier, and itself; None where there are none."""
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, Pipeline):
        return None, model
    return (model[:-1] if len(model) > 1 else None), model[-1]


def predict_tracks(model: Any, X: Any, tracks: Any, how: str = "sum") -> Any:
    """The class of each image, by all images of its track.

    Parameters
    ----------
    model : classifier
        Fitted; any that has a `decision_function` with a column for each class. A pipeline or search will do.
    X : array or sparse matrix
        The images, as `model` takes them.
    tracks : array of shape (n_images,)
        The track of each image; -1, None or NaN: an image of no track, which is judged alone.
    how : {"sum", "vote"}, default "sum"
        The class of the largest f in sum; or that of most images, among equals that of the larger sum.

    Returns
    -------
    array of shape (n_images,)
        The same for all images of a track. `unknown` of the model where that is given and no class has a sum
        above 0 (with "vote": where most images are unknown).

    Examples
    --------
    >>> from coterie import PairwiseLogisticRegression
    >>> from coterie.semisupervised import predict_tracks
    >>> model = PairwiseLogisticRegression(kernel="linear").fit([[-1.0], [1.0]], ["low", "high"])
    >>> X, tracks = [[-5.0], [1.0], [1.0], [2.0]], [7, 7, 7, 8]
    >>> predict_tracks(model, X, tracks).tolist()
    ['low', 'low', 'low', 'high']
    >>> dict(zip(tracks, predict_tracks(model, X, tracks, how="vote").tolist(), strict=True))
    {7: 'high', 8: 'high'}
    """
    if how not in ("sum", "vote"):
        raise ValueError(f"how must be 'sum' or 'vote'; got {how!r}.")
    classes, scores = _scored(model, X)
    names, group = read_tracks(tracks, len(scores))
    alone = np.flatnonzero(group < 0)
    group[alone] = len(names) + np.arange(len(alone))
    n_groups = len(names) + len(alone)
    total = sums_of(scores, group, n_groups)
    if how == "vote":
        votes = sums_of(np.eye(scores.shape[1])[scores.argmax(axis=1)], group, n_groups)
        total = np.where(votes == votes.max(axis=1, keepdims=True), total, -np.inf)
    return classes[total.argmax(axis=1)[group]]


def require_decision_function(model: Any) -> None:
    """Refuse what does not say how far rows are on the side of each class."""
    if not (hasattr(model, "decision_function") and hasattr(model, "classes_")):
        raise TypeError(
            f"the model must be a fitted classifier with a decision_function, such as "
            f"PairwiseLogisticRegression; got {type(model).__name__}."
        )


def _scored(model: Any, X: Any) -> tuple[Any, Floats]:
    """The classes, and how much each image is of each; `unknown` is the first, and always has 0."""
    require_decision_function(model)
    scores, classes = np.asarray(model.decision_function(X)), model.classes_
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    if scores.shape[1] != len(classes):
        raise ValueError(
            f"the decision_function has {scores.shape[1]} columns for {len(classes)} classes; it must have "
            'one for each (with SVC: decision_function_shape="ovr").'
        )
    unknown = getattr(parts_of(model)[1], "unknown", None)
    if unknown is None:
        return classes, scores
    return np.append(unknown, classes), np.column_stack([np.zeros(len(scores)), scores])
