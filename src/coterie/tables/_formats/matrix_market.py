"""The text format of MatrixMarket: a header, sizes, and then numbers.

SciPy's reader (1.17.1) brings the process down on files that are cut off ("... -2e") or hold something else
than numbers, and takes symmetric files that are too short. Here NumPy reads the numbers; they are counted.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.tables._errors import TableError, quoted
from coterie.tables._formats.lines import TextFile

# Rows and columns without entries cost memory too; a header that claims more is not believed.
_MOST_ROWS, _MOST_COLUMNS = 100_000_000, 1_000_000
_ROWS_BELIEVED, _ROWS_AN_ENTRY = 1_000_000, 10
_FIELDS = {"real": 3, "double": 3, "integer": 3, "pattern": 2}  # numbers a line of a sparse matrix
_SIGNS = {"general": 0, "symmetric": 1, "skew-symmetric": -1}


def read_matrix_market(lines: TextFile) -> Any:
    """A dense array, or a sparse matrix by coordinates."""
    with lines.binary() as file:
        words = file.readline(1_000).decode("ascii", "replace").lower().split()
        if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
            raise TableError("this is no MatrixMarket file; the first line says %%MatrixMarket matrix ...")
        form, field, symmetry = words[2:]
        if field == "complex":
            raise TableError("the numbers are complex; real ones are needed.")
        if form not in ("coordinate", "array") or field not in _FIELDS or symmetry not in _SIGNS:
            raise TableError(f"matrices of the kind {quoted(' '.join(words[2:]))} cannot be read.")
        line = file.readline()
        while line.startswith(b"%") or (line and not line.strip()):
            line = file.readline()
        sizes = _sizes(line, 3 if form == "coordinate" else 2)
        numbers = _numbers(file.read())
    if _SIGNS[symmetry] and sizes[0] != sizes[1]:
        raise TableError("a symmetric matrix has as many rows as columns.")
    if form == "array":
        return _dense(numbers, sizes[0], sizes[1], _SIGNS[symmetry])
    return _sparse(numbers, sizes, _FIELDS[field], _SIGNS[symmetry])


def _sizes(line: bytes, n: int) -> list[int]:
    words = line.split()
    if len(words) != n or not all(word.isdigit() for word in words):
        raise TableError(f"the line of sizes is {quoted(line.decode('ascii', 'replace').strip())}.")
    sizes = [int(word) for word in words]
    check_shape(sizes[0], sizes[1])
    return sizes


def check_shape(n_rows: int, n_columns: int) -> None:
    """Raise if a matrix is empty, or too large for whatever comes after."""
    if not n_rows or not n_columns:
        raise TableError(f"the matrix is empty: {n_rows:,} rows, {n_columns:,} columns.")
    if n_rows > _MOST_ROWS or n_columns > _MOST_COLUMNS:
        raise TableError(
            f"a matrix of {n_rows:,} rows and {n_columns:,} columns is too large; at most {_MOST_ROWS:,} "
            f"rows and {_MOST_COLUMNS:,} columns can be read."
        )


def _numbers(body: bytes) -> NDArray[np.float64]:
    """All numbers of the text, which holds nothing else."""
    if not body.strip():
        return np.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.fromstring(body.decode("ascii"), dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            raise TableError("below the sizes there is something else than numbers.") from None


def _check_count(numbers: NDArray[np.float64], wanted: int) -> None:
    if len(numbers) != wanted:
        raise TableError(f"there should be {wanted:,} numbers below the sizes, there are {len(numbers):,}.")


def _dense(numbers: NDArray[np.float64], n_rows: int, n_columns: int, sign: int) -> NDArray[np.float64]:
    """Numbers column by column; of a symmetric matrix only those on and below the diagonal."""
    if not sign:
        _check_count(numbers, n_rows * n_columns)
        return numbers.reshape(n_rows, n_columns, order="F")
    column, row = np.triu_indices(n_rows, k=int(sign < 0))  # where the sign changes, the diagonal is 0
    _check_count(numbers, len(row))
    return _mirrored(row, column, numbers, (n_rows, n_rows), sign).toarray()


def _sparse(numbers: NDArray[np.float64], sizes: list[int], n_fields: int, sign: int) -> Any:
    """Row, column and number of each entry; of a symmetric matrix only those on and below the diagonal."""
    n_rows, n_columns, n_entries = sizes
    _check_count(numbers, n_fields * n_entries)
    if n_rows > max(_ROWS_BELIEVED, _ROWS_AN_ENTRY * n_entries):
        raise TableError(
            f"the matrix has {n_rows:,} rows, but only {n_entries:,} filled cells: nearly all rows are empty."
        )
    entries = numbers.reshape(n_entries, n_fields)
    places = entries[:, :2]
    odd = (places != np.floor(places)) | (places < 1) | (places > (n_rows, n_columns))
    if odd.any():
        at = int(np.argmax(odd.any(axis=1)))
        row, column = places[at].tolist()
        raise TableError(
            f"entry {at + 1:,} stands at {row:g}, {column:g}, outside of {n_rows:,} x {n_columns:,}."
        )
    row, column = places.astype(np.int64).T - 1
    values = entries[:, 2] if n_fields == 3 else np.ones(n_entries)
    return _mirrored(row, column, values, (n_rows, n_columns), sign)


def _mirrored(row: Any, column: Any, values: Any, shape: tuple[int, int], sign: int) -> Any:
    """The matrix of these entries, and of those on the other side of the diagonal."""
    from scipy.sparse import coo_matrix

    away = (row != column) & (sign != 0)
    rows, columns = np.concatenate([row, column[away]]), np.concatenate([column, row[away]])
    return coo_matrix((np.concatenate([values, sign * values[away]]), (rows, columns)), shape=shape)
