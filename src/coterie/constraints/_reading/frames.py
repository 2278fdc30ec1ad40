"""Data frames of any library, through narwhals; loaded only when a frame is touched."""

from __future__ import annotations

import importlib.util
from typing import Any, cast

from coterie.constraints._reading.inputs import is_missing

LIBRARIES = ("pandas", "polars", "pyarrow")


def build_frame(columns: dict[str, list[Any]], library: str | None) -> Any:
    """Return a native frame of the given library, or of the first one installed."""
    if library is None:
        library = next((name for name in LIBRARIES if importlib.util.find_spec(name)), None)
        if library is None:
            raise ImportError("A data frame needs one of pandas, polars or pyarrow: pip install pandas")
    if library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}; got {library!r}.")
    if importlib.util.find_spec(library) is None:
        raise ImportError(f"{library} is not installed: pip install {library}")
    if library == "pandas":
        import pandas as pd

        # pandas turns whole numbers beside a gap into floats, and large ids would change
        broken = {name for name, cells in columns.items() if None in cells and int in map(type, cells)}
        kinds = {name: object if name in broken else None for name in columns}
        return pd.DataFrame({name: pd.Series(columns[name], dtype=kind) for name, kind in kinds.items()})
    import narwhals as nw

    return nw.from_dict(columns, backend=cast(Any, library)).to_native()


def frame_columns(frame: Any) -> dict[str, list[Any]]:
    """The columns of a frame of any library as plain lists; missing values become None."""
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"{type(frame).__name__} is not a data frame; give one of pandas, polars, pyarrow or another "
            "library that narwhals knows."
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    columns = {str(name): eager[name].to_list() for name in eager.columns}
    return {name: [None if is_missing(cell) else cell for cell in cells] for name, cells in columns.items()}
