"""What every estimator shares: constraints and weights in `fit`, parameter rules, progress, the recount."""

from coterie.base._mixin import ConstrainedClusterMixin, constrained_fit
from coterie.base._parameters import Rule, anything, check_parameters, instance, one_of, real, whole
from coterie.base._progress import Starts, Step, progress
from coterie.base._sample_weight import check_sample_weight
from coterie.base._warn import warn_user

__all__ = [
    "ConstrainedClusterMixin",
    "Rule",
    "Starts",
    "Step",
    "anything",
    "check_parameters",
    "check_sample_weight",
    "constrained_fit",
    "instance",
    "one_of",
    "progress",
    "real",
    "warn_user",
    "whole",
]
