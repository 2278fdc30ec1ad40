"""Publications under names that several authors share: which of them are by one person?

The made-up counterpart of the data of S. Oyama and K. Tanaka, chapter 15 of "Constrained Clustering", 2008,
whose own are not published; with its numbers of authors (Table 15.1). The cost is linear in the records.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch, check_random_state

from coterie.constraints._reading import whole_number

_AUTHORS = {
    "D. Johnson": 17, "A. Gupta": 23, "J. Smith": 29, "R. Johnson": 29,
    "L. Zhang": 31, "H. Zhang": 26, "R. Jain": 10, "J. Mitchell": 11,
}  # fmt: skip
_WORDS, _COAUTHORS = 3000, 3000  # in all


def make_bibliography(
    n_authors: Mapping[str, int] | None = None,
    *,
    n_records: int = 100,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Make records of publications under ambiguous names, with the authors behind them.

    Each author owns 25 topic words and 3 co-authors; some authors of a name write much more than others
    (shares from a Dirichlet distribution), and each writes at least one record. A record has 6 words that
    all use (by Zipf's law), 3 of its author's topic words, and none to 2 of the co-authors.

    Parameters
    ----------
    n_authors : dict of str to int, optional
        How many authors each name has. By default the eight names of the book, with 10 to 31 authors.
    n_records : int, default=100
        Number of records of each name.
    random_state : int, RandomState or None, default=None
        Seed of all that is drawn.

    Returns
    -------
    Bunch
        With these keys:

        - ``data``: sparse matrix (CSR) of a row a record: 1 for each word and co-author that occurs.
        - ``target``: the author of each record; authors are numbered through all names.
        - ``names``: the name on each record; different names are different people, so that
          ``Constraints.across(names)`` is known.
        - ``feature_names``: what the columns are.
        - ``DESCR``: size and source.

    Examples
    --------
    >>> from coterie import Constraints
    >>> from coterie.datasets import make_bibliography
    >>> records = make_bibliography(random_state=0)
    >>> records.data.shape, len(set(records.names)), len(set(records.target))
    ((800, 6000), 8, 176)
    >>> Constraints.across(records.names)
    Constraints(800 items: 800 across 8 groups (0: D. Johnson, 1: D. Johnson, 2: D. Johnson, ...))
    """
    rng, authors = check_random_state(random_state), dict(_AUTHORS if n_authors is None else n_authors)
    if not authors:
        raise ValueError("n_authors is empty; give at least one name and its number of authors.")
    for name, number in authors.items():
        if whole_number(number, f"n_authors of {name}", 1) > whole_number(n_records, "n_records", 1):
            raise ValueError(f"{name!r} has {number} authors, but n_records={n_records}; each needs one.")
    zipf = 1.0 / np.arange(1, _WORDS + 1)
    zipf /= zipf.sum()
    target: list[int] = []
    columns: list[np.ndarray] = []
    for number in authors.values():
        first = max(target, default=-1) + 1
        topics = [rng.choice(_WORDS, 25, replace=False) for _ in range(number)]
        friends = [_WORDS + rng.choice(_COAUTHORS, 3, replace=False) for _ in range(number)]
        written = 1 + rng.multinomial(n_records - number, rng.dirichlet(np.full(number, 0.5)))
        # in random order, since a tie between distances may be broken by the order of the rows
        for author in rng.permutation(np.repeat(np.arange(number), written)).tolist():
            common = rng.choice(_WORDS, 6, replace=False, p=zipf)
            own = rng.choice(topics[author], 3, replace=False)
            beside = rng.choice(friends[author], rng.randint(3), replace=False)
            columns.append(np.unique(np.concatenate([common, own, beside])))
            target.append(first + author)
    ends = np.cumsum([0, *map(len, columns)])
    data = sparse.csr_matrix(
        (np.ones(ends[-1]), np.concatenate(columns), ends), shape=(len(columns), _WORDS + _COAUTHORS)
    )
    return Bunch(
        data=data,
        target=np.array(target),
        names=np.repeat(list(authors), n_records),
        feature_names=np.array(
            [f"word{i}" for i in range(_WORDS)] + [f"coauthor{i}" for i in range(_COAUTHORS)]
        ),
        DESCR=f"{len(columns)} records of {max(target) + 1} authors under {len(authors)} names. Source: made "
        "after chapter 15 of Basu, Davidson and Wagstaff (eds.), Constrained Clustering, 2008.",
    )
