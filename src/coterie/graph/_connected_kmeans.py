"""`ConnectedKMeans`: k-means whose clusters hang together on a graph, within bounds, or as many as can be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils import check_random_state

from coterie._arrays import Index, Labels, by_first_occurrence
from coterie._compiled import one_blas_thread
from coterie.adjacency import islands, read_graph
from coterie.assign._core import build_core
from coterie.assign._sizes import SizeBounds, read_bounds, share_of, shortfalls, tell_shortfall
from coterie.base import (
    AUTO_STARTS,
    CHECKS_OF_ROWS,
    SEARCH_RULES,
    About,
    Account,
    Bounds,
    Step,
    anything,
    best_of_starts,
    clearly_less,
    constrained_fit,
    instance,
    numbers_by_label,
    one_of,
    whole,
)
from coterie.constraints import ALL_KINDS, Constraints, Violations
from coterie.exceptions import (
    DeadEndError,
    DeadEndWarning,
    InfeasibleConstraintsError,
    ParameterError,
    UnsupportedConstraintError,
)
from coterie.graph._connected.border_moves import BorderMoves, vetoes_of
from coterie.graph._connected.leaving import Adjacency
from coterie.graph._connected.regions import Region, parts_of, share_out
from coterie.graph._connected.units import clusters_of, sums_of_units, total_worth
from coterie.hierarchy import ConstrainedLinkage
from coterie.hierarchy._linkage import check_links_on_map, pieces
from coterie.kmeans._engine import PrototypeClusterer

# Bounds without a graph are kept on the complete one, written out, up to so many items.
_MOST_COMPLETE = 2_000
