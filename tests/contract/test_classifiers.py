"""The contract of classifiers of labels and pairs: every public class keeps it; who does not is noticed."""

import numpy as np
import pytest

import coterie
from coterie import Constraints, PairwiseLogisticRegression, PairwiseSVC, testing
from coterie.semisupervised import PairClassifier
from coterie.testing import check_pair_classifier, classifier_checks, pair_classifiers, run_check
from tests.contract.expected_failures import scikit_learn_checks
from tests.marks import outvoted

pytestmark = [pytest.mark.contract, outvoted]

PUBLIC = list(pair_classifiers())
VARIANTS = {
    **{kind.__name__: kind() for kind in PUBLIC},
    "PairwiseLogisticRegression-linear": PairwiseLogisticRegression(kernel="linear"),
    "PairwiseLogisticRegression-nonconvex": PairwiseLogisticRegression(loss="nonconvex", alpha=0.1),
    "PairwiseSVC-laplacian": PairwiseSVC(kernel="laplacian", alpha=0.1),
}
# what a setting can change: the others are asked of the classes as they come, and of settings when slow
ANYHOW = {
    f"check_{what}"
    for what in (
        "known_classes", "nothing_stated_of_pairs", "order_of_items", "strength_of_pairs", "sparse_is_read",
        "single_stays_single", "bad_rows",
    )
}  # fmt: skip


def cases():
    for name, model in VARIANTS.items():
        for check in classifier_checks():
            rare = "-" in name and check.__name__ not in ANYHOW
            marks = [pytest.mark.slow] if rare else []
            yield pytest.param(model, check, id=f"{name}-{check.__name__}", marks=marks)


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_classifier_checks(model, check):
    run_check(check, model)


@pytest.mark.parametrize(("estimator", "check"), list(scikit_learn_checks(kind() for kind in PUBLIC)))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_discovery_finds_public_classes_only():
    assert {PairwiseLogisticRegression, PairwiseSVC} <= set(PUBLIC)
    assert PairClassifier not in PUBLIC
    assert all(getattr(coterie, kind.__name__) is kind for kind in PUBLIC)
    names = [check.__name__ for check in classifier_checks()]
    assert len(names) == len(set(names))
    assert all(set(kind.exempt) <= set(names) for kind in PUBLIC)
    assert set(names) >= ANYHOW


class Toy(PairwiseLogisticRegression):
    """The linear one, which is quick."""

    def __init__(self, alpha=0.01, weight=1.0, kernel="linear", unknown=None, max_iter=1000, tol=1e-6):
        super().__init__(alpha, weight, kernel=kernel, unknown=unknown, max_iter=max_iter, tol=tol)


class GivesUpEarly(Toy):
    def fit(self, X, y, *, constraints=None):
        super().fit(X, y, constraints=constraints)
        del self.support_
        return self


class IgnoresPairs(Toy):
    def fit(self, X, y, *, constraints=None):
        weight, self.weight = self.weight, 0.0
        super().fit(X, y, constraints=constraints)
        self.weight = weight
        return self


class TakesNoneForAClass(Toy):
    def fit(self, X, y, *, constraints=None):
        return super().fit(X, np.char.add("c", np.asarray(y).astype(str)), constraints=constraints)


class WritesRows(Toy):
    def fit(self, X, y, *, constraints=None):
        super().fit(X, y, constraints=constraints)
        if isinstance(X, np.ndarray):
            X[0] = 0.0
        return self


class GoesByOrder(Toy):
    def _keep(self, weights):
        super()._keep(weights * (1.0 + 0.1 * self._features.rows[0].sum()))


class ForgetsConfidence(Toy):
    def fit(self, X, y, *, constraints=None):
        if isinstance(constraints, Constraints):
            c = constraints
            weights = c.must_table.weight, c.cannot_table.weight
            constraints = Constraints(c.must_link, n_items=c.n_items, weight=weights[0])
            constraints = constraints | Constraints(None, c.cannot_link, n_items=c.n_items, weight=weights[1])
        return super().fit(X, y, constraints=constraints)


class CountsNoContradiction(Toy):
    def _recount(self, *known):
        super()._recount(*known)
        self.n_contradictions_ = 0


class ReadsByPosition(Toy):
    def fit(self, X, y, *, constraints=None):
        X = X.reset_index(drop=True) if hasattr(X, "reset_index") else X
        return super().fit(X, y, constraints=constraints)


class WidensFloats(Toy):
    def decision_function(self, X):
        return super().decision_function(X).astype(np.float64)


class RemembersFits(Toy):
    def _forget(self):
        pass


class AsksForNothing(Toy):
    """In a pipeline."""

    __metadata_request__fit = {"constraints": False}


class GuessesUnknown(Toy):
    def predict(self, X):
        return np.full(len(X), 9) if self.unknown == 9 else super().predict(X)


@pytest.mark.parametrize(
    ("broken", "check", "words"),
    [
        (GivesUpEarly, "known_classes", "support_ is missing"),
        (IgnoresPairs, "nothing_stated_of_pairs", "pairs change nothing"),
        (TakesNoneForAClass, "what_is_not_known", "other names of classes"),
        (WritesRows, "given_data_untouched", "X was changed"),
        (GoesByOrder, "order_of_items", "the order of the rows matters"),
        (ForgetsConfidence, "strength_of_pairs", "pairs confident"),
        (CountsNoContradiction, "contradictions_are_counted", "n_contradictions_ is 0"),
        (ReadsByPosition, "names_of_items", "moved rows are taken for others"),
        (WidensFloats, "single_stays_single", "decision_function is float64"),
        (RemembersFits, "copies_and_refits", "of an earlier fit there remain"),
        (GuessesUnknown, "nobody_knows_it", "unknown is not where"),
    ],
)
def test_a_check_notices(broken, check, words):
    with pytest.raises(AssertionError, match=words):
        getattr(testing, f"check_{check}")(broken())


def test_all_checks_run_and_the_first_that_fails_is_named():
    check_pair_classifier(Toy())
    for broken, check in ((WidensFloats, "single_stays_single"), (AsksForNothing, "folds_have_their_own")):
        with pytest.raises(AssertionError, match=f"{broken.__name__} fails check_{check}"):
            check_pair_classifier(broken())
