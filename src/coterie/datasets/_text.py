"""Texts with known groups: the 20 Newsgroups, read from the data folder.

The file ``$COTERIE_DATA/20news.jsonl.gz`` has one JSON object a line with the fields `group`, `id` and
`text`: the original collection, with headers (K. Lang, "Newsweeder", ICML 1995). Reading all 19,997
documents takes a second or two; the texts stay as they are, since how to count words is the user's choice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from coterie.datasets._folder import data_file, read_lines


def load_newsgroups(
    groups: Sequence[str] | None = None, *, return_X_y: bool = False
) -> Bunch | tuple[list[str], NDArray[np.int64]]:
    """Load documents of the 20 Newsgroups, with headers, not vectorised.

    Parameters
    ----------
    groups : sequence of str, optional
        The groups to load; their order is the order of ``target_names``. By default all, by name.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch
        With these keys:

        - ``data``: list of texts, in the order of the file.
        - ``target``: the group of each text, an index into ``target_names``.
        - ``target_names``: the names of the groups.
        - ``ids``: the id of each text, a string; it is unique only within its group.
        - ``DESCR``: size and source.

    Examples
    --------
    >>> from coterie.datasets import load_newsgroups
    >>> news = load_newsgroups(["sci.space", "rec.autos"])  # doctest: +SKIP
    >>> len(news.data), news.target_names  # doctest: +SKIP
    (2000, ['sci.space', 'rec.autos'])
    """
    documents = _read_documents()
    known = sorted({document["group"] for document in documents})
    chosen = known if groups is None else [groups] if isinstance(groups, str) else list(groups)
    unknown = [group for group in chosen if group not in known]
    if unknown or not chosen or len(set(chosen)) < len(chosen):
        problem = f"has unknown groups {unknown}" if unknown else "is empty or names a group twice"
        raise ValueError(f"groups {problem}. The groups are: {', '.join(known)}.")
    code = {group: number for number, group in enumerate(chosen)}
    documents = [document for document in documents if document["group"] in code]
    data = [document["text"] for document in documents]
    target = np.array([code[document["group"]] for document in documents], dtype=np.int64)
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        target_names=chosen,
        ids=np.array([document["id"] for document in documents]),
        DESCR=f"20 Newsgroups: {len(data)} documents with headers, {len(chosen)} groups. Source: K. Lang.",
    )


def _read_documents() -> list[dict[str, Any]]:
    path = data_file("20news.jsonl.gz")
    documents = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            document = json.loads(line)
            documents.append({field: document[field] for field in ("group", "id", "text")})
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path}, line {number}: expected a JSON object with the fields group, id and text ({error})."
            ) from error
    return documents
