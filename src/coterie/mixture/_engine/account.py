"""What a fitted mixture says of itself: densities as distances, log-odds as prices, and how sure it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from coterie._arrays import Floats
from coterie.base import Account, Certainty, Price, Trace, common_price, ending_words
from coterie.constraints._model import log_odds

# What stands for the log-likelihood.
_LIKELIHOODS = {
    "joint": "of the items and of what was stated",
    "conditional": "of the items, given what was stated",
    "pseudo-likelihood": "of the items, given what was stated, as if no two cannot-links met",
    "bound": "of the items and of what was stated: by mean field, a bound that is never below it",
    "balanced": "of the items and of what was stated, sizes held at their targets: a bound, never below it",
    "estimate": "of the items, given what was stated: estimated by sampling, so that it goes up and down",
}
# A probability that is smaller counts as this one: its logarithm must be a number.
_LEAST = 1e-300


def account_of_mixture(model: Any, found: Account) -> Account:
    """The account of a mixture, from what the contract says of it."""
    message = (
        f"Minus the log-likelihood {_LIKELIHOODS.get(model.objective_kind_, 'of the items')}, before each "
        f"update. {ending_words(model, 'the last step gained less than tol for each item')}"
    )
    found = replace(
        found,
        price=price_of_mixture(model),
        trace=Trace(
            model.history_,
            "Minus the log-likelihood before each update",
            message,
            value="minus the log-likelihood",
            stride=1.0,
        ),
        certainty=Certainty(
            model.responsibilities_,
            model.agreement_,
            str(model.inference_).strip(),
            model.dropped_constraints_,
            tuple(np.ravel(getattr(model, "collapsed_", ())).tolist()),
            getattr(model, "_why_type", None),
        ),
    )
    if not hasattr(model, "score_samples"):  # squared errors, which are no density
        return found

    def unlikely(X: Any) -> Floats:
        """Minus the log-density of an item and its cluster together; differences are log-likelihoods."""
        share = np.maximum(np.asarray(model.predict_proba(X), dtype=np.float64), _LEAST)
        return -(np.asarray(model.score_samples(X), dtype=np.float64)[:, None] + np.log(share))

    centre = "Near to a centre means here: where the cluster is dense, in its own shape."
    return replace(found, distances=unlikely, centre=centre)


def price_of_mixture(model: Any) -> Price:
    """Costs in the log-likelihood, or in squared distances where there is none."""
    sure, weight = getattr(model, "confidence", None), getattr(model, "weight", None)
    statement = common_price(weight) if sure is None else float(log_odds(np.asarray(sure)))
    return Price(1.0 if hasattr(model, "score_samples") else 2.0, 1.0, statement, stated=1.0)
