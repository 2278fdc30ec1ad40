"""Classifiers that learn from few labels and many pairs, and from tracks of images of one thing."""

from typing import TYPE_CHECKING

from coterie._lazy import attach

if TYPE_CHECKING:
    from coterie.semisupervised._pair_classifier import PairClassifier
    from coterie.semisupervised._pairwise_logistic import PairwiseLogisticRegression
    from coterie.semisupervised._pairwise_svc import PairwiseSVC
    from coterie.semisupervised._track_pairs import TrackPairs, select_pairs
    from coterie.semisupervised._tracks import TrackRows, predict_tracks, track_rows

__all__, __getattr__, __dir__ = attach(__name__)
