"""`write_report`: gather the facts, build the page, draw the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from coterie._notebook import Page
from coterie.report._facts.gather import gather
from coterie.report._page.page import build_page
from coterie.report._pictures import draw_pictures

_ENDINGS = (".html", ".htm")


def write_report(
    path: Any,
    model: Any,
    X: Any,
    *,
    constraints: Any = None,
    ids: Any = None,
    features: Any = None,
    coordinates: Any = None,
    coordinate_names: Sequence[str] | None = None,
    plain: Any = "auto",
    chosen_k: Any = None,
    sample_weight: Any = None,
    size_weight: Any = None,
    groups: Any = None,
    texts: Sequence[str] | None = None,
    items: Any = None,
    title: str | None = None,
    command: str | None = None,
    notes: Sequence[str] = (),
    seconds: float | None = None,
    pictures: bool = False,
    random_state: int = 0,
) -> Path:
    """Write what came out of a fit as a page that holds its pictures and needs nothing else.

    Parameters
    ----------
    path : path
        The file to write; it ends in .html. Its folder is made where it is missing.
    model : fitted clusterer, or a fitted pipeline that ends in one
        What came out.
    X : array, sparse matrix or data frame
        The rows of the fit; others are refused. Of a pipeline what it was given: the clusters are then told
        in these columns and their units, be they numbers, categories or texts; near and far are told by the
        distance that a step has learned.
    constraints : Constraints or partial labels, optional
        The constraints to judge; by default those of the fit.
    ids : array of shape (n_items,), optional
        Your name of each item; by default the ids of the constraints, else row numbers.
    features : sequence, optional
        A name, or a `coterie.tables.Feature`, for each column of X; by default those of the data frame.
    coordinates : array or data frame of shape (n_items, 2), optional
        Where the items stand on the map; by default two principal components.
    coordinate_names : sequence of two str, optional
        What they are; by default the columns of the data frame.
    plain : "auto", array of shape (n_items,) or None
        Labels without what is known, to compare with. "auto" fits the same method without constraints and
        bounds; None leaves the comparison out, and so does "auto" where X holds records, since their contexts
        are not known here.
    chosen_k : ChosenK, optional
        How the number of clusters was chosen, as `coterie.choose_k` tells: the page shows it.
    sample_weight, size_weight, groups : array of shape (n_items,), optional
        What else `fit` was given, so that the comparison is fair and bounds are counted as they were.
        Where the `sample_weight` of a fit is missing the page leaves out costs, and says so.
    texts : sequence of str, optional
        The text of each item, where items are texts: cards show how those of typical items begin.
    items : array, sparse matrix or data frame of n_items rows, optional
        Columns that describe the items of a model that was fitted on scores of pairs, or on clusterings: the
        clusters are told in these columns, of which `features` are the names. Such a page has no map without
        `coordinates`.
    title : str, optional
        Heading of the page.
    command : str, optional
        The command that repeats the run.
    notes : sequence of str
        What the page says about how it was made, for example how columns were scaled.
    seconds : float, optional
        How long the fit took.
    pictures : bool, default False
        Whether to write the pictures for slides, too: beside `a.html` as a-map.png, a-sizes.png and
        a-objective.png (of a tree: a-merges.png). The page says so where matplotlib is missing.
    random_state : int, default 0
        Seed of samples of items and constraints.

    Returns
    -------
    Path
        The page.

    Notes
    -----
    Time O(n k d) for the distances to the centres, block by block, and a second fit if `plain` is "auto".
    Above 50,000 items the map shows a sample, and says so; the page stays below about 2 MB.

    Examples
    --------
    >>> import tempfile
    >>> from coterie import Constraints, COPKMeans
    >>> X = [[0.0, 1.0], [1.0, 0.0], [9.0, 8.0], [8.0, 9.0]]
    >>> known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)], n_items=4)
    >>> model = COPKMeans(2, random_state=0).fit(X, constraints=known)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(f"{folder}/report.html", model, X)
    ...     "All 2 constraints hold." in page.read_text(encoding="utf-8")
    True
    """
    words = {name: one for name, one in locals().items() if name not in ("path", "model", "X", "pictures")}
    path = Path(path)
    if path.suffix.lower() not in _ENDINGS:
        raise ValueError(f"the report is a page: its path must end in .html; got {str(path)!r}.")
    facts = gather(model, X, seed=words.pop("random_state"), **words)
    path.parent.mkdir(parents=True, exist_ok=True)
    missing = draw_pictures(facts, path) if pictures else None
    path.write_text(build_page(facts, missing), encoding="utf-8")
    return Page(path)
