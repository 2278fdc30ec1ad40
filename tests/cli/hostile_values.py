"""Hostile values and shapes: what stands in the cells, and how many there are."""

from tests.cli.hostile_cases import (
    ANY,
    DONE,
    FAILS,
    SCRIPT,
    Case,
    Rng,
    Sheet,
    cluster,
    hostile,
    pick,
    saved,
    sheet,
)

# ---- values -------------------------------------------------------------------------------------------


def with_cell(rng: Rng, value: str) -> Sheet:
    """A table in which one number is something else."""
    table = sheet(rng)
    table.rows[int(rng.integers(len(table.rows)))][1] = value
    return table


@hostile
def missing_values(rng: Rng) -> Case:
    table = with_cell(rng, pick(rng, "", "NA", "nan", "?", "null", " ", "N/A"))
    impute = bool(rng.random() < 0.5)
    more = ["--impute"] if impute else []
    return Case(cluster(*more), {"t.csv": table.csv()}, DONE if impute else FAILS, ["x0", "--impute"])


@hostile
def words_for_nothing(rng: Rng) -> Case:
    table = with_cell(rng, pick(rng, "-", "#N/A", "n/a", ".", "none", "missing", "-99", "NaT", "<NA>"))
    return Case(cluster(*pick(rng, [], ["--impute"], ["--numeric", "x0"])), {"t.csv": table.csv()}, ANY)


@hostile
def numbers_beyond(rng: Rng) -> Case:
    value = pick(
        rng, "inf", "-inf", "Infinity", "1e308", "-1e308", "1e400", "1e-320", "1e155", "9" * 25, "1e200"
    )
    table = with_cell(rng, value)
    if rng.random() < 0.4:
        table.rows[0][2] = "-1e308"
    more = pick(rng, [], ["--no-scale"], ["--impute"], ["--numeric", "x0"], ["--metric", "cosine"])
    return Case(cluster(*more), {"t.csv": table.csv()}, ANY)


@hostile
def tiny_and_huge_columns(rng: Rng) -> Case:
    table = sheet(rng)
    by = pick(rng, 1e-320, 1e-300, 1e-160, 1e150, 1e300, 2.0**1000)
    for row in table.rows:
        row[1:] = [repr(float(cell) * by) for cell in row[1:]]
    return Case(cluster(*pick(rng, [], ["--no-scale"])), {"t.csv": table.csv()}, ANY)


@hostile
def whole_numbers_beyond_64_bits(rng: Rng) -> Case:
    table = sheet(rng)
    start = pick(rng, 2**53, 2**63 - 4, 2**64, 10**30)
    for at, row in enumerate(table.rows):
        row[1] = str(start + at)
    return Case(
        cluster(*pick(rng, [], ["--numeric", "x0"], ["--category", "x0"])), {"t.csv": table.csv()}, ANY
    )


@hostile
def mixed_kinds(rng: Rng) -> Case:
    table = with_cell(
        rng, pick(rng, "many", "3 apples", "12,5", "1.2.3", "0x1F", "1_000", "1e", "TRUE", "٣", "½")
    )
    return Case(cluster(*pick(rng, [], ["--numeric", "x0"], ["--drop", "x0"])), {"t.csv": table.csv()}, ANY)


@hostile
def true_and_false(rng: Rng) -> Case:
    table, words = (
        sheet(rng),
        pick(rng, ("true", "false"), ("TRUE", "False"), ("yes", "no"), ("0", "1"), ("t", "f")),
    )
    table.add("flag", [words[at % 2] for at in range(len(table.rows))])
    return Case(cluster(), {"t.csv": table.csv()}, DONE)


@hostile
def dates(rng: Rng) -> Case:
    table = sheet(rng, 12)
    forms = (
        "2024-01-{:02}", "2024-02-{:02}T10:00:00Z", "{:02}/13/2024", "2024-13-{:02}", "20240{:02}", "1/{}/24",
    )  # fmt: skip
    form = pick(rng, *forms)
    cells = [form.format(at + 20) for at in range(12)]
    if rng.random() < 0.3:
        cells[3] = pick(rng, "2023-02-30", "yesterday", "", "9999-12-31", "-0001-01-01", "2024-01-01T25:00")
    table.add("day", cells)
    more = pick(rng, [], ["--numeric", "day"], ["--text", "day"], ["--impute"])
    return Case(cluster(*more), {"t.csv": table.csv()}, ANY)


