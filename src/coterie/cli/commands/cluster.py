"""`coterie cluster`: from a table and what is known to labels, a report and a model, in one folder."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coterie._words import count_of, format_number
from coterie.cli._job.fit import features_of, fit, learn, rehearse
from coterie.cli._job.output_folder import check_free, whole_folder
from coterie.cli._job.request import Job, Request, prepare
from coterie.cli._job.run_account import (
    fingerprint,
    labels_name,
    mark_whole,
    run_facts,
    say_done,
    say_table,
    table_facts,
    write_outcomes,
)
from coterie.cli._job.saved import MODEL_FILE, row_keys, save_model
from coterie.cli._speak.screen import Screen
from coterie.cli._speak.trouble import DONE, OTHER_NUMBER, in_options, one_line

if TYPE_CHECKING:
    from coterie.base import Account, Certainty

_MOST_LISTED = 200  # columns that a plan lists
_MOST_BLOCKED = 5  # reasons on the screen; run.json has more


def cluster(
    request: Request,
    screen: Screen,
    target: Path,
    *,
    force: bool,
    title: str | None,
    report: bool,
    pictures: bool,
    plan_only: bool,
) -> int:
    """Do the whole job, or with `plan_only` say what it would be."""
    started = time.perf_counter()
    check_free(target, force)
    job = prepare(request, screen)
    say_data(job, screen)
    screen.say(f"Method: {_method_words(job)}")
    if plan_only:
        rehearse(job)
        shown = job.plan.columns[:_MOST_LISTED]
        rows = [(one_line(column.name), column.use, column.reason) for column in shown]
        screen.table(["column", "use", "why"], rows)
        if len(job.plan.columns) > _MOST_LISTED:
            screen.say(f"... and {len(job.plan.columns) - _MOST_LISTED:,} more columns; --json lists all.")
        screen.say(f"Would write {target}; nothing was done.")
        screen.finish({"plan": _plan(job), "out": str(target)})
        return DONE
    # the folder comes first, so that a place where one cannot write is told before the work
    with whole_folder(target, force) as folder:
        known_notes = set(job.plan.notes)
        X = features_of(job, screen)
        for note in job.plan.notes:
            if note not in known_notes:
                screen.say(f"  {note}")
        rows, learning = learn(job, X, screen)
        model, warned, seconds = fit(job, rows, screen)
        warned = [*learning, *warned]
        for warning in warned:
            screen.say(f"Note: {warning}")
        facts = {
            **run_facts(),
            **_plan(job),
            "n_clusters_asked": job.n_clusters,
            "chosen_k": job.chosen_k and asdict(job.chosen_k),
            "distance_constraints": job.distance and job.distance.n_used_,
            "warnings": warned,
            **_outcome(model),
            "map": job.request.map_columns,
        }
        facts["title"] = title or f"{job.table.path.name}: {count_of(facts['n_clusters'], 'cluster')}"
        facts["data"]["blake2b"] = fingerprint(job.table.path)
        files = _write(folder, job, (X, rows), model, facts, seconds, screen, report, pictures)
        mark_whole(folder, facts, files, seconds, started)
    say_done(_summary(model, facts), target, facts, screen)
    return OTHER_NUMBER if facts["n_clusters_asked"] not in (None, _n_held(facts)) else DONE


def _n_held(facts: dict[str, Any]) -> int:
    """How many clusters hold something."""
    return sum(size > 0 for size in facts["sizes"])


def _write(
    folder: Path,
    job: Job,
    given: tuple[Any, Any],
    model: Any,
    facts: dict[str, Any],
    seconds: float,
    screen: Screen,
    report: bool,
    pictures: bool,
) -> list[str]:
    """Write everything but the file that marks a whole run; the names of the files.

    `given` are the rows, and what the model was given: these in the space of a learned distance, or scores.
    """
    from coterie.tables import write_table

    X, rows = given
    labels_file = labels_name(job.table)
    account = model.account()
    sure = None if account.certainty is None else account.certainty.own(model.labels_)
    named, added = new_columns(job.table, account, model.labels_, sure)
    facts |= named
    with screen.stage("writing labels"):
        write_table(job.table, folder / labels_file, added)
    files = [labels_file]
    plain, weight = None, job.fit_kwargs.get("sample_weight")
    if report:
        from coterie.report import plain_labels

        with screen.stage("clustering without what you know, to compare"):
            plain = plain_labels(model, X if job.scores is None else rows, sample_weight=weight)
    files += write_outcomes(folder, model, rows, job.known, plain, screen, weight)
    bundle = {
        "model": model,
        "plan": job.plan,
        "rows": row_keys(X),
        "distance": job.distance,
        # new rows go with the nearest of them, or they are scores
        "items": rows if account.predict is None else None,
        "plain": plain,
        "chosen_k": job.chosen_k,
        "fit_words": job.fit_kwargs,
        "id_column": job.request.id_column,
        "labels_file": labels_file,
        "seconds": seconds,
        "versions": facts["versions"],
    }
    with screen.stage("writing the model"):
        save_model(folder / MODEL_FILE, bundle)
    files.append(MODEL_FILE)
    if report:
        with screen.stage("writing the report"):
            files += write_page(folder, bundle, X, job.table, facts, pictures=pictures, **job.place)
    return files


def write_page(
    folder: Path, bundle: dict[str, Any], X: Any, table: Any, facts: Any, **more: Any
) -> list[str]:
    """Write the report of a run, new or saved, and return the names of the files; `more` is passed on."""
    from sklearn.pipeline import make_pipeline

    from coterie.report import write_report

    plan, distance, model = bundle["plan"], bundle.get("distance"), bundle["model"]
    columns = [table.column(column.name).to_list() for column in plan.columns if column.use == "text"]
    if model.account().wants != "rows":
        X, more = bundle["items"], {**more, "items": X}
    write_report(
        folder / "report.html",
        model if distance is None else make_pipeline(distance, model),
        X,
        features=plan.features,
        texts=[" | ".join(str(text or "") for text in row) for row in zip(*columns, strict=True)] or None,
        plain="auto" if bundle["plain"] is None else bundle["plain"],
        chosen_k=bundle.get("chosen_k"),
        title=facts["title"],
        command=facts["command"],
        notes=[*facts["features"], f"Method: {facts['method']} ({facts['reason']}).", *facts["warnings"]],
        seconds=bundle["seconds"],
        **bundle["fit_words"],
        **more,
    )
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".html", ".png"))


# ---- words --------------------------------------------------------------------------------------------


def _method_words(job: Job) -> str:
    threshold = job.parameters.get("distance_threshold")
    k = f"k = {job.n_clusters}"
    if job.request.k_open:
        typed = "2-10 or more" if job.request.k_range is None else job.request.clusters
        k = f"k is chosen ({typed}): by how well it predicts what you know, else by the shape of the clusters"
    elif job.n_clusters is None:
        k = "k is found by the method" if threshold is None else "k follows from the distance"
    given = "".join(f", {name} = {_plainly(value)}" for name, value in job.parameters.items())
    distance = ", cosine distance" if job.metric == "cosine" else ""
    along = "" if job.neighbours is None else f", connected along {job.neighbours.path.name}"
    return f"{job.choice.method.name} ({job.choice.reason}); {k}{given}{along}{distance}"


def _plainly(value: Any) -> Any:
    """Bounds by name as they were typed."""
    return ",".join(f"{name}={one}" for name, one in value.items()) if isinstance(value, dict) else value


def _plan(job: Job) -> dict[str, Any]:
    method, table = job.choice.method, job.table
    return {
        **table_facts(table, job.known),
        "features": [*table.notes, *job.plan.notes],
        "columns": [{"name": one.name, "use": one.use, "reason": one.reason} for one in job.plan.columns],
        "n_clusters": None if job.request.k_open and job.chosen_k is None else job.n_clusters,
        "scores": None if job.scores is None else str(job.scores.path.resolve()),
        "connected": None if job.neighbours is None else job.neighbours.facts(),
        "distance": job.distance_name,
        "method": method.name,
        "reason": job.choice.reason,
        "metric": method.metrics[job.metric] or method.about.measure,
        "parameters": job.parameters,
        "seed": job.request.seed,
    }


def say_data(job: Job, screen: Screen) -> None:
    """Say what was read, and what is made of it."""
    say_table(job.table, job.plan.notes, job.known, screen)
    if job.neighbours is not None:
        screen.say(f"  {job.neighbours.words()}")
    if job.scores is not None:
        screen.say(f"  {job.scores.words()}")
    if job.distance is not None:
        screen.say(f"Distance: {job.distance_name} ({job.distance.about.what})")


def _outcome(model: Any) -> dict[str, Any]:
    import numpy as np

    labels = np.asarray(model.labels_)
    broken = model.violations_
    account = model.account()
    k = account.n_clusters
    facts = {
        "n_clusters": k,
        "sizes": np.bincount(labels[labels >= 0], minlength=k).tolist(),
        "names": list(account.names),
        "n_outliers": int((labels < 0).sum()),
        "objective": float(model.objective_),
        "n_iter": int(model.n_iter_),
        "converged": bool(model.converged_),
        "n_stated": broken.n_stated,
        "n_broken": broken.n_broken,
        "shortfalls": [str(one) for one in broken.shortfalls],
    }
    facts |= account.figures
    if "blocked" in facts:
        facts["blocked"] = [in_options(one) for one in facts["blocked"]]
    if account.certainty is not None:
        facts["doubt"] = _doubt(account.certainty, labels)
    return facts


def _doubt(certainty: Certainty, labels: Any) -> dict[str, Any]:
    """How sure a model with probabilities is, and how it found them."""
    from coterie.report._facts import IN_DOUBT, WIDE_OPEN

    own, dropped = certainty.own(labels), certainty.dropped
    return {
        **{f"below_{limit:g}": int((own < limit).sum()) for limit in (IN_DOUBT, WIDE_OPEN)},
        "inference": in_options(certainty.inference or ""),
        "cannot_links_dropped": 0 if dropped is None else int(dropped.cannot_table.n),
        "collapsed": list(certainty.collapsed),
    }


def new_columns(
    table: Any, account: Account, labels: Any, sure: Any
) -> tuple[dict[str, str], dict[str, Any]]:
    """The columns beside the user's own: what each is for, and its name; and its name, and what it holds."""
    from coterie.tables import free_name

    holds = {"label": ("cluster", labels)}
    if account.names:  # nothing for an item in no cluster (-1)
        names = [*(_called(account, h) for h in range(account.n_clusters)), ""]
        holds["name"] = "cluster_name", [names[h] for h in labels.tolist()]
    if sure is not None:
        holds["probability"] = "probability", sure
    named = {f"{use}_column": free_name(table, wanted) for use, (wanted, _) in holds.items()}
    return named, dict(zip(named.values(), (cells for _, cells in holds.values()), strict=True))


