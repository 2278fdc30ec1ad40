"""The language of constraints: say what is known, check it, have contradictions explained."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.constraints._constraints import Constraints, as_constraints
    from coterie.constraints._distance_rules import (
        delta_constraints,
        epsilon_fewest_clusters,
        epsilon_repair,
        epsilon_violations,
    )
    from coterie.constraints._either_or import EitherOr
    from coterie.constraints._feasible.conflict import Conflict, Implied
    from coterie.constraints._feasible.explain import Explanation
    from coterie.constraints._feasible.feasible import Feasibility
    from coterie.constraints._model.closure import Contracted
    from coterie.constraints._model.statements import ALL_KINDS, Group, Pairs
    from coterie.constraints._model.violations import BrokenGroup, Shortfall, Violations

__all__, __getattr__, __dir__ = attach(__name__)
