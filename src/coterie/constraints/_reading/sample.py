"""Drawing constraints from a known labelling, as the experiments of the field do.

Pairs are drawn uniformly without repetition; "balanced" draws as many must-links as cannot-links; "easy"
keeps only pairs that leave the contracted cannot-link graph (k - 1)-degenerate, so that greedy clustering
in the right order cannot fail (Davidson and Ravi 2006). Teachers sort small random subsets (the book,
chapter 3). `noise` turns a share of the pairs into their opposite. Disjoint pairs that are flipped by chance
and stars of cannot-links between sets of classes are those of the book's chapter 4. Beside the draws stand
the links along a sequence, in which nothing is drawn.
"""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any, Literal

import numpy as np

from coterie.constraints._feasible.colouring import all_pairs, apart_graph, pairs_across, peel
from coterie.constraints._model.closure import contract, find_components
from coterie.constraints._model.statements import BoolArray, IntArray, canonical, plain_pairs
from coterie.constraints._reading.inputs import whole_number

How = Literal["random", "balanced", "easy"]
Draw = tuple[IntArray, BoolArray]  # pairs, and which of them are must-links

# Draws for each pair wanted, before "easy" gives up.
_PATIENCE = 20


def as_generator(random_state: Any) -> np.random.Generator:
    """A NumPy generator from a seed, a generator, or a scikit-learn style RandomState."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    return np.random.default_rng(random_state)


def known_labels(y: Any, name: str = "y") -> tuple[IntArray, IntArray, int]:
    """Items with a known label, the code of each, and the number of all items."""
    from coterie.constraints._reading.build import group_statement

    n_items, group = group_statement("label", y, None, None, name)
    return group.items, group.codes, n_items


def sample_pairs(
    y: Any, n_pairs: int, how: How, noise: float, n_clusters: int | None, random_state: Any
) -> tuple[int, Draw]:
    """See `Constraints.sample`."""
    if how not in ("random", "balanced", "easy"):
        raise ValueError(f"how must be 'random', 'balanced' or 'easy'; got {how!r}.")
    if not isinstance(noise, int | float | np.number) or not 0 <= noise <= 1:
        raise ValueError(f"noise is the share of pairs turned into their opposite, 0 to 1; got {noise!r}.")
    n_pairs = whole_number(n_pairs, "n_pairs", 0)
    rng = as_generator(random_state)
    items, codes, n_items = known_labels(y)
    if how == "balanced":
        n_must = (n_pairs + 1) // 2
        within = _draw(items, codes, n_must, True, rng)
        between = _draw(items, codes, n_pairs - n_must, False, rng)
        pairs = np.concatenate([within, between])
    elif how == "random":
        pairs = _draw(items, codes, n_pairs, None, rng)
    else:
        k = len(np.unique(codes)) if n_clusters is None else whole_number(n_clusters, "n_clusters", 1)
        pairs = _draw_easy(items, codes, n_items, n_pairs, k, rng)
    label = np.full(n_items, -1, dtype=np.int64)
    label[items] = codes
    is_must = label[pairs[:, 0]] == label[pairs[:, 1]]
    flipped = rng.choice(n_pairs, size=round(noise * n_pairs), replace=False)
    is_must[flipped] = ~is_must[flipped]
    return n_items, (pairs, is_must)


def _draw(
    items: IntArray, codes: IntArray, n_pairs: int, same: bool | None, rng: np.random.Generator
) -> IntArray:
    """Draw distinct pairs uniformly: of one class (same), of two (not same), or any (None)."""
    m = len(items)
    counts = np.bincount(codes, minlength=1)
    n_within = int((counts * (counts - 1) // 2).sum())
    n_all = m * (m - 1) // 2
    available = {True: n_within, False: n_all - n_within, None: n_all}[same]
    if n_pairs > available:
        kind = {True: "pairs of one class", False: "pairs of two classes", None: "pairs"}[same]
        raise ValueError(f"{n_pairs} pairs wanted, but {m} labelled items make only {available} {kind}.")
    by_code = np.argsort(codes, kind="stable")
    starts = np.cumsum(counts) - counts
    if available <= max(4 * n_pairs, 10_000):  # few to choose from: write them all down
        blocks = [np.empty((0, 2), dtype=np.int64)]
        if same is not True:
            blocks.append(by_code[pairs_across(codes[by_code])])
        if same is not False:
            large = np.flatnonzero(counts > 1).tolist()
            blocks += [all_pairs(by_code[starts[code] : starts[code] + counts[code]]) for code in large]
        every = np.concatenate(blocks)
        return items[every[rng.choice(len(every), size=n_pairs, replace=False)]]

    within_chance = counts * (counts - 1) / max(2 * n_within, 1)
    between_chance = counts * (m - counts) / max(2 * (n_all - n_within), 1)

    def propose(size: int) -> tuple[IntArray, IntArray]:
        if same is None:
            a, b = rng.integers(m, size=size), rng.integers(m - 1, size=size)
            return a, b + (b >= a)
        code = rng.choice(len(counts), size=size, p=within_chance if same else between_chance)
        a = rng.integers(counts[code])
        if same:
            b = rng.integers(counts[code] - 1)
            return by_code[starts[code] + a], by_code[starts[code] + b + (b >= a)]
        b = rng.integers(m - counts[code])
        return by_code[starts[code] + a], by_code[b + counts[code] * (b >= starts[code])]

    keys = np.empty(0, dtype=np.int64)
    while len(keys) < n_pairs:
        a, b = propose(2 * (n_pairs - len(keys)) + 16)
        new = np.concatenate([keys, np.minimum(a, b) * m + np.maximum(a, b)])
        keys = new[np.sort(np.unique(new, return_index=True)[1])]
    i, j = np.divmod(keys[:n_pairs], m)
    return np.column_stack([items[i], items[j]])


def _draw_easy(
    items: IntArray, codes: IntArray, n_items: int, n_pairs: int, k: int, rng: np.random.Generator
) -> IntArray:
    label = np.full(n_items, -1, dtype=np.int64)
    label[items] = codes
    n_all = len(items) * (len(items) - 1) // 2
    pool = _draw(items, codes, min(_PATIENCE * n_pairs, n_all), None, rng)
    kept = np.empty((0, 2), dtype=np.int64)

    def is_easy(pairs: IntArray) -> bool:
        same = label[pairs[:, 0]] == label[pairs[:, 1]]
        must, cannot = (canonical(plain_pairs(pairs[rows]), "sum") for rows in (same, ~same))
        graph = apart_graph(contract(find_components(n_items, must, ()), cannot, ()))
        return not peel(graph, k)[1].any()

    def add(batch: IntArray) -> None:
        # take a batch whole if it is easy, else try its halves: few tests where most pairs fit
        nonlocal kept
        batch = batch[: n_pairs - len(kept)]
        if not len(batch):
            return
        trial = np.concatenate([kept, batch])
        if is_easy(trial):
            kept = trial
        elif len(batch) > 1:
            add(batch[: len(batch) // 2])
            add(batch[len(batch) // 2 :])

    for start in range(0, len(pool), max(n_pairs, 1)):
        add(pool[start : start + n_pairs])
    if len(kept) < n_pairs:
        raise ValueError(
            f"only {len(kept)} of {n_pairs} pairs could be drawn that stay easy for n_clusters={k}; ask for "
            "fewer pairs or more clusters."
        )
    return kept


def sample_chunklets(y: Any, n_chunklets: int, size: int, random_state: Any) -> tuple[int, IntArray]:
    """Must-links that tie disjoint sets of `size` items of one class, each as a chain."""
    n_chunklets = whole_number(n_chunklets, "n_chunklets", 0)
    size = whole_number(size, "size", 2)
    rng = as_generator(random_state)
    items, codes, n_items = known_labels(y)
    # cut every class, in random order, into whole chunklets, and draw from these
    chunklets = []
    for code in range(int(codes.max(initial=-1)) + 1):
        members = rng.permutation(items[codes == code])
        chunklets += list(members[: len(members) // size * size].reshape(-1, size))
    if n_chunklets > len(chunklets):
        raise ValueError(
            f"{n_chunklets} chunklets of {size} wanted, but the classes hold only {len(chunklets)} such sets."
        )
    chosen = rng.choice(len(chunklets), size=n_chunklets, replace=False)
    chains = [np.column_stack([chunklets[c][:-1], chunklets[c][1:]]) for c in chosen.tolist()]
    return n_items, np.concatenate([np.empty((0, 2), dtype=np.int64), *chains])


def sample_teachers(y: Any, n_teachers: int, n_seen: int, random_state: Any) -> tuple[int, Draw, list[str]]:
    """All pairs of the subset of `n_seen` items that each teacher sorts by class, and who said them."""
    rng = as_generator(random_state)
    items, codes, n_items = known_labels(y)
    if not 2 <= n_seen <= len(items):
        raise ValueError(f"a teacher sees between 2 and {len(items)} labelled items; got n_seen={n_seen}.")
    n_teachers = whole_number(n_teachers, "n_teachers", 0)
    first, second = np.triu_indices(n_seen, 1)
    pairs, is_must, source = [np.empty((0, 2), dtype=np.int64)], [np.empty(0, dtype=bool)], []
    for teacher in range(n_teachers):
        seen = np.sort(rng.choice(len(items), size=n_seen, replace=False))
        pairs.append(np.column_stack([items[seen[first]], items[seen[second]]]))
        is_must.append(codes[seen[first]] == codes[seen[second]])
        source += [f"teacher {teacher}"] * len(first)
    return n_items, (np.concatenate(pairs), np.concatenate(is_must)), source


def sample_disjoint(y: Any, fraction: float, flip: float, random_state: Any) -> tuple[int, Draw]:
    """Pairs of which no two share an item, each turned into its opposite with the probability `flip`."""
    for name, value, words in (
        ("fraction", fraction, "the share of the labelled items that are in a pair"),
        ("flip", flip, "the probability that a pair states the opposite"),
    ):
        if not is_share(value):
            raise ValueError(f"{name} is {words}, 0 to 1; got {value!r}.")
    rng = as_generator(random_state)
    items, codes, n_items = known_labels(y)
    n_pairs = min(round(fraction * len(items) / 2), len(items) // 2)
    chosen = rng.permutation(len(items))[: 2 * n_pairs].reshape(-1, 2)
    is_must = codes[chosen[:, 0]] == codes[chosen[:, 1]]
    return n_items, (items[chosen], is_must ^ (rng.random(n_pairs) < flip))


def is_share(value: Any) -> bool:
    """Whether it is a number from 0 to 1."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and bool(0 <= value <= 1)


