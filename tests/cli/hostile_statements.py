"""Hostile constraints: ids, pairs, known labels and groups."""

import io
import json

import polars as pl

from tests.cli.hostile_cases import (
    ANY,
    COLLIDES,
    DONE,
    FAILS,
    SCRIPT,
    STRANGE,
    Case,
    Rng,
    Sheet,
    cluster,
    hostile,
    pick,
    sheet,
)

PAIRS = ("--pairs", "pairs.csv")


def pairs(*rows: str, head: str = "i,j,kind") -> str:
    """A file of pairs."""
    return "\n".join([head, *rows]) + "\n"


def some(rng: Rng, table: Sheet, many: int = 3) -> list[tuple[int, int]]:
    """Pairs of rows of which none shares a row with another."""
    order = rng.permutation(len(table.rows))[: 2 * many].tolist()
    return list(zip(order[::2], order[1::2], strict=True))


def stated(table: Sheet, rows: list[tuple[int, int]], kind: str) -> list[str]:
    """Lines that say it in the ids of the table."""
    return [f"{table.rows[i][0]},{table.rows[j][0]},{kind}" for i, j in rows]


# ---- ids ----------------------------------------------------------------------------------------------


@hostile
def an_id_twice(rng: Rng) -> Case:
    table = sheet(rng)
    table.rows[-1][0] = table.rows[int(rng.integers(len(table.rows) - 1))][0]
    return Case(cluster(), {"t.csv": table.csv()}, FAILS, ["t.csv", table.rows[-1][0], "twice"])


@hostile
def an_id_missing(rng: Rng) -> Case:
    table = sheet(rng)
    at = int(rng.integers(len(table.rows)))
    table.rows[at][0] = pick(rng, "", "NA", "  ", "nan")
    return Case(cluster(), {"t.csv": table.csv()}, FAILS, ["t.csv", "'id'", f"row {at}"])


@hostile
def ids_with_leading_zeros(rng: Rng) -> Case:
    table = sheet(rng)
    form = pick(rng, "{:03}", "00{}", "0{}")
    for at, row in enumerate(table.rows):
        row[0] = form.format(at)
    together = some(rng, table)
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*stated(table, together, "must-link"))}
    return Case(cluster(*PAIRS, "--method", "COPKMeans"), files, DONE, together=together)


@hostile
def numbers_as_ids(rng: Rng) -> Case:
    table = sheet(rng)
    start, form = pick(
        rng, (1, "{}"), (0, "{}.0"), (2**53, "{}"), (2**63, "{}"), (10**25, "{}"), (-5, "{}"), (0, "{}.5")
    )
    for at, row in enumerate(table.rows):
        row[0] = form.format(start + at)
    together = some(rng, table)
    lines = stated(table, together, "must-link")
    if rng.random() < 0.3:
        lines[0] = lines[0].replace(
            table.rows[together[0][0]][0], pick(rng, "1.0", "+1", "01", "1e0", " 1"), 1
        )
        together = []
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*lines)}
    return Case(cluster(*PAIRS, "--method", "COPKMeans"), files, ANY, together=together)


@hostile
def strange_ids(rng: Rng) -> Case:
    table = sheet(rng, 24)
    names = [name for name in STRANGE if name.strip() and name not in ("NULL", "nan")]
    for row, name in zip(table.rows, rng.permutation(names).tolist(), strict=False):
        row[0] = name
    together = some(rng, table, 4)
    rows = [[table.rows[i][0], table.rows[j][0], "must-link"] for i, j in together]
    files = {"t.csv": table.csv(), "pairs.csv": Sheet(["i", "j", "kind"], rows).csv()}
    return Case(cluster(*PAIRS, "--method", "COPKMeans"), files, DONE, together=together)


@hostile
def ids_of_other_kinds(rng: Rng) -> Case:
    table = sheet(rng, 12)
    cells = pick(
        rng, [f"2024-01-{at + 1:02}" for at in range(12)], [str(at % 2 == 0) for at in range(12)],
        [str(at / 8) for at in range(12)], [f" p{at} " for at in range(12)],
        ["é", "e\u0301", *(f"p{at}" for at in range(10))], ["A", "a", *(f"p{at}" for at in range(10))],
        ["1", "1.0", *(str(at) for at in range(2, 12))], ["1", "01", *(f"p{at}" for at in range(10))],
        ["1", "one", *(str(at) for at in range(2, 12))], ["p", "p ", *(f"p{at}" for at in range(10))],
        ["x" * 5000 + str(at) for at in range(12)],
    )  # fmt: skip
    for row, cell in zip(table.rows, cells, strict=True):
        row[0] = cell
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*stated(table, [(0, 1)], "must-link"))}
    together = [] if len({cell.strip() for cell in cells}) < 12 else [(0, 1)]
    return Case(cluster(*PAIRS), files, ANY, together=together)


