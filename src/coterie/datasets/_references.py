"""Author references of papers, for entity resolution: CiteSeer, read from the data folder.

A reference is one author name on one paper; the task is to find which references are the same person.
The file ``$COTERIE_DATA/citeseer/citeseer-mrdm05.dat.gz`` has one reference a line, eight fields separated
by "|"; a title may hold "|" too. It has 2,892 references of 1,165 authors on 1,504 papers (I. Bhattacharya
and L. Getoor, "Collective entity resolution in relational data", TKDD 2007; LINQS group).
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from coterie.datasets._data_folder import data_file, read_lines

# The fields of a line, under names that say what they are: the file calls the first `author_id` and the
# second `author_cluster_id`, though the first numbers references and the second authors.
_FIELDS = (
    "reference_id",
    "target",
    "normalized_name",
    "full_name",
    "position",
    "paper_id",
    "paper_cluster_id",
    "title",
)
_NUMBERS = ("reference_id", "target", "position", "paper_id")


def load_citeseer() -> Bunch:
    """Load the CiteSeer author references with their true authors.

    Returns
    -------
    Bunch
        One array for each column, one entry for each reference:

        - ``reference_id``: the number of the reference.
        - ``normalized_name``: the name in lower case, surname first, such as ``aamodt_a``.
        - ``full_name``: the name as it stands on the paper.
        - ``position``: the place among the authors of the paper, from 0.
        - ``paper_id``: the paper; references with the same value are co-authors.
        - ``paper_cluster_id``: a string; papers with the same value are versions of one work.
        - ``title``: the title of the paper.

        And ``target``: the true author's id; ``feature_names``: the names of these columns; ``DESCR``:
        size and source.

    Examples
    --------
    >>> from coterie.datasets import load_citeseer
    >>> references = load_citeseer()  # doctest: +SKIP
    >>> references.full_name[:2], references.target[:2]  # doctest: +SKIP
    (array(['A. Aamodt', 'A. Aamodt'], ...), array([10, 10]))
    """
    path = data_file("citeseer/citeseer-mrdm05.dat.gz")
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        row = [field.strip() for field in line.split("|", maxsplit=len(_FIELDS) - 1)]
        if len(row) != len(_FIELDS):
            raise ValueError(
                f"{path}, line {number}: expected {len(_FIELDS)} fields separated by '|', got {len(row)}."
            )
        rows.append(row)
    if not rows:
        raise ValueError(f"{path} has no rows.")
    columns = {
        field: np.array(values, dtype=np.int64 if field in _NUMBERS else None)
        for field, values in zip(_FIELDS, zip(*rows, strict=True), strict=True)
    }
    target = columns.pop("target")
    return Bunch(
        **columns,
        target=target,
        feature_names=list(columns),
        DESCR=f"CiteSeer: {len(rows)} author references, {len(np.unique(target))} authors. "
        "Source: LINQS group, I. Bhattacharya and L. Getoor.",
    )
