"""Fit the model of a job: with a bar, and with every way of failing told in the user's words."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from coterie.cli._job.request import Job, metric_of
from coterie.cli._speak.screen import FitSteps, Screen
from coterie.cli._speak.trouble import INFEASIBLE, UNDECIDED, Trouble, in_options, message_of

_FEW = 2_000  # rows; above, what takes long is tried in its light form


def features_of(job: Job, screen: Screen) -> Any:
    """Turn the columns into numbers."""
    with screen.stage("preparing the columns"):
        X = job.plan.fit(job.table)
    job.metric = metric_of(job.request, job.plan)  # rows without a word change it
    return X


def learn(job: Job, X: Any, screen: Screen) -> tuple[Any, list[str]]:
    """What the method is given: scores, or rows, as the distance places them if there is one; and notes."""
    if job.distance is None:
        return X if job.scores is None else job.scores.weights, []
    from coterie.methods import learned_words

    with screen.stage("learning the distance"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with failing_in_words(job.distance_name or ""):
            rows = job.distance.fit(X, constraints=job.known).transform(X)
    screen.say(learned_words(job.distance))
    notes = _notes(caught)
    if job.request.k_open and job.known:
        notes.append(
            "The number of clusters is chosen after the distance, which has seen what is asked there: the "
            "F-measures compare numbers, but are too high."
        )
    return rows, notes


@contextmanager
def failing_in_words(name: str = "") -> Iterator[None]:
    """What goes wrong in our methods, as trouble; `name`: of the method, where it is one."""
    from coterie.exceptions import DeadEndError, InfeasibleConstraintsError, UndecidedError

    try:
        yield
    except InfeasibleConstraintsError as error:
        raise Trouble("what you know cannot all be met", INFEASIBLE, in_options(str(error))) from None
    except (DeadEndError, UndecidedError) as error:
        head, _, rest = message_of(error).partition("\n")
        raise Trouble(head, UNDECIDED, rest) from None
    except (ValueError, TypeError, ImportError) as error:
        problem = message_of(error)
        raise Trouble(problem if name in problem else f"{name}: {problem}") from None


def rehearse(job: Job) -> None:
    """Raise what the run would raise whatever the features are: one step on rows that stand in a line."""
    import numpy as np

    line = np.linspace(1.0, 2.0, job.table.n_rows)[:, None]
    if job.distance is not None and job.known:
        distance = type(job.distance)()
        if "max_iter" in distance.get_params():
            distance.set_params(max_iter=1)
        with warnings.catch_warnings(), failing_in_words(job.distance_name or ""):
            warnings.simplefilter("ignore")
            distance.fit(line, constraints=job.known)
    if job.request.k_open:  # a number is chosen for which it can be met
        return
    model = job.estimator()
    if not (job.request.bounded or (job.known and model.obeys == "all" and "max_iter" in model.get_params())):
        return
    light: dict[str, Any] = {"n_init": 1, "max_iter": 1}
    if not isinstance(job.parameters.get("init", ""), str):  # centres have the features of the run
        light["init"] = "random"
    if job.table.n_rows > _FEW:
        light |= job.choice.method.about.light
    model.set_params(**{name: light[name] for name in light if name in model.get_params()})
    kwargs = {name: given for name, given in job.fit_kwargs.items() if name != "sample_weight"}
    with warnings.catch_warnings(), failing_in_words(job.choice.method.name):
        warnings.simplefilter("ignore")
        model.fit(line, constraints=job.known, **kwargs)


def settle_k(job: Job, X: Any, screen: Screen) -> None:
    """Choose the number of clusters where that is left to us, and say why."""
    if not job.request.k_open:
        return
    from coterie import choose_k

    with screen.stage("choosing the number of clusters") as stage, failing_in_words():
        numbers, model = job.request.k_range, job.estimator()
        kwargs = {"method": model, "progress": stage.step, **job.fit_kwargs}
        job.chosen_k = choose_k(X, job.known, numbers, **kwargs)
    job.request.n_clusters = job.chosen_k.n_clusters
    screen.say(in_options(str(job.chosen_k)))


def fit(job: Job, X: Any, screen: Screen) -> tuple[Any, list[str], float]:
    """The fitted model, what it warned of, and the seconds it took."""
    from scipy.sparse import issparse
    from sklearn.utils import get_tags

    if issparse(X) and not get_tags(job.estimator()).input_tags.sparse:
        why = "takes no text, and no matrix in which only some values are stored"
        raise Trouble(f"{job.choice.method.name} {why}; `coterie methods` lists what each takes")
    settle_k(job, X, screen)
    return fitted(job.estimator(), X, screen, constraints=job.known, **job.fit_kwargs)


def fitted(model: Any, X: Any, screen: Screen, **given: Any) -> tuple[Any, list[str], float]:
    """The model fitted to X and what else is `given`, what it warned of, and the seconds it took."""
    from coterie.exceptions import ViolatedConstraintsWarning

    words = "clustering (a first run also compiles its loops)"
    with screen.stage(words) as stage, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ViolatedConstraintsWarning)  # told at the end, in full
        with suppress(AttributeError):  # scikit-learn before 1.9 has no callbacks
            model.set_callbacks(FitSteps(stage))
        start = time.perf_counter()
        with failing_in_words(type(model).__name__):
            model.fit(X, **given)
        seconds = time.perf_counter() - start
    with suppress(AttributeError):
        model.set_callbacks()
    return model, _notes(caught), seconds


def _notes(caught: list[warnings.WarningMessage]) -> list[str]:
    """What was warned of, each once, in the words of the command line."""
    return list(dict.fromkeys(in_options(str(warning.message)) for warning in caught))
