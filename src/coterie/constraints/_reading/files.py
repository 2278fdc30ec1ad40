"""Constraint files: CSV and JSON in the core, Parquet with the extra `parquet`.

All three hold the table of `build.py`. CSV is for people and knows neither the number of items nor the ids,
so `Constraints.read` takes them; the JSON of `write` keeps both. JSON may also be an array of records. Names
of groups become text.
"""

from __future__ import annotations

import csv
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

from coterie.constraints._reading.build import Names, Parts, from_columns, renamed
from coterie.constraints._reading.frames import build_frame, frame_columns
from coterie.constraints._reading.inputs import Ids

_FORMAT = "coterie-constraints"
_KNOWN = ".csv, .json or .parquet"


def read_file(path: Any, ids: Ids | None, n_items: int | None, names: Names) -> Parts:
    """Read the parts of constraints from a file, by its ending; `names`: which column is which of ours."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (".csv", ".json", ".parquet"):
        raise ValueError(f"{path.name}: unknown ending {ending!r}; constraint files end in {_KNOWN}.")
    try:
        lines = None
        if ending == ".csv":
            columns, lines = _read_csv(path)
        elif ending == ".json":
            columns, ids, n_items = _read_json(path, ids, n_items)
        else:
            columns = _read_parquet(path)
        return from_columns(renamed(columns, names), ids, n_items, lines)
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _not_utf8(path: Path) -> ValueError:
    content = path.read_bytes()
    try:
        content.decode("utf-8-sig")
        line = 1
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
    return ValueError(f"{path.name}: line {line} is not UTF-8 text; save the file as UTF-8.")


def _read_csv(path: Path) -> tuple[dict[str, list[Any]], list[int]]:
    """The columns as text, and the line of each row; cells end at commas, semicolons or tabs."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        start = re.sub(r'"[^"]*"', "", file.readline())  # a mark inside of quotes separates nothing
        mark = next((mark for mark in ",;\t" if mark in start), ",")
        file.seek(0)
        lines = csv.reader(file, delimiter=mark)
        header = [name.strip() for name in next(lines, [])]
        twice = [name for name in header if header.count(name) > 1]
        if twice:
            raise ValueError(f"the column {twice[0]} stands twice in the header.")
        columns: dict[str, list[Any]] = {name: [] for name in header}
        numbers: list[int] = []
        for cells in lines:
            if not cells:
                continue
            if len(cells) != len(header):
                raise ValueError(
                    f"line {lines.line_num}: {len(cells)} cells, but the header has {len(header)}."
                )
            numbers.append(lines.line_num)
            for name, cell in zip(header, cells, strict=True):
                columns[name].append(cell)
    for name in {"weight", "confidence"} & set(columns) if mark == ";" else ():  # where commas are decimal
        columns[name] = [cell.replace(",", ".") for cell in columns[name]]
    return columns, numbers


def _read_json(path: Path, ids: Ids | None, n_items: int | None) -> tuple[Any, Ids | None, int | None]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}.") from None
    except RecursionError:
        raise ValueError("not a file of Coterie constraints: too deeply nested.") from None
    if isinstance(content, list):
        return _of_records(content), ids, n_items
    columns = content.get("table") if isinstance(content, dict) else None
    if columns is None or content.get("format") != _FORMAT:
        raise ValueError(
            f'neither a file of Coterie constraints ("format": "{_FORMAT}" and "table") nor an array of '
            'records such as [{"i": 0, "j": 1, "kind": "must-link"}].'
        )
    if not isinstance(columns, dict) or len({len(cells) for cells in columns.values()}) > 1:
        raise ValueError("the table must have columns of one length.")
    if ids is None and content.get("ids") is not None:
        ids = Ids(content["ids"])
    if n_items is None:
        n_items = content.get("n_items") if ids is None else len(ids)
    return columns, ids, n_items


def _of_records(records: list[Any]) -> dict[str, list[Any]]:
    """Columns of an array of records; what a record does not name is missing."""
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            raise ValueError(f'row {row} is no record such as {{"i": 0, "j": 1, "kind": "must-link"}}.')
    names = dict.fromkeys(name for record in records for name in record) if records else ("i", "j", "kind")
    return {name: [record.get(name) for record in records] for name in names}


def _read_parquet(path: Path) -> dict[str, list[Any]]:
    _need_pyarrow()
    import pyarrow.parquet as pq

    return frame_columns(pq.read_table(path))


def _need_pyarrow() -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError('Parquet needs pyarrow: pip install "coterie[parquet]"')


def write_file(path: Any, columns: dict[str, list[Any]], ids: Ids | None, n_items: int) -> None:
    """Write the table, by the ending of the path."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".json":
        names = None if ids is None else ids.values.tolist()
        content = {"format": _FORMAT, "n_items": n_items, "ids": names, "table": columns}
        try:
            text = json.dumps(content, ensure_ascii=False)
        except TypeError as error:
            raise TypeError(
                f"{path.name}: these ids cannot be written as JSON ({error}); use text."
            ) from None
        path.write_text(text + "\n", encoding="utf-8")
    elif ending == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(columns)
            for row in zip(*columns.values(), strict=True):  # None is written as nothing
                table.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in row])
    elif ending == ".parquet":
        _need_pyarrow()
        import pyarrow.parquet as pq

        pq.write_table(build_frame(columns, "pyarrow"), path)
    else:
        raise ValueError(f"{path.name}: unknown ending {ending!r}; constraint files end in {_KNOWN}.")