def sample_class_sets(sets: Any, fanout: int, n_stars: int | None, random_state: Any) -> tuple[int, IntArray]:
    """Stars of cannot-links: an item of the smallest set, and `fanout` items of the others; disjoint."""
    fanout = whole_number(fanout, "fanout", 1)
    rng = as_generator(random_state)
    items, codes, n_items = known_labels(sets, "sets")
    counts = np.bincount(codes)
    if len(counts) < 2:
        raise ValueError(f"sets must name at least 2 sets of classes; it names {len(counts)}.")
    inside = codes == int(np.argmin(counts))
    most = min(int(inside.sum()), int((~inside).sum()) // fanout)
    n_stars = most if n_stars is None else whole_number(n_stars, "n_stars", 0)
    if n_stars > most or not most:
        raise ValueError(
            f"{n_stars or 'some'} stars of 1 + {fanout} items wanted, but {int(inside.sum())} items of the "
            f"smallest set and {int((~inside).sum())} others make only {most}; ask for fewer stars or a "
            "smaller fanout."
        )
    centres = rng.choice(items[inside], size=n_stars, replace=False)
    leaves = rng.choice(items[~inside], size=n_stars * fanout, replace=False)
    return n_items, np.column_stack([np.repeat(centres, fanout), leaves])


def sequence_links(track_ids: Any, time: Any, gap: Any) -> tuple[int, IntArray]:
    """Pairs of items that follow each other on one track, at most `gap` apart in time."""
    items, codes, n_items = known_labels(track_ids, "track_ids")
    at = np.arange(n_items) if time is None else np.asarray(time)
    if at.dtype == object:  # Python's dates
        with contextlib.suppress(TypeError, ValueError):
            at = at.astype("datetime64[ns]")
    if at.shape != (n_items,) or at.dtype.kind not in "iufMm":
        raise ValueError(
            f"time must have one number or date per item, {n_items} in all; got shape {at.shape}, {at.dtype}."
        )
    at = at[items]
    dates = at.dtype.kind in "Mm"
    missing = np.isnat(at) if dates else ~np.isfinite(at)
    if missing.any():
        raise ValueError(f"item {items[np.argmax(missing)]} is on a track, but its time is not known.")
    order = np.lexsort((items, at, codes))
    items, at, codes = items[order], at[order], codes[order]
    linked = codes[1:] == codes[:-1]
    if gap is not None:
        linked &= at[1:] - at[:-1] <= _read_gap(gap, dates)
    return n_items, np.column_stack([items[:-1][linked], items[1:][linked]])


def _read_gap(gap: Any, dates: bool) -> Any:
    """A time that is not negative, of the kind that differences of the times have."""
    if dates:
        try:
            length = np.timedelta64(gap) if isinstance(gap, timedelta | np.timedelta64) else None
            length = None if length is None else length.astype("timedelta64[ns]")
        except (TypeError, ValueError):  # of no known length
            length = None
        if length is None or np.isnat(length) or length < np.timedelta64(0, "ns"):
            raise ValueError(
                "gap must be a timedelta of weeks, days or less, not negative, as the times are dates; "
                f"got {gap!r}."
            )
        return length
    number = isinstance(gap, int | float | np.integer | np.floating)
    number = number and not isinstance(gap, bool | np.timedelta64)
    if not number or not gap >= 0:
        raise ValueError(f"gap must be a number, not negative, or None for any; got {gap!r}.")
    return gap
