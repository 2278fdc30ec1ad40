"""Labels under bounds on the sizes of clusters."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.assign._sizes.bounds import SizeBounds, shortfalls, tell_shortfall
    from coterie.assign._sizes.either_or import EitherOrSolver
    from coterie.assign._sizes.improve import BoundedMoves
    from coterie.assign._sizes.reading import is_bound, read_bounds, share_of
    from coterie.assign._sizes.size_constrained import size_constrained_assignment
    from coterie.assign._sizes.stable import stable_assignment
    from coterie.assign._sizes.with_pairs import BoundedSolver

__all__, __getattr__, __dir__ = attach(__name__)