@hostile
def a_wrong_column(rng: Rng) -> Case:
    option = pick(
        rng, "--id", "--labels", "--distinct", "--across", "--weight", "--drop", "--numeric", "--columns"
    )
    more = [option, pick(rng, "X0", "x00", "x", "", "no such", SCRIPT, "id2", " x0x ")]
    return Case(cluster(*more, id=option != "--id"), {"t.csv": sheet(rng).csv()}, ANY)


# ---- pairs --------------------------------------------------------------------------------------------


@hostile
def an_unknown_id(rng: Rng) -> Case:
    table = sheet(rng)
    name = pick(rng, "nobody", "P1", "p1x", SCRIPT, "p 1", "p1;p2")
    lines = [*stated(table, some(rng, table, 2), "must-link"), f"p0,{name},cannot-link"]
    return Case(cluster(*PAIRS), {"t.csv": table.csv(), "pairs.csv": pairs(*lines)}, FAILS, ["line 4", name])


@hostile
def an_item_with_itself(rng: Rng) -> Case:
    kind = pick(rng, "must-link", "cannot-link")
    files = {"t.csv": sheet(rng).csv(), "pairs.csv": pairs(f"p1,p1,{kind}", "p2,p3,must-link")}
    return Case(cluster(*PAIRS), files, FAILS if kind == "cannot-link" else DONE, ["p1"])


@hostile
def statements_that_collide(rng: Rng) -> Case:
    table = sheet(rng)
    lines = pick(
        rng,
        ["p0,p1,must-link", "p0,p1,cannot-link"],
        ["p0,p1,must-link", "p1,p2,must-link", "p2,p0,cannot-link"],
        [f"p{i},p{j},cannot-link" for i in range(4) for j in range(i)],
        [f"p{i},p{i + 1},must-link" for i in range(6)] + ["p0,p6,cannot-link"],
    )
    method = pick(rng, "auto", "COPKMeans", "PCKMeans", "KMedoids", "SizeConstrainedKMeans")
    ends = COLLIDES if method in ("COPKMeans", "SizeConstrainedKMeans") else DONE
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*lines)}
    return Case(cluster(*PAIRS, "--method", method), files, ends, ["p0"])


@hostile
def statements_that_collide_and_are_hard(rng: Rng) -> Case:
    lines = ["p0,p1,must-link,true", "p0,p1,cannot-link,true"]
    files = {"t.csv": sheet(rng).csv(), "pairs.csv": pairs(*lines, head="i,j,kind,hard")}
    method = pick(rng, "auto", "PCKMeans", "KMedoids", "COPKMeans")
    return Case(cluster(*PAIRS, "--method", method), files, COLLIDES, ["p0", "p1"])


@hostile
def pairs_twice(rng: Rng) -> Case:
    table = sheet(rng)
    together = some(rng, table)
    turned = [(j, i) for i, j in together]
    lines = stated(table, together + turned + together, pick(rng, "must-link", "ML", " Must_Link "))
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*lines)}
    return Case(cluster(*PAIRS, "--method", "COPKMeans"), files, DONE, together=together)


@hostile
def a_wrong_kind(rng: Rng) -> Case:
    kind = pick(rng, "friends", "", "2", "must", "similar", SCRIPT, "label", "must-link!", "nan", "true")
    files = {"t.csv": sheet(rng).csv(), "pairs.csv": pairs("p0,p1,must-link", f"p2,p3,{kind}")}
    return Case(cluster(*PAIRS), files, FAILS, ["line 3"])


@hostile
def odd_strengths(rng: Rng) -> Case:
    column, value, ends = pick(
        rng,
        *[("weight", value, FAILS) for value in ("-1", "inf", "-inf", "heavy", "1e400", "1,5", "--")],
        *[("weight", value, DONE) for value in ("0", "1e-300", "", "1e300", "3")],
        ("weight", "nan", ANY),
        *[("confidence", value, FAILS) for value in ("0.5", "0", "1.1", "-1", "sure", "95%", "inf")],
        *[("confidence", value, DONE) for value in ("1", "0.51", "")],
        ("confidence", "nan", ANY),
        *[("hard", value, FAILS) for value in ("maybe", "2", "-", "hard")],
        *[("hard", value, DONE) for value in ("TRUE", "no", "1", "")],
        *[("source", value, DONE) for value in (SCRIPT, "", "nan", "x" * 5000)],
    )
    cell = f'"{value}"' if "," in value else value
    lines = pairs("p0,p1,must-link,", f"p2,p3,cannot-link,{cell}", head=f"i,j,kind,{column}")
    return Case(cluster(*PAIRS), {"t.csv": sheet(rng).csv(), "pairs.csv": lines}, ends, ["line 3", column])


