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
        Listing,
        Price,
        Section,
        Trace,
        account_of,
        common_price,
        ending_words,
        objective_words,
    )
    from coterie.base._bar import Bar
    from coterie.base._cluster_names import labelled, naming_group, new_numbers, numbers_by_label
    from coterie.base._distances import (
        Distances,
        TakesDistances,
        check_distances,
        distances_between,
        first_of_least,
        joined_groups,
        merged,
        metric_kwargs,
        metric_rule,
        middle_item,
        negative_entry,
        one_medoid,
        symmetric,
        unit_rows,
    )
    from coterie.base._eigenvalue import least_eigenvalue, top_eigenvalue
    from coterie.base._mixin import CHECKS_OF_ROWS, ConstrainedClusterMixin, TakesConstraints, constrained_fit
    from coterie.base._parameters import (
        SEARCH_RULES,
        Rule,
        anything,
        check_parameters,
        instance,
        one_of,
        real,
        whole,
    )
    from coterie.base._progress import AUTO_STARTS, Starts, Step, best_of_starts, clearly_less, progress
    from coterie.base._same_rows import changed_row
    from coterie.base._sample_weight import check_sample_weight
    from coterie.base._warn import warn_of_empty_clusters, warn_user

__all__, __getattr__, __dir__ = attach(__name__)
