"""Which pairs of tracks to ask a person about, so that the answers teach most."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from coterie._arrays import Floats, Index
from coterie.constraints import as_constraints
from coterie.constraints._model import entailed
from coterie.constraints._reading import whole_number
from coterie.semisupervised._pair_classifier import PairClassifier
from coterie.semisupervised._tracks import (
    centroids_of,
    parts_of,
    read_tracks,
    require_decision_function,
)

_STRATEGIES = ("min", "max", "com")


class TrackPairs(NamedTuple):
    """Pairs of tracks to ask about, the first of each the one that is in doubt.

    Attributes
    ----------
    tracks : array of shape (n_pairs, 2)
        Names of the tracks.
    rows : array of shape (n_pairs, 2)
        The rows of their centroids in `track_rows` of the same images.
    ambiguity : array of shape (n_pairs,)
        Of the first track: (17.27), the least loss that some class has, of its worst image.
    """

    tracks: Any
    rows: Index
    ambiguity: Floats


def select_pairs(
    model: Any,
    X: Any,
    tracks: Any,
    labelled: Any,
    n_pairs: int,
    strategy: str = "min",
    *,
    constraints: Any = None,
) -> TrackPairs:
    """Pairs of tracks to ask a person about: are these two the same?

    The tracks of which `model` is least sure, each with one partner. Tracks that are known to be the same are
    asked about once, and not at all where one of them is labelled; nor are pairs that `constraints` imply.

    Parameters
    ----------
    model : PairwiseLogisticRegression, PairwiseSVC, or a pipeline or search of one
        Fitted. Its kernel compares the centroids of tracks, so that "precomputed" will not do.
    X : array or sparse matrix of shape (n_images, n_features)
        The images.
    tracks : array of shape (n_images,)
        The track of each image; -1, None or NaN: an image of no track.
    labelled : list of tracks
        Tracks of which the class is known: they are asked about by no pair, and are partners.
    n_pairs : int
        How many pairs at most.
    strategy : {"min", "max", "com"}, default "min"
        The partner: the nearest labelled track; the farthest one; or one without a label that is in doubt
        itself, and not alike. A "yes" carries a label over to a track, which nearest tracks get most often.
    constraints : Constraints, optional
        What is known of the rows of ``track_rows(X, tracks)``, earlier answers with it.

    Returns
    -------
    TrackPairs
        Named: `tracks`, `rows`, `ambiguity`; fewer than `n_pairs` where no more is worth asking. With the
        answers, ``Constraints(rows[same], rows[~same], n_items=len(told.X)) | told.constraints`` is what the
        next fit learns from, where ``told = track_rows(X, tracks)``.

    Examples
    --------
    >>> from coterie import PairwiseLogisticRegression
    >>> from coterie.semisupervised import select_pairs
    >>> X, y = [[0.0], [4.0], [1.5], [2.1], [3.0]], [0, 1, -1, -1, -1]
    >>> model = PairwiseLogisticRegression().fit(X, y)
    >>> select_pairs(model, X, ["a", "b", "c", "d", "e"], ["a", "b"], 2).tracks.tolist()
    [['d', 'b'], ['c', 'a']]
    """
    if strategy not in _STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, _STRATEGIES))}; got {strategy!r}.")
    n_pairs = whole_number(n_pairs, "n_pairs", 0)
    front, last = _checked(model)
    rows = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = rows.shape[0]
    names, code = read_tracks(tracks, n)
    known = as_constraints(
        constraints, n + len(names), counted="the images and the centroids of their tracks are {} rows"
    )
    told = _told(labelled, names, strategy)
    score, ambiguity = _doubt(last, X if front is None else front.transform(X), code, len(names))
    centroids = centroids_of(rows, code, len(names))
    if front is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # centroids have no names of columns; the images had
            centroids = front.transform(centroids)
    own = last._features.own(centroids)

    group = known.components[n:]  # tracks that are known to be the same
    done = np.isin(group, group[told])
    partners = np.flatnonzero(~done if strategy == "com" else told)
    asked, pairs = set(group[done].tolist()), set()
    found: list[tuple[int, int]] = []
    for track in np.argsort(score, kind="stable"):  # the most ambiguous first
        if len(found) == n_pairs:
            break
        if group[track] in asked:
            continue
        alike = np.asarray(last._features.similarities(centroids[[track]], centroids[partners])).ravel()
        apart = own[track] + own[partners] - 2.0 * alike
        gain = {"min": -apart, "max": apart, "com": ambiguity[partners] - alike}[strategy]
        both = n + np.column_stack([np.full(len(partners), track), partners])
        implied = np.logical_or(*entailed(known, both, both))
        for at in np.argsort(-gain, kind="stable"):
            pair = frozenset((group[track], group[partners[at]]))
            if not implied[at] and pair not in pairs:
                pairs.add(pair)
                asked.add(group[track])
                found.append((track, partners[at]))
                break
    chosen = np.array(found, dtype=np.int64).reshape(-1, 2)
    return TrackPairs(names[chosen], n + chosen, ambiguity[chosen[:, 0]])


def _checked(model: Any) -> tuple[Any, Any]:
    require_decision_function(model)
    front, last = parts_of(model)
    if not isinstance(last, PairClassifier):
        raise TypeError(
            f"select_pairs compares tracks by the kernel of the model, and of {type(last).__name__} it knows "
            "none; take PairwiseLogisticRegression or PairwiseSVC."
        )
    if last.kernel == "precomputed":
        raise ValueError(
            "select_pairs compares the centroids of tracks, and a precomputed kernel has none; take a kernel "
            "of features."
        )
    return front, last


def _doubt(last: Any, images: Any, code: Index, n_tracks: int) -> tuple[Floats, Floats]:
    """Of each track the score of the best class, and its loss, both of the image where that is worst."""
    score, loss = np.full(n_tracks, np.inf), np.full(n_tracks, -np.inf)
    kept = code >= 0
    best, its_loss = last._best_of_rows(images)
    np.minimum.at(score, code[kept], best[kept])
    np.maximum.at(loss, code[kept], its_loss[kept])
    return score, loss


def _told(labelled: Any, names: Any, strategy: str) -> Any:
    """Which tracks are labelled."""
    number = {name: at for at, name in enumerate(names.tolist())}
    told = np.zeros(len(names), dtype=bool)
    for name in [labelled] if isinstance(labelled, str) or not np.iterable(labelled) else labelled:
        if name not in number:
            raise ValueError(f"labelled names the track {name!r}, which no image is of.")
        told[number[name]] = True
    if strategy != "com" and not told.any():
        raise ValueError(
            f'labelled names no track, but strategy="{strategy}" pairs tracks with labelled ones; label one, '
            'or take strategy="com".'
        )
    return told
