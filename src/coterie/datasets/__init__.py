"""Data to try and to test methods on, in the shape that scikit-learn's loaders have.

What scikit-learn bundles and what is made here is always available. Larger sets are read from a folder
that the environment variable COTERIE_DATA names, since no data are shipped with the package.
"""

from coterie.datasets._generators import estimate_confidence, grid_neighbors
from coterie.datasets._made import load_height_weight, make_constrained_blobs
from coterie.datasets._references import load_citeseer
from coterie.datasets._tables import list_tables, load_table
from coterie.datasets._text import load_news3, load_newsgroups

__all__ = [
    "estimate_confidence",
    "grid_neighbors",
    "list_tables",
    "load_citeseer",
    "load_height_weight",
    "load_news3",
    "load_newsgroups",
    "load_table",
    "make_constrained_blobs",
]
