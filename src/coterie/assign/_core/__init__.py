"""What every labelling needs: units with their edges and groups, costs, and items that nothing ties."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.assign._core.assignment import own_costs, read_labels, unit_costs
    from coterie.assign._core.core import RELATIVE, Acts, Core, build_core, rotated, soft_penalty
    from coterie.assign._core.counts import add_to_rows, group_counts, met_in, to_cheapest
    from coterie.assign._core.solver import CoreSolver, Scores

__all__, __getattr__, __dir__ = attach(__name__)
