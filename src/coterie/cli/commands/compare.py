"""`coterie compare`: several methods on the user's own data; constraints are held out, predicted, scored."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict
from typing import Any

from coterie._words import count_of
from coterie.cli._job.fit import failing_in_words, features_of, learn, settle_k
from coterie.cli._job.method import finders
from coterie.cli._job.request import Job, Request, prepare
from coterie.cli._speak.command_line import typed, with_options
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE, Trouble
from coterie.cli.commands.cluster import say_data

_SHORT_K = re.compile(r"-k(\d[\d -]*|auto)", re.IGNORECASE)


def compare(request: Request, screen: Screen, methods: list[str], n_folds: int) -> int:
    """Print a line a method, best first, and the command that takes the best."""
    from coterie import compare as compare_methods
    from coterie.comparison import best, in_words
    from coterie.constraints._reading import frame_columns
    from coterie.methods import find_method

    if request.scores is not None:
        raise Trouble("--scores: compare tries methods on rows of features; `coterie cluster` takes scores")
    try:
        names = [find_method(name).name for name in methods] or None
    except ValueError as error:
        raise Trouble(str(error)) from None
    job = prepare(request, screen)
    say_data(job, screen)
    X = features_of(job, screen)
    if request.k_open:
        rows, notes = learn(job, X, screen)
        settle_k(job, rows, screen)
        for note in notes:
            screen.say(f"Note: {note}")
    k = job.n_clusters
    assert k is not None  # an option that must be given
    with screen.stage("comparing") as stage, failing_in_words():
        frame = compare_methods(
            X,
            job.known,
            k,
            methods=names,
            metric=job.metric,
            distance=job.distance,
            parameters=_parameters(job, names),
            n_folds=n_folds,
            **job.fit_kwargs,
            random_state=request.seed,
            progress=lambda done, total, words: stage.step(done, total, f"comparing {words}"),
            library="polars",
        )
    columns = frame_columns(frame)
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    screen.table(
        ["method", "score", "error", "must-links met", "cannot-links met", "seconds", ""],
        [_cells(row, k) for row in rows],
        right=range(1, 6),
    )
    screen.say(
        "score: share of held-out constraints that came out as stated, must- and cannot-links each half"
    )
    screen.say(in_words(frame))
    chosen = best(frame)
    if chosen == "plain" and job.distance is not None:
        screen.say("It may be the distance that does harm: compare without --distance, too.")
    again = _next_command(chosen, request)
    screen.say(f"\nTake it: {again}")
    found: dict[str, Any] = {"chosen": chosen, "words": in_words(frame), "command": again, "methods": rows}
    found |= {"n_clusters": k, "distance": job.distance_name}
    screen.finish({**found, "chosen_k": job.chosen_k and asdict(job.chosen_k)})
    return DONE


def _parameters(job: Job, names: list[str] | None) -> dict[str, Any]:
    """Parameters for all; the number of starts only where a method makes some."""
    from coterie.methods import find_method

    parameters = job.all_parameters()
    if names is not None and not any(find_method(name).starts for name in names):
        parameters.pop("n_init", None)
    return parameters


def _cells(row: dict[str, Any], k: int) -> list[str]:
    if row["status"] != "ok":
        return [row["method"], *[""] * 5, row["status"]]
    numbers = ("score", "error", "must_met", "cannot_met", "seconds")
    other = [count_of(row["n_clusters"], "cluster")] * (row["n_clusters"] != k or row["method"] in finders())
    message = ", ".join(["chosen"] * row["chosen"] + other)
    return [row["method"], *(_share(row[name]) for name in numbers), message]


def _share(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.3f}"


def _next_command(chosen: str, request: Request) -> str:
    """The command that clusters with the chosen method: what was typed, without what only `compare` has."""
    words = _without(typed()[1:], ["--methods", "--folds"])
    words = [word for word in words if word != "--json"]
    if chosen == "plain":  # better without the constraints
        words = _without(words, ["--pairs", "--labels", "--distinct", "--across", "--distance"])
        for column in (request.labels, request.distinct, request.across):
            words = words if column is None else with_options(words, "--drop", column)
    else:
        words = with_options(words, "--method", chosen)
    if request.k_open or chosen in finders():
        words = [word for word in _without(words, ["-k", "--clusters"]) if not _SHORT_K.fullmatch(word)]
        if chosen not in finders():
            words = with_options(words, "-k", str(request.n_clusters))
    return shlex.join(["coterie", "cluster", *words])


def _without(words: list[str], options: list[str]) -> list[str]:
    """The words without these options and their values."""
    kept, at = [], 0
    while at < len(words):
        if words[at] in options:
            at += 1  # its value follows
        elif words[at].partition("=")[0] not in options:
            kept.append(words[at])
        at += 1
    return kept
