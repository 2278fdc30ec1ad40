"""What every estimator shares: constraints and weights in `fit`, parameter rules, progress, the recount."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.base._about import About
    from coterie.base._account import (
        BOUNDS,
        Account,
        Bounds,
        Certainty,
        Price,
        Section,
        Trace,
        account_of,
        common_price,
        ending_words,
        objective_words,
        sum_over_clusters,
    )
    from coterie.base._distances import (
        Distances,
        compare,
        first_of_least,
        joined_groups,
        merged,
        metric_words,
        middle_item,
        one_medoid,
    )
    from coterie.base._eigenvalue import top_eigenvalue
    from coterie.base._mixin import ConstrainedClusterMixin, constrained_fit
    from coterie.base._parameters import Rule, anything, check_parameters, instance, one_of, real, whole
    from coterie.base._progress import Starts, Step, progress
    from coterie.base._sample_weight import check_sample_weight
    from coterie.base._warn import warn_user

__all__, __getattr__, __dir__ = attach(__name__)