def _called(account: Account, h: int) -> str:
    """The name of a cluster; without a label it is its number."""
    name = account.names[h] if h < len(account.names) else None
    return f"cluster {h}" if name is None else name


def _summary(model: Any, facts: dict[str, Any]) -> list[str]:
    account, sizes = model.account(), facts["sizes"]
    n_items = sum(sizes) + facts["n_outliers"]
    left = f", {facts['n_outliers']:,} left out" if facts["n_outliers"] else ""
    shown = _some(_named(account, map(format_number, sizes)))
    lines = [f"\n{count_of(n_items, 'item')} in {count_of(len(sizes), 'cluster')}: {shown}{left}"]
    if account.bounds is not None:
        lines.append(f"{_bounded(account)}{'' if facts['shortfalls'] else '; all bounds hold'}.")
    lines += [*_other_number(account, facts), *account.remarks]
    if facts["n_stated"] or facts["shortfalls"]:
        lines.append(in_options(str(model.violations_)))
    if "doubt" in facts:
        lines += _in_doubt(facts["doubt"])
    return lines


def _named(account: Account, cells: Iterable[str], always: bool = False) -> list[str]:
    """What is said of each cluster, behind its name where some have one."""
    named = always or account.names
    return [f"{_called(account, h)}: {cell}" if named else cell for h, cell in enumerate(cells)]