@hostile
def letters_of_pairs_that_were_changed(rng: Rng) -> Case:
    table = sheet(rng)
    text = list(pairs(*stated(table, some(rng, table, 4), pick(rng, "must-link", "cannot-link"))))
    for _ in range(int(rng.integers(1, 5))):
        text[int(rng.integers(len(text)))] = pick(
            rng, *',;"\n\r\t p-01', "é", "", ",,", '""', "\n\n", "\0", "\x1b"
        )
    return Case(cluster(*PAIRS), {"t.csv": table.csv(), "pairs.csv": "".join(text)}, ANY)


@hostile
def odd_heads_of_pairs(rng: Rng) -> Case:
    head, line, ends = pick(
        rng, ("i,j", "p0,p1", FAILS), ("j,kind", "p0,must-link", FAILS), ("i,kind", "p0,must-link", FAILS),
        ("i,j,kind,kind", "p0,p1,must-link,must-link", FAILS), ("I,J,KIND", "p0,p1,must-link", ANY),
        (" i , j , kind ", "p0,p1,must-link", DONE), ("i;j;kind", "p0;p1;must-link", ANY),
        ("kind,j,i", "must-link,p0,p1", DONE), ("i,j,kind,wieght", "p0,p1,must-link,2", FAILS),
        ("i,j,kind,remark", "p0,p1,must-link,so", DONE), ("i,j,kind,", "p0,p1,must-link,", ANY),
        ("\ufeffi,j,kind", "p0,p1,must-link", DONE), ("p0,p1,must-link", "p2,p3,must-link", FAILS),
        ("id1,id2,type", "p0,p1,must-link", FAILS), ("i,j,kind\n\n", "p0,p1,must-link\n\n", DONE),
        ("# remark\ni,j,kind", "p0,p1,must-link", FAILS), ("i,j,kind\r", "p0,p1,must-link\r", DONE),
    )  # fmt: skip
    return Case(cluster(*PAIRS), {"t.csv": sheet(rng).csv(), "pairs.csv": pairs(line, head=head)}, ends)


@hostile
def files_of_pairs_that_are_none(rng: Rng) -> Case:
    good = pairs("p0,p1,must-link")
    content, ends = pick(
        rng, (b"", FAILS), (b"\n\n", FAILS), (good.replace("p1", "é").encode("latin-1"), FAILS),
        (good.encode("utf-16"), FAILS), (rng.bytes(300), FAILS),
        (good.encode() + b'"p2,p3,must-link\n', FAILS), (good.encode() + b"p2,p3\n", FAILS),
        (good.encode() + b"p2,p3,must-link,1\n", FAILS),
        (good.encode() + b"x" * 200_000 + b",p3,must-link\n", FAILS),
        (good.encode() + b"p2\0,p3,must-link\n", FAILS), (b"i,j,kind\n", ANY), (b"i,j,kind", ANY),
    )  # fmt: skip
    return Case(cluster(*PAIRS), {"t.csv": sheet(rng).csv(), "pairs.csv": content}, ends, ["pairs.csv"])


@hostile
def places_that_hold_no_pairs(rng: Rng) -> Case:
    files = {"t.csv": sheet(rng).csv(), "x.csv": pairs()}
    name = pick(
        rng, "none.csv", "dir.csv", "pipe.csv", "link.csv", "", "t.csv", "t.csv/x.csv", "n" * 300 + ".csv",
        "/dev/null",
    )  # fmt: skip
    return Case(
        cluster("--pairs", name), files, FAILS, folders=["dir.csv"], pipes=["pipe.csv"],
        links={"link.csv": "nowhere"},
    )  # fmt: skip


