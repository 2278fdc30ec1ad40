"""Tables with known classes, from scikit-learn or from the data folder.

Four tables come with scikit-learn and are always there. The others are tables of the UCI Machine Learning
Repository, read from ``$COTERIE_DATA/uci/NAME.csv.gz``: a header, one item a line, the class in the last
column, "?" for a missing value. Reading costs time and memory linear in the file.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.utils import Bunch

from coterie.datasets._data_folder import data_file, read_lines

_BUNDLED = {
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
    "digits": load_digits,
}
_UCI = (
    "adult",
    "balance-scale",
    "breast-w",
    "glass",
    "ionosphere",
    "liver",
    "mushroom",
    "pendigits",
    "pima",
    "segment",
    "soybean-small",
    "vote",
    "vowel",
)
_MISSING = ("?", "")


def list_tables() -> dict[str, bool]:
    """Names that `load_table` knows, each with whether it can be loaded now.

    Returns
    -------
    dict of str to bool
        False if the file of the table is not in the folder that COTERIE_DATA names.

    Examples
    --------
    >>> from coterie.datasets import list_tables
    >>> list_tables()["iris"]
    True
    """
    available = dict.fromkeys(_BUNDLED, True)
    for name in _UCI:
        try:
            data_file(_uci_file(name))
        except FileNotFoundError:
            available[name] = False
        else:
            available[name] = True
    return available


def load_table(
    name: str,
    *,
    return_X_y: bool = False,
    missing: Literal["error", "drop", "keep"] = "error",
) -> Bunch | tuple[NDArray[Any], NDArray[np.int64]]:
    """Load a table with known classes by its name.

    Parameters
    ----------
    name : str
        One of `list_tables`. The tables "iris", "wine", "breast_cancer" and "digits" are always there,
        the others need the environment variable COTERIE_DATA.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    missing : {"error", "drop", "keep"}, default="error"
        What to do with rows that have missing values: raise an error, leave the rows out, or keep them
        with NaN in place of what is missing.

    Returns
    -------
    Bunch
        With these keys:

        - ``data``: shape (n_items, n_features). Numbers are float64. If a column is nominal, the array is
          of objects, with strings in the nominal columns and floats in the others.
        - ``target``: the class of each item as a number, an index into ``target_names``.
        - ``target_names``: the names of the classes.
        - ``feature_names``: the names of the columns.
        - ``categorical_features``: for each column, whether it is nominal.
        - ``DESCR``: size and source.

    Examples
    --------
    >>> from coterie.datasets import load_table
    >>> iris = load_table("iris")
    >>> iris.data.shape
    (150, 4)
    >>> X, y = load_table("wine", return_X_y=True)
    """
    if missing not in ("error", "drop", "keep"):
        raise ValueError(f"missing must be 'error', 'drop' or 'keep', not {missing!r}.")
    if name in _BUNDLED:
        table = _bundled_table(name)
    elif name in _UCI:
        table = _uci_table(name, missing)
    else:
        known = [*_BUNDLED, *_UCI]
        near = get_close_matches(str(name).lower(), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no table {name!r}.{hint} The tables are: {', '.join(known)}.")
    return (table.data, table.target) if return_X_y else table


def _bundled_table(name: str) -> Bunch:
    bunch = _BUNDLED[name]()
    names = np.asarray(bunch.target_names).astype(str)
    columns = [str(column) for column in bunch.feature_names]
    nominal = np.zeros(len(columns), dtype=bool)
    return _table(name, bunch.data, bunch.target, names, columns, nominal, "bundled with scikit-learn")


def _uci_file(name: str) -> str:
    return f"uci/{name}.csv.gz"


def _uci_table(name: str, missing: str) -> Bunch:
    header, rows = _read_csv(name)
    if missing != "keep":
        complete = [row for row in rows if not any(value in _MISSING for value in row)]
        if missing == "error" and len(complete) < len(rows):
            raise ValueError(
                f"{len(rows) - len(complete)} of the {len(rows)} rows of table {name!r} have missing values. "
                "Use missing='drop' to leave these rows out, or missing='keep' to get NaN in these places."
            )
        if not complete:
            raise ValueError(f"Every row of table {name!r} has missing values. Use missing='keep'.")
        rows = complete
    *texts, classes = zip(*rows, strict=True)
    columns = [_column(values) for values in texts]
    nominal = np.array([column.dtype == object for column in columns])
    # Stacking numbers with objects gives objects.
    data = np.column_stack(columns)
    target_names, target = np.unique(classes, return_inverse=True)
    return _table(name, data, target, target_names, header[:-1], nominal, "UCI Machine Learning Repository")


def _read_csv(name: str) -> tuple[list[str], list[list[str]]]:
    path = data_file(_uci_file(name))
    reader = csv.reader(read_lines(path))
    header = next(reader, [])
    rows = []
    for row in reader:
        if len(row) != len(header) or row[-1] in _MISSING:
            raise ValueError(
                f"{path}, line {reader.line_num}: expected {len(header)} values, the last one the class; "
                f"got {row}."
            )
        rows.append(row)
    if not rows:
        raise ValueError(f"{path} has no rows.")
    return header, rows


def _column(values: Sequence[str]) -> NDArray[Any]:
    """Return a column as floats if all its values are numbers, else as strings; missing is NaN."""
    known = [np.nan if value in _MISSING else value for value in values]
    try:
        return np.array([float(value) for value in known])
    except ValueError:
        return np.array(known, dtype=object)


def _table(
    name: str,
    data: NDArray[Any],
    target: NDArray[Any],
    target_names: NDArray[np.str_],
    feature_names: list[str],
    categorical_features: NDArray[np.bool_],
    source: str,
) -> Bunch:
    n_items, n_features = data.shape
    return Bunch(
        data=data,
        target=target.astype(np.int64),
        target_names=target_names,
        feature_names=feature_names,
        categorical_features=categorical_features,
        DESCR=f"{name}: {n_items} items, {n_features} features, {len(target_names)} classes. "
        f"Source: {source}.",
    )
