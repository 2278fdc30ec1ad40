"""The user's files: tables and matrices read, columns turned into features, labels written beside them.

Names are loaded when they are first used, so that `Feature` and `TableError` cost nothing; the rest needs
polars (extra `cli`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.tables._errors import TableError
    from coterie.tables._feature import ColumnUse, Feature
    from coterie.tables._feature_plan import FeaturePlan
    from coterie.tables._plan import plan_features
    from coterie.tables._read import read_table
    from coterie.tables._table import Table
    from coterie.tables._write import free_name, write_table

_HOMES = {
    "ColumnUse": "_feature",
    "Feature": "_feature",
    "FeaturePlan": "_feature_plan",
    "Table": "_table",
    "TableError": "_errors",
    "free_name": "_write",
    "plan_features": "_plan",
    "read_table": "_read",
    "write_table": "_write",
}

__all__ = [
    "ColumnUse",
    "Feature",
    "FeaturePlan",
    "Table",
    "TableError",
    "free_name",
    "plan_features",
    "read_table",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coterie.tables' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(f"coterie.tables.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "polars":
            raise
        raise ImportError('reading tables needs polars: pip install "coterie[cli]"') from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
