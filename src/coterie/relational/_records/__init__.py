"""A table of records: its distinct values, how alike two of them are, and which rows are similar."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.relational._records.columns import ComparedColumn, Records, read_records
    from coterie.relational._records.comparators import COMPARATORS
    from coterie.relational._records.similar_rows import (
        ENOUGH,
        Similar,
        compare_rows,
        find_similar,
        propose_pairs,
        read_candidates,
    )

__all__, __getattr__, __dir__ = attach(__name__)
