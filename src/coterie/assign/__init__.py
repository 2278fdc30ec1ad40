"""Choosing labels under constraints, given costs: the engine room.

Items that no constraint names are independent given the model: `free` finds their cluster by blocked matrix
products. The few that are named form a core, solved by `soft_pairs` (they have a price) or `hard_pairs` (they
hold). Bounds on sizes tie all items together: `size_constrained_assignment` is a flow between
the clusters. Each is a function of costs and constraints that returns labels and an account.
"""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.assign._core.assignment import Assignment
    from coterie.assign._core.free import free
    from coterie.assign._exact.metric_labelling import LabelledByProgram, metric_labelling
    from coterie.assign._hard.hard_pairs import hard_pairs
    from coterie.assign._pairs.soft_pairs import soft_pairs
    from coterie.assign._sizes.improve import improve_within_bounds
    from coterie.assign._sizes.size_constrained import SizedAssignment, size_constrained_assignment
    from coterie.assign._sizes.stable import stable_assignment

__all__, __getattr__, __dir__ = attach(__name__)