def _some(cells: list[str]) -> str:
    return ", ".join(cells[:20]) + (", ..." if len(cells) > 20 else "")


def _bounded(account: Account) -> str:
    """The size or load of each cluster, and between what it lies: each, or which one."""
    read, sizes = account.bounds.read, account.sizes.tolist()  # type: ignore[union-attr]
    limits = [
        [f"at least {format_number(low)}"] * bool(low > 0)
        + [f"at most {format_number(high)}"] * bool(high < read.total)
        for low, high in zip(read.low, read.high, strict=True)
    ][: len(sizes)]
    alike = all(own == limits[0] for own in limits)
    cells = _named(account, map(format_number, sizes), always=not alike)
    if not alike:
        cells = [cell + f" ({', '.join(own)})" * bool(own) for cell, own in zip(cells, limits, strict=True)]
    each = f" (each {', '.join(limits[0])})" if alike and limits[0] else ""
    return f"{'Load' if len(read.load) else 'Size'}: {_some(cells)}{each}"


def _other_number(account: Account, facts: dict[str, Any]) -> list[str]:
    """That there are more or fewer clusters than were asked for, why, and the ways out."""
    asked, found = facts["n_clusters_asked"], _n_held(facts)
    if asked is None or asked == found:
        return []
    asked_for = f"Asked for: {count_of(asked, 'cluster')}; there are {found:,}"
    if found < asked:
        return [f"{asked_for} that hold something. Ask for fewer (-k {found}), or for --size-min 1."]
    blocked = [f"  {line}" for line in facts.get("blocked", [])[:_MOST_BLOCKED]]
    size = ", raise --size-max" if account.bounds is not None else ""
    graph = ", add neighbours" if account.graph is not None else ""
    ways = f"Ways out: ask for {found:,} (-k {found}){size}, drop constraints{graph}."
    return [f"{asked_for}. What keeps these apart:", *blocked, ways]


def _in_doubt(doubt: dict[str, Any]) -> list[str]:
    lines = [
        f"{count_of(doubt['below_0.9'], 'item')} in doubt (probability below 0.9), "
        f"{doubt['below_0.6']:,} of them below 0.6"
    ]
    if doubt["inference"]:
        lines.append(f"Inference: {doubt['inference']}")
    if doubt["collapsed"]:
        which = ", ".join(map(str, doubt["collapsed"]))
        lines.append(f"Shrunk to almost nothing in some direction: cluster {which}; see the report.")
    return lines
