"""Choosing labels under constraints, given costs: the engine room.

Items that no statement names are independent given the model: `free` finds their cluster by blocked matrix
products. The few that are named form a core, solved by `soft_pairs` (statements have a price) or `hard_pairs`
(statements hold). Bounds on sizes tie all items together: `size_constrained_assignment` is a flow between
the clusters. Each is a function of costs and constraints that returns labels and an account.
"""

from coterie.assign._assignment import Assignment
from coterie.assign._free import free
from coterie.assign._hard_pairs import hard_pairs
from coterie.assign._metric_labelling import LabelledByProgram, metric_labelling
from coterie.assign._sizes import SizedAssignment, size_constrained_assignment
from coterie.assign._soft_pairs import soft_pairs

__all__ = [
    "Assignment",
    "LabelledByProgram",
    "SizedAssignment",
    "free",
    "hard_pairs",
    "metric_labelling",
    "size_constrained_assignment",
    "soft_pairs",
]
