"""Matrices: NPY, NPZ (one array, or a sparse matrix of SciPy) and MatrixMarket, as floats.

Nothing is unpickled. A file that claims to be larger than it is ends in an error before memory is taken.
"""

from __future__ import annotations

import tokenize
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from coterie._words import listed
from coterie.tables._errors import TableError, quoted
from coterie.tables._formats.lines import TextFile
from coterie.tables._formats.matrix_market import check_shape, read_matrix_market

# What NumPy raises on a header that it cannot parse; its words are of Python.
_FAULTS = (ValueError, TypeError, SyntaxError, KeyError, IndexError, OverflowError, tokenize.TokenError)


def read_npy(path: Path) -> Any:
    """One array of numbers."""
    _check_start(path, b"\x93NUMPY", "NPY")
    # mapped, so that a shape that is larger than the file is found out before memory is asked for
    try:
        return _dense(np.load(path, mmap_mode="r", allow_pickle=False))
    except ValueError as error:
        if "mmap length" in str(error):
            raise TableError("the file is cut off: its header promises more numbers than it holds.") from None
        raise _damaged(error) from None
    except _FAULTS as error:
        raise _damaged(error) from None


def read_npz(path: Path) -> Any:
    """The only array, or a sparse matrix as SciPy saves it."""
    _check_start(path, b"PK", "NPZ")
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        names = list(arrays.files)
        if "format" in names and "shape" in names:
            import scipy.sparse

            try:
                matrix = scipy.sparse.load_npz(path)
            except _FAULTS:
                raise TableError("this is no sparse matrix as SciPy saves it, or it is damaged.") from None
            return _sparse(matrix)
        if len(names) != 1:
            there = f"{len(names)} arrays: {listed(map(quoted, names))}" if names else "no array"
            raise TableError(f"the file holds {there}; save the one that is meant on its own.")
        try:
            array = arrays[names[0]]
        except _FAULTS as error:
            raise _damaged(error) from None
        return _dense(array)


def read_mtx(path: Path) -> Any:
    """A matrix in the text format of MatrixMarket."""
    matrix = read_matrix_market(TextFile.of(path))
    return _dense(matrix) if isinstance(matrix, np.ndarray) else _sparse(matrix)


def _damaged(error: Exception) -> TableError:
    """The error for an array that NumPy cannot read."""
    if isinstance(error, TableError):
        return error
    if "Python objects" in str(error) or "Object arrays" in str(error):
        return TableError("the array holds Python objects, not numbers.")
    return TableError("the file is damaged: its header does not say what the array is. Save it once more.")


def _check_start(path: Path, start: bytes, name: str) -> None:
    """Raise if a file does not begin as its format does."""
    with path.open("rb") as file:
        found = file.read(len(start))
    if not found:
        raise TableError("the file is empty.")
    if found != start:
        raise TableError(f"this is no {name} file.")


def _check_kind(dtype: Any) -> None:
    if dtype.kind == "c":
        raise TableError("the numbers are complex; real ones are needed.")
    if dtype.kind not in "biuf":
        raise TableError(f"the array holds {dtype}, not numbers.")


def _dense(array: Any) -> Any:
    """A matrix of floats, C order, in memory."""
    _check_kind(array.dtype)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise TableError(f"the array has shape {array.shape}; rows and columns are needed.")
    check_shape(*array.shape)
    return np.array(array, dtype=np.float64, order="C")


def _sparse(matrix: Any) -> Any:
    """A CSR matrix of floats; places are in range, and none stands twice."""
    import scipy.sparse

    _check_kind(matrix.dtype)
    if matrix.ndim != 2:
        raise TableError(f"the array has shape {matrix.shape}; rows and columns are needed.")
    check_shape(*matrix.shape)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    rows = scipy.sparse.csr_matrix(matrix, dtype=np.float64)
    rows.check_format(full_check=True)
    rows.sum_duplicates()
    return rows


def quietly(read: Any, path: Path) -> Any:
    """Read without the warnings that NumPy has for odd headers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(path)
