"""Parts of boosting: weights of pairs, directions that mend them, the base, and what the rounds agree on."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.ensemble._boosting.base_clusterer import NAMED, BaseClusterer
    from coterie.ensemble._boosting.consensus import Consensus, find_final
    from coterie.ensemble._boosting.held_out import rounds_help
    from coterie.ensemble._boosting.pair_loss import PairLoss, Shares, together
    from coterie.ensemble._boosting.projection import Scatter, projected
    from coterie.ensemble._boosting.rounds import BoostingRounds

__all__, __getattr__, __dir__ = attach(__name__)
