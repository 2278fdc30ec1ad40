"""The contract of learned distances: every public class keeps it, and the checks notice who does not."""

from unittest import SkipTest

import numpy as np
import pytest

import coterie
from coterie import RCA, Constraints
from coterie.distance import LearnedDistance
from coterie.testing import check_learned_distance, distance_checks, learned_distances, run_check
from tests.contract.expected_failures import scikit_learn_checks

pytestmark = pytest.mark.contract

PUBLIC = list(learned_distances())
VARIANTS = {
    **{kind.__name__: kind() for kind in PUBLIC},
    "RCA-plain": RCA(shrinkage=0.0),
    "RCA-one-axis": RCA(n_components=1),
}
told_nothing = pytest.mark.filterwarnings("ignore:.* was told nothing:UserWarning")


@pytest.mark.parametrize("check", distance_checks())
@pytest.mark.parametrize("name", VARIANTS)
def test_distance_checks(name, check):
    run_check(check, VARIANTS[name])


@pytest.mark.parametrize(("estimator", "check"), list(scikit_learn_checks(kind() for kind in PUBLIC)))
@told_nothing
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_discovery_finds_public_classes_only():
    assert RCA in PUBLIC
    assert LearnedDistance not in PUBLIC
    assert all(getattr(coterie, kind.__name__) is kind for kind in PUBLIC)
    names = [check.__name__ for check in distance_checks()]
    assert len(names) == len(set(names))
    assert all(set(kind.exempt) <= set(names) for kind in PUBLIC)


class ReadsTruth(RCA):
    def fit(self, X, y=None, *, constraints=None):
        return super().fit(X, constraints=constraints if y is None else np.asarray(y))


class LearnsFromEverything(RCA):
    """Takes cannot-links for must-links."""

    def _learn(self, X, known):
        super()._learn(X, Constraints(np.vstack([known.must_link, known.cannot_link]), n_items=known.n_items))


class MixesUpKinds(RCA):
    constraint_kinds = frozenset({"must-link"})  # and labels, which it learns from too


class ForgetsToWarn(RCA):
    def fit(self, X, y=None, *, constraints=None):
        return super().fit(X, constraints=np.zeros(len(X)) if constraints is None else constraints)


class GoesByPosition(RCA):
    def fit(self, X, y=None, *, constraints=None):
        return super().fit(np.asarray(X), constraints=constraints)


class KeepsUnits(RCA):
    def _learn(self, X, known):
        super()._learn(X, known)
        self._keep(self.components_ + 0.1 * np.eye(X.shape[1]))


class ForgetsItsMetric(RCA):
    def _learn(self, X, known):
        super()._learn(X, known)
        self.metric_ = np.linalg.inv(self.metric_)


class WidensFloats(RCA):
    def _keep(self, components):
        super()._keep(components.astype(np.float64))


class KeepsOrigin(RCA):
    def _learn(self, X, known):
        super()._learn(X, known)
        self._keep(self.components_ * abs(X).sum())


class GoesByOrder(RCA):
    def _learn(self, X, known):
        super()._learn(X, known)
        self._keep(self.components_ * (1 + (X[0] ** 2).sum()))


class AsksForNothing(RCA):
    """In a pipeline."""

    __metadata_request__fit = {"constraints": False}


@pytest.mark.parametrize(
    ("broken", "noticed_by"),
    [
        (ReadsTruth, "check_truth_is_not_read: y changes the distance"),
        (LearnsFromEverything, "check_other_kinds_are_passed_over"),
        (MixesUpKinds, "check_other_kinds_are_passed_over: n_used_"),
        (ForgetsToWarn, "check_nothing_stated: warnings"),
        (GoesByPosition, "check_names_of_rows"),
        (KeepsUnits, "check_units_of_columns: units matter"),
        (ForgetsItsMetric, "check_space: metric_ is not pair_distances"),
        (WidensFloats, "check_single_precision: components_ is float64"),
        (KeepsOrigin, "check_origin: the origin matters"),
        (GoesByOrder, "check_order_of_rows: the order of the rows matters"),
        (AsksForNothing, "check_each_fold_has_its_own: a fold received other constraints"),
    ],
)
@told_nothing
def test_the_checks_notice(broken, noticed_by):
    with pytest.raises(AssertionError, match=f"{broken.__name__} fails ({noticed_by})"):
        check_learned_distance(broken())


def test_an_exemption_is_a_skip_with_its_reason():
    class Exempt(RCA):
        exempt = {"check_units_of_columns": "it has a unit"}

    (check,) = (check for check in distance_checks() if check.__name__ == "check_units_of_columns")
    with pytest.raises(SkipTest, match="Exempt: it has a unit"):
        run_check(check, Exempt())