@hostile
def pairs_in_other_formats(rng: Rng) -> Case:
    table = sheet(rng)
    together = some(rng, table)
    rows = [{"i": table.rows[i][0], "j": table.rows[j][0], "kind": "must-link"} for i, j in together]
    frame, target = pl.DataFrame(rows), io.BytesIO()
    frame.write_parquet(target)
    columns = {name: frame[name].to_list() for name in frame.columns}
    name, content, ends = pick(
        rng,
        ("p.tsv", frame.write_csv(separator="\t"), DONE),
        ("p.jsonl", frame.write_ndjson(), DONE),
        ("p.parquet", target.getvalue(), DONE),
        ("p.json", json.dumps({"format": "coterie-constraints", "table": columns}), DONE),
        ("P.CSV", frame.write_csv(), DONE),
        ("p.txt", frame.write_csv(), FAILS),
        ("p", frame.write_csv(), FAILS),
        ("p.json", json.dumps(rows), DONE),
        ("p.json", json.dumps({"format": "coterie-constraints", "table": 7}), FAILS),
        ("p.json", json.dumps({"format": "coterie-constraints", "table": {"i": 7}}), FAILS),
        ("p.json", json.dumps({"format": "coterie-constraints", "table": columns, "ids": [1]}), ANY),
        ("p.json", json.dumps({"format": "coterie-constraints", "table": columns, "n_items": "x"}), ANY),
        ("p.json", "[" * 5000, FAILS),
        ("p.json", b"\xff\xfe", FAILS),
        ("p.parquet", target.getvalue()[:-20], FAILS),
        ("p.parquet", b"", FAILS),
        ("p.tsv", "", FAILS),
        ("p.jsonl", "[1]", FAILS),
        ("p.npy", b"\x93NUMPY", FAILS),
        ("p.csv.gz", frame.write_csv(), FAILS),
    )  # fmt: skip
    words = cluster("--pairs", name, "--method", "COPKMeans")
    return Case(words, {"t.csv": table.csv(), name: content}, ends, together=together if ends == DONE else ())


@hostile
def row_numbers_that_are_none(rng: Rng) -> Case:
    i, ends = pick(
        rng,
        ("3", DONE),
        ("+3", DONE),
        *[(text, FAILS) for text in ("-1", "1.5", "x", "99999", "1e1", "9" * 30, "", "NaN", "true")],
        ("3.0", ANY),
        ("٣", ANY),
    )
    files = {"t.csv": sheet(rng).csv(), "pairs.csv": pairs("0,1,must-link", f"{i},2,must-link")}
    return Case(cluster(*PAIRS, "--drop", "id", id=False), files, ends, ["line 3"])


@hostile
def everything_in_one_piece(rng: Rng) -> Case:
    table = sheet(rng)
    n = len(table.rows)
    chain = [(at, at + 1) for at in range(n - 1)]
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*stated(table, chain, "must-link"))}
    method = pick(rng, "auto", "COPKMeans", "PCKMeans", "KMedoids", "SizeConstrainedKMeans")
    return Case(cluster(*PAIRS, "--method", method, k=pick(rng, 1, 2, 3)), files, ANY)


@hostile
def labels_and_groups(rng: Rng) -> Case:
    table = sheet(rng)
    n = len(table.rows)
    cells = pick(
        rng, ["a", "b"] + [""] * (n - 2), [""] * n, [f"c{at}" for at in range(n)], ["same"] * n,
        [str(at % 2) for at in range(n)], ["-1", "0", "1"] + [""] * (n - 3), ["0.5", "1.5"] + [""] * (n - 2),
        ["1.0", "2.0"] + [""] * (n - 2), [SCRIPT, "b"] + [""] * (n - 2), ["true", "false"] + [""] * (n - 2),
        ["2024-01-01"] * 2 + [""] * (n - 2), ["a", "b", "c", "d"] + [""] * (n - 4),
    )  # fmt: skip
    table.add("what", cells)
    option = pick(rng, "--labels", "--distinct", "--across")
    more = pick(rng, [], ["--columns", "what"], ["--drop", "what"], ["--labels", "what", "--across", "what"])
    return Case(cluster(option, "what", *more), {"t.csv": table.csv()}, ANY)


@hostile
def methods_that_do_not_take_it(rng: Rng) -> Case:
    table = sheet(rng)
    table.add("what", ["a", "b", *[""] * (len(table.rows) - 2)])
    methods = (
        "SeededKMeans", "ConstrainedSeedKMeans", "KMedoids", "SizeConstrainedKMedians", "COPKMeans",
        "nomethod", "",
    )  # fmt: skip
    more = pick(
        rng, [], ["--labels", "what"], [*PAIRS], ["--size-max", "99"], ["--metric", "cosine"],
        ["--across", "what"],
    )  # fmt: skip
    words = cluster("--method", pick(rng, *methods), "--drop", "what", *more)
    return Case(words, {"t.csv": table.csv(), "pairs.csv": pairs("p0,p1,must-link")}, ANY)
