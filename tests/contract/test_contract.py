"""The contract of constrained clusterers: every public class keeps it, and the checks notice who does not."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from coterie.testing import check_constrained_clusterer, constrained_checks, constrained_clusterers
from tests.contract import toy

pytestmark = pytest.mark.contract

PUBLIC = list(constrained_clusterers())


@pytest.mark.parametrize("check", constrained_checks(), ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", [toy.ToyHard, toy.ToySoft, *PUBLIC])
@pytest.mark.filterwarnings("ignore::coterie.exceptions.ViolatedConstraintsWarning")
def test_constrained_checks(kind, check):
    check(kind())


@pytest.mark.parametrize(
    ("broken", "noticed_by"),
    [
        (toy.ReadsY, "check_y_is_ignored"),
        (toy.WritesX, "check_inputs_untouched"),
        (toy.ForgetsConstraints, "check_violations_are_recounted"),
        (toy.BreaksHardPairs, "check_hard_pairs_hold"),
        (toy.KeepsUnit, "check_scaled_features"),
        (toy.HasNoRule, "check_every_parameter_has_a_rule"),
        (toy.LosesSeed, "check_known_answer"),
        (toy.KeepsOldRows, "check_search_splits_constraints"),
    ],
)
def test_the_checks_notice(broken, noticed_by):
    with pytest.raises(AssertionError, match=rf"{broken.__name__} fails {noticed_by}"):
        check_constrained_clusterer(broken())


def test_whole_contract_of_the_toys():
    check_constrained_clusterer(toy.ToyHard())
    check_constrained_clusterer(toy.ToySoft())


SKLEARN_CHECKS = [
    pair for kind in (toy.ToyHard, toy.ToySoft, *PUBLIC) for pair in estimator_checks_generator(kind())
]


@pytest.mark.parametrize(
    ("estimator", "check"),
    SKLEARN_CHECKS,
    ids=[f"{type(estimator).__name__}-{check.func.__name__}" for estimator, check in SKLEARN_CHECKS],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_checks_do_not_touch_the_given_estimator():
    estimator = toy.ToyHard(n_clusters=7)
    check_constrained_clusterer(estimator)
    assert estimator.n_clusters == 7
    assert not hasattr(estimator, "labels_")


def test_discovery_finds_public_classes_only():
    assert all(not kind.__name__.startswith("_") for kind in PUBLIC)
    assert len(PUBLIC) == len(set(PUBLIC))
    assert np.all([hasattr(kind, "fit") for kind in PUBLIC])
