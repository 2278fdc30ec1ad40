"""Fit the model of a job: with a bar, and with every way of failing told in the user's words."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress
from typing import Any

from coterie.cli._job.request import Job
from coterie.cli._speak.screen import FitSteps, Screen
from coterie.cli._speak.trouble import INFEASIBLE, UNDECIDED, Trouble, in_options, message_of


def features_of(job: Job, screen: Screen) -> Any:
    """Turn the columns into numbers."""
    with screen.stage("preparing the columns"):
        X = job.plan.fit(job.table)
    if job.request.metric == "auto":
        job.metric = job.plan.metric  # rows without a word change it
    return X


def fit(job: Job, X: Any, screen: Screen) -> tuple[Any, list[str], float]:
    """The fitted model, what it warned of, and the seconds it took."""
    from scipy.sparse import issparse
    from sklearn.utils import get_tags

    from coterie.exceptions import (
        DeadEndError,
        InfeasibleConstraintsError,
        UndecidedError,
        ViolatedConstraintsWarning,
    )

    model = job.estimator()
    if issparse(X) and not get_tags(model).input_tags.sparse:
        why = "takes no text, and no matrix in which only some values are stored"
        raise Trouble(f"{job.choice.method.name} {why}; `coterie methods` lists what each takes")
    words = "clustering (a first run also compiles its loops)"
    with screen.stage(words) as stage, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)  # told at the end, in full
        with suppress(AttributeError):  # scikit-learn before 1.9 has no callbacks
            model.set_callbacks(FitSteps(stage))
        start = time.perf_counter()
        try:
            model.fit(X, constraints=job.known, **job.fit_kwargs)
        except InfeasibleConstraintsError as error:
            raise Trouble("what you know cannot all be met", INFEASIBLE, in_options(str(error))) from None
        except (DeadEndError, UndecidedError) as error:
            head, _, rest = message_of(error).partition("\n")
            raise Trouble(head, UNDECIDED, rest) from None
        except (ValueError, TypeError, ImportError) as error:
            name, problem = job.choice.method.name, message_of(error)
            raise Trouble(problem if name in problem else f"{name}: {problem}") from None
        seconds = time.perf_counter() - start
    with suppress(AttributeError):
        model.set_callbacks()
    notes = list(dict.fromkeys(in_options(str(warning.message)) for warning in caught))
    return model, notes, seconds
