"""Classifiers that learn from few labels and many pairs, and from tracks of images of one thing."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.semisupervised._pair_classifier import PairClassifier
    from coterie.semisupervised._pairwise_logistic import PairwiseLogisticRegression
    from coterie.semisupervised._pairwise_svc import PairwiseSVC

__all__, __getattr__, __dir__ = attach(__name__)
