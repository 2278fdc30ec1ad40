"""The outcome of a comparison in words, read from its frame."""

from __future__ import annotations

from typing import Any

from coterie.constraints._reading import frame_columns

_READ = {
    *("method", "score", "error", "behind", "behind_error", "status", "chosen"),
    *("must_met", "cannot_met", "n_must", "n_cannot"),
}


def best(frame: Any) -> str:
    """Name of the chosen method in the frame that `compare` returned; "plain" is no method, but none.

    Parameters
    ----------
    frame : frame
        As `compare` returned it, of any library.

    Returns
    -------
    str
        What stands in the column `method` of the chosen row.
    """
    return str(_chosen(_rows(frame))["method"])


def in_words(frame: Any) -> str:
    """What a comparison found, in a few sentences.

    Parameters
    ----------
    frame : frame
        As `compare` returned it, of any library.

    Returns
    -------
    str
        Sentences, one a line.

    Examples
    --------
    >>> from coterie import compare
    >>> from coterie.comparison import in_words
    >>> X = [[0.0], [0.2], [0.4], [0.6], [9.0], [9.2], [9.4], [9.6]]
    >>> frame = compare(X, [0, 0, 0, 0, 1, 1, 1, 1], 2, methods="COPKMeans", n_folds=2, random_state=0)
    >>> print(in_words(frame))
    COPKMeans is chosen: 100.0% of what was held out came out as stated (standard error 0.0%).
    Without the constraints it is 100.0%: on this scale they change nothing.
    """
    rows = _rows(frame)
    chosen = _chosen(rows)
    scored = [row for row in rows if row["status"] == "ok"]
    informed = [row for row in scored if row["method"] != "plain"]
    plain = next((row for row in scored if row["method"] == "plain"), None)
    error = "" if chosen["error"] is None else f" (standard error {_percent(chosen['error'])})"
    met = f"{_percent(chosen['score'])} of what was held out came out as stated{error}"
    if chosen is plain:
        lines = [
            f"Clustering without the constraints does best here: {met}.",
            f"The best method that uses them, {informed[0]['method']}, reaches "
            f"{_percent(informed[0]['score'])}. "
            "Perhaps some of them are wrong, or the columns do not show what they say: look at both. "
            "Constraints that you are sure of are worth using all the same.",
        ]
    else:
        lines = [f"{chosen['method']} is chosen: {met}."]
        others = [row for row in informed if row is not chosen]
        close = [str(row["method"]) for row in others if not _clear(row["behind"], row["behind_error"])]
        if close:
            lines.append(f"Within one standard error of it: {', '.join(close)}.")
        if plain is not None:
            lines.append(_against_plain(plain, chosen))
    failed = [row for row in rows if row["status"] != "ok"]
    lines += [f"Not compared: {row['method']} ({str(row['status']).rstrip('.')})." for row in failed]
    return "\n".join(lines)


def _against_plain(plain: dict[str, Any], chosen: dict[str, Any]) -> str:
    gain = plain["behind"]
    message = f"Without the constraints it is {_percent(plain['score'])}"
    if abs(gain) < 0.0005:
        return f"{message}: on this scale they change nothing."
    if not _clear(abs(gain), plain["behind_error"], errors=2) or (gain < 0 and _more(plain, chosen) < 3):
        return f"{message}: a difference that may be chance."
    return (
        f"{message}: they help." if gain > 0 else f"{message}, which is more: it may be worth checking them."
    )


def _more(first: dict[str, Any], second: dict[str, Any]) -> float:
    """How many more answers of the first are as stated."""
    kinds = (("must_met", "n_must"), ("cannot_met", "n_cannot"))
    return sum(((first[met] or 0.0) - (second[met] or 0.0)) * first[n] for met, n in kinds)


def _clear(difference: float, error: float | None, errors: int = 1) -> bool:
    return error is not None and difference > errors * error * (1 + 1e-9) + 1e-12  # as in the choice


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _chosen(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found = [row for row in rows if row["chosen"]]
    if len(found) != 1:
        raise ValueError("this frame has no row, or several, with chosen=True: give the frame of compare.")
    return found[0]


def _rows(frame: Any) -> list[dict[str, Any]]:
    columns = frame_columns(frame)
    missing = _READ - set(columns)
    if missing:
        raise ValueError(f"this is not a frame of compare: it has no column {', '.join(sorted(missing))}.")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
