"""Rows, dense or CSR: scored, added up and measured in blocks."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.distortion._rows.pair_distances import squared_pair_distances
    from coterie.distortion._rows.points import DensePoints, SparsePoints, canonical

__all__, __getattr__, __dir__ = attach(__name__)
