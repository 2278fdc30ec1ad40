"""Coterie: clusters that respect what you know.

Names are loaded when they are first used (PEP 562), so `import coterie` is instant and
checking constraints does not import scikit-learn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coterie.comparison import compare
    from coterie.constraints import Constraints
    from coterie.exceptions import InfeasibleConstraintsError
    from coterie.hierarchy import ConstrainedLinkage, COPCobweb
    from coterie.kmeans import (
        ConstrainedSeedKMeans,
        COPKMeans,
        CVQEKMeans,
        HMRFKMeans,
        KernelPCKMeans,
        KMedoids,
        MPCKMeans,
        PCKMeans,
        SeededKMeans,
        SizeConstrainedKMeans,
        SizeConstrainedKMedians,
    )
    from coterie.mixture import (
        ConstrainedGaussianMixture,
        MeanFieldMixture,
        PairwiseClustering,
        PenalizedGaussianMixture,
    )

__version__ = "0.1.0"

# public name -> the module that holds it; a module's own name maps to itself
_HOMES = {
    "COPCobweb": "coterie.hierarchy",
    "COPKMeans": "coterie.kmeans",
    "CVQEKMeans": "coterie.kmeans",
    "ConstrainedGaussianMixture": "coterie.mixture",
    "ConstrainedLinkage": "coterie.hierarchy",
    "ConstrainedSeedKMeans": "coterie.kmeans",
    "Constraints": "coterie.constraints",
    "HMRFKMeans": "coterie.kmeans",
    "InfeasibleConstraintsError": "coterie.exceptions",
    "KMedoids": "coterie.kmeans",
    "KernelPCKMeans": "coterie.kmeans",
    "MPCKMeans": "coterie.kmeans",
    "MeanFieldMixture": "coterie.mixture",
    "PCKMeans": "coterie.kmeans",
    "PairwiseClustering": "coterie.mixture",
    "PenalizedGaussianMixture": "coterie.mixture",
    "SeededKMeans": "coterie.kmeans",
    "SizeConstrainedKMeans": "coterie.kmeans",
    "SizeConstrainedKMedians": "coterie.kmeans",
    "compare": "coterie.comparison",
}
_MODULES = (
    "assign",
    "base",
    "comparison",
    "constraints",
    "datasets",
    "exceptions",
    "graphs",
    "hierarchy",
    "kmeans",
    "methods",
    "metrics",
    "mixture",
    "report",
    "tables",
    "testing",
)

__all__ = [
    "COPCobweb",
    "COPKMeans",
    "CVQEKMeans",
    "ConstrainedGaussianMixture",
    "ConstrainedLinkage",
    "ConstrainedSeedKMeans",
    "Constraints",
    "HMRFKMeans",
    "InfeasibleConstraintsError",
    "KMedoids",
    "KernelPCKMeans",
    "MPCKMeans",
    "MeanFieldMixture",
    "PCKMeans",
    "PairwiseClustering",
    "PenalizedGaussianMixture",
    "SeededKMeans",
    "SizeConstrainedKMeans",
    "SizeConstrainedKMedians",
    "__version__",
    "compare",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"coterie.{name}")
    else:
        raise AttributeError(f"module 'coterie' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
