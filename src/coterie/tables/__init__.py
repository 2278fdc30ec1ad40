"""The user's files: tables and matrices read, columns turned into features, labels written beside them.

Names are loaded when they are first used, so that `Feature` and `TableError` cost nothing; the rest needs
polars (extra `cli`).
"""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.tables._errors import TableError
    from coterie.tables._feature import ColumnUse, Feature
    from coterie.tables._feature_plan import FeaturePlan
    from coterie.tables._plan import plan_features
    from coterie.tables._read import read_table
    from coterie.tables._table import Table
    from coterie.tables._write_table import free_name, write_table

__all__, __getattr__, __dir__ = attach(__name__)
