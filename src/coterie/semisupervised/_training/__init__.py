"""What training needs: examples out of labels and pairs, a kernel as features, losses of pairs, solvers."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.semisupervised._training.box_dual import HingeDual, least_hinge
    from coterie.semisupervised._training.examples import Examples, read_labels_of_rows, read_partial
    from coterie.semisupervised._training.kernel_features import KernelFeatures, typical_length
    from coterie.semisupervised._training.pair_losses import APART_LOSSES, SAME_LOSSES
    from coterie.semisupervised._training.smooth import SmoothObjective, least_smooth

__all__, __getattr__, __dir__ = attach(__name__)
