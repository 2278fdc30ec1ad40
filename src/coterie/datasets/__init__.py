"""Data to try and to test methods on, in the shape that scikit-learn's loaders have.

What scikit-learn bundles and what is made here is always available. Larger sets are read from a folder
that the environment variable COTERIE_DATA names, since no data are shipped with the package.
"""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.datasets._bibliography import make_bibliography
    from coterie.datasets._generators import estimate_confidence, grid_neighbors
    from coterie.datasets._made_references import make_references
    from coterie.datasets._planted import make_planted_correlation
    from coterie.datasets._references import load_citeseer
    from coterie.datasets._tables import list_tables, load_table
    from coterie.datasets._text import load_news3, load_newsgroups
    from coterie.datasets._with_constraints import load_height_weight, make_constrained_blobs

__all__, __getattr__, __dir__ = attach(__name__)
