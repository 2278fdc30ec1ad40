"""Hostile bounds on sizes and groups, loads and weights."""

from tests.cli.hostile_cases import (
    ANY,
    DONE,
    FAILS,
    REFUSED,
    SCRIPT,
    Case,
    Rng,
    cluster,
    hostile,
    pick,
    sheet,
)
from tests.cli.hostile_statements import PAIRS, pairs, stated

# ---- bounds, loads, weights ---------------------------------------------------------------------------


@hostile
def bounds_on_sizes(rng: Rng) -> Case:
    table = sheet(rng, 20)
    more, ends, sizes = pick(
        rng,
        (["--size-min", "10"], DONE, (10, 10)),
        (["--size-min", "11"], REFUSED, None),
        (["--size-max", "9"], REFUSED, None),
        (["--size-max", "10"], DONE, (10, 10)),
        (["--size-min", "8", "--size-max", "12"], DONE, (8, 12)),
        (["--size-min", "12", "--size-max", "8"], REFUSED, None),
        (["--size-min", "-1"], FAILS, None),
        (["--size-min", "0"], DONE, (0, 20)),
        (["--size-max", "0"], REFUSED, None),
        (["--size-min", "1.0", "--size-max", "1.0"], DONE, (10, 10)),
        (["--size-min", "0.5"], DONE, (5, 15)),
        (["--size-min", "1.5"], REFUSED, None),
        (["--size-max", "0.9"], REFUSED, None),
        (["--size-max", "999999999999"], DONE, (0, 20)),
        (["--size-min", "5,15"], DONE, (5, 15)),
        (["--size-min", "15,15"], REFUSED, None),
        (["--size-min", "5,5,5"], REFUSED, None),
        (["--size-min", "5,,5"], FAILS, None),
        (["--size-min", "5,"], FAILS, None),
        (["--size-min", " 5 , 5 "], DONE, (5, 15)),
        (["--size-min", "5,nan"], FAILS, None),
        (["--size-min", "-0.5"], FAILS, None),
    )
    return Case(cluster(*more), {"t.csv": table.csv()}, ends, ["size"], sizes=sizes)


@hostile
def bounds_that_are_no_numbers(rng: Rng) -> Case:
    option = pick(rng, "--size-min", "--size-max", "--group-min", "--group-max")
    text = pick(
        rng,
        "many",
        "",
        "nan",
        "inf",
        "1e999",
        "0x10",
        "1_0",
        "٣",
        "∞",
        "5%",
        "1;2",
        ",",
        "[1,2]",
        "9" * 400,
        "-",
        "1e-400",
    )
    table = sheet(rng)
    table.add("g", [str(at % 2) for at in range(len(table.rows))])
    group = ["--group", "g"] if "group" in option else ["--drop", "g"]
    return Case(cluster(option, text, *group), {"t.csv": table.csv()}, ANY, ["--"])


@hostile
def loads(rng: Rng) -> Case:
    table = sheet(rng, 16)
    cells, ends = pick(
        rng,
        (["0"] * 16, ANY),
        (["-1"] * 16, FAILS),
        (["", *["1"] * 15], FAILS),
        (["inf", *["1"] * 15], FAILS),
        (["heavy", *["1"] * 15], FAILS),
        (["1e300"] * 16, ANY),
        (["1e308"] * 16, ANY),
        (["100", *["1"] * 15], ANY),
        ([str(1 + at % 3) for at in range(16)], ANY),
        (["1e-300"] * 16, ANY),
        (["0.1"] * 16, ANY),
        (["0", *["1"] * 15], ANY),
    )
    table.add("load", cells)
    more = pick(
        rng,
        ["--size-min", "5"],
        ["--size-max", "1.0"],
        ["--size-min", "1.0", "--size-max", "1.0"],
        ["--size-max", "40"],
    )
    return Case(cluster("--load", "load", *more), {"t.csv": table.csv()}, ends)


@hostile
def weights(rng: Rng) -> Case:
    table = sheet(rng, 16)
    cells, ends = pick(
        rng,
        (["0"] * 16, ANY),
        (["-1", *["1"] * 15], FAILS),
        (["", *["1"] * 15], FAILS),
        (["nan", *["1"] * 15], FAILS),
        (["text", *["1"] * 15], FAILS),
        (["1e300"] * 16, ANY),
        (["1e-300"] * 16, ANY),
        (["0", *["1"] * 15], DONE),
        (["0"] * 15 + ["1"], ANY),
        (["true", "false"] * 8, ANY),
    )
    table.add("w", cells)
    method = pick(rng, "auto", "PCKMeans", "KMedoids", "SizeConstrainedKMedians", "SizeConstrainedKMeans")
    return Case(cluster("--weight", "w", "--method", method), {"t.csv": table.csv()}, ends)


@hostile
def groups_in_every_cluster(rng: Rng) -> Case:
    table = sheet(rng, 16)
    cells = pick(
        rng,
        ["a", "b"] * 8,
        ["a", ""] * 8,
        ["same"] * 16,
        [f"g{at}" for at in range(16)],
        [SCRIPT, "b"] * 8,
        [""] * 16,
    )
    table.add("g", cells)
    more = pick(
        rng,
        ["--group-min", "2"],
        ["--group-min", "9"],
        ["--group-max", "1"],
        ["--group-max", "4"],
        ["--group-min", "0.5"],
        ["--group-min", "-1"],
        ["--group-min", "3", "--group-max", "2"],
        ["--group-min", "2", "--size-max", "8"],
        ["--group-min", "1,2"],
        [],
    )
    return Case(cluster("--group", "g", *more), {"t.csv": table.csv()}, ANY)


@hostile
def bounds_and_pairs(rng: Rng) -> Case:
    table = sheet(rng, 16)
    chain = [(at, at + 1) for at in range(pick(rng, 3, 7, 8, 12))]
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*stated(table, chain, "must-link"))}
    ends = DONE if len(chain) < 8 else REFUSED
    method = pick(rng, "auto", "SizeConstrainedKMeans", "SizeConstrainedKMedians")
    words = cluster(*PAIRS, "--size-max", "8", "--method", method)
    return Case(words, files, ends, sizes=(8, 8), together=chain)


@hostile
def text_with_statements(rng: Rng) -> Case:
    table = sheet(rng, 16, 1)
    table.add(
        "says",
        [pick(rng, "the dog barks", "stocks fell today", "", "the dog") + f" {at % 3}" for at in range(16)],
    )
    files = {"t.csv": table.csv(), "pairs.csv": pairs("p0,p1,must-link", "p2,p3,cannot-link")}
    more = pick(
        rng,
        ["--size-min", "3"],
        ["--method", "KMedoids"],
        ["--metric", "sqeuclidean"],
        ["--metric", "cosine"],
        [],
    )
    words = cluster(*PAIRS, "--columns", "says", "--text", "says", *more)
    return Case(words, files, DONE, together=[(0, 1)], apart=[(2, 3)])
