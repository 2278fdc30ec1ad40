"""What every estimator shares: constraints in `fit`, parameter rules, progress, the recount afterwards."""

from coterie.base._mixin import ConstrainedClusterMixin, constrained_fit
from coterie.base._parameters import Rule, anything, check_parameters, instance, one_of, real, whole
from coterie.base._progress import progress

__all__ = [
    "ConstrainedClusterMixin",
    "Rule",
    "anything",
    "check_parameters",
    "constrained_fit",
    "instance",
    "one_of",
    "progress",
    "real",
    "whole",
]
