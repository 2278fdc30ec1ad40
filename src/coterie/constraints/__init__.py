"""The language of constraints: say what is known, check it, have contradictions explained."""

from coterie.constraints._closure import Contracted
from coterie.constraints._conflict import Conflict, Implied
from coterie.constraints._constraints import Constraints, as_constraints
from coterie.constraints._distance_rules import (
    delta_constraints,
    epsilon_fewest_clusters,
    epsilon_repair,
    epsilon_violations,
)
from coterie.constraints._either_or import EitherOr
from coterie.constraints._explain import Explanation
from coterie.constraints._feasible import Feasibility
from coterie.constraints._statements import ALL_KINDS, Group, Pairs
from coterie.constraints._violations import BrokenGroup, Shortfall, Violations

__all__ = [
    "ALL_KINDS",
    "BrokenGroup",
    "Conflict",
    "Constraints",
    "Contracted",
    "EitherOr",
    "Explanation",
    "Feasibility",
    "Group",
    "Implied",
    "Pairs",
    "Shortfall",
    "Violations",
    "as_constraints",
    "delta_constraints",
    "epsilon_fewest_clusters",
    "epsilon_repair",
    "epsilon_violations",
]