@hostile
def text_without_words(rng: Rng) -> Case:
    table = sheet(rng)
    words = pick(
        rng, ("the and of",), ("", " "), ("!!!", "..."), ("🙂",), ("a", "b"), ("the", "one dog"), (SCRIPT,)
    )
    table.add("text", [pick(rng, *words) for _ in table.rows])
    more = pick(rng, [], ["--columns", "text"], ["--impute"], ["--columns", "text", "--impute"])
    return Case(cluster("--text", "text", *more), {"t.csv": table.csv()}, ANY)


@hostile
def many_categories(rng: Rng) -> Case:
    table = sheet(rng, int(rng.integers(200, 260)))
    table.add("code", [f"c{int(rng.integers(200))}" for _ in table.rows])
    more = pick(rng, [], ["--category", "code"], ["--category", "id,code"], ["--category", "x0"])
    return Case(cluster(*more, id="id,code" not in more), {"t.csv": table.csv()}, DONE)


@hostile
def constant_columns(rng: Rng) -> Case:
    table = sheet(rng)
    every = bool(rng.random() < 0.5)
    value = pick(rng, "1", "0", "same", "1e300")
    for row in table.rows:
        row[1 if not every else slice(1, None)] = value if not every else [value] * (len(row) - 1)
    return Case(
        cluster(*pick(rng, [], ["--no-scale"])), {"t.csv": table.csv()}, FAILS if every else DONE, ["t.csv"]
    )


@hostile
def a_column_of_nothing(rng: Rng) -> Case:
    table = sheet(rng)
    table.add("void", [pick(rng, "", "NA") for _ in table.rows])
    more = pick(rng, [], ["--impute"], ["--numeric", "void", "--impute"], ["--text", "void", "--impute"])
    return Case(cluster(*more), {"t.csv": table.csv()}, ANY)


@hostile
def kinds_that_do_not_fit(rng: Rng) -> Case:
    table = sheet(rng)
    table.add("name", [f"n{at % 3}" for at in range(len(table.rows))])
    more, ends = pick(
        rng,
        (["--numeric", "name"], FAILS),
        (["--category", "x0"], DONE),
        (["--text", "x0"], ANY),
        (["--numeric", "x0", "--category", "x0"], ANY),
        (["--columns", "x0", "--drop", "x0"], FAILS),
        (["--columns", "x0,nothing"], FAILS),
        (["--columns", "id"], ANY),
        (["--columns", ","], ANY),
        (["--columns", ""], ANY),
        (["--columns", "x0", "--text", "name"], ANY),
        (["--drop", ",".join(table.head[1:])], FAILS),
        (["--drop", "x0,x0"], DONE),
        (["--category", "no such"], FAILS),
    )
    return Case(cluster(*more), {"t.csv": table.csv()}, ends)


# ---- shapes -------------------------------------------------------------------------------------------


@hostile
def few_rows(rng: Rng) -> Case:
    n, k = pick(rng, (1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3))
    more = pick(rng, [], ["--no-scale"], ["--size-min", "1"])
    return Case(cluster(*more, k=k), {"t.csv": sheet(rng, n).csv()}, ANY if k <= n else FAILS)


@hostile
def as_many_clusters_as_rows(rng: Rng) -> Case:
    table = sheet(rng)
    k = len(table.rows) + pick(rng, 0, 0, 1)
    method = pick(rng, "auto", "PCKMeans", "KMedoids", "SizeConstrainedKMedians", "SizeConstrainedKMeans")
    ends = DONE if k == len(table.rows) else FAILS
    return Case(cluster("--method", method, k=k), {"t.csv": table.csv()}, ends, [f"-k {k}"])


@hostile
def ten_thousand_columns(rng: Rng) -> Case:
    n = int(rng.integers(4, 8))
    ending = pick(rng, ".csv", ".npy", ".parquet")
    words = cluster(data=f"t{ending}", id=False)
    table = sheet(rng, n, 10_000)
    return Case(words, {f"t{ending}": saved(ending, table)}, DONE, slow=True)


@hostile
def rows_that_are_the_same(rng: Rng) -> Case:
    table = sheet(rng)
    for row in table.rows[pick(rng, 0, 1, 2) :]:
        row[1:] = table.rows[-1][1:]
    method = pick(rng, "auto", "PCKMeans", "KMedoids", "SizeConstrainedKMedians", "SizeConstrainedKMeans")
    return Case(cluster("--method", method, k=pick(rng, 2, 4)), {"t.csv": table.csv()}, ANY)


@hostile
def nothing_but_ids(rng: Rng) -> Case:
    table = sheet(rng, columns=pick(rng, 0, 1))
    more = pick(rng, ["--drop", "x0"], ["--columns", "id"]) if len(table.head) == 2 else []
    return Case(cluster(*more), {"t.csv": table.csv()}, FAILS if "id" not in more else ANY, ["t.csv"])
