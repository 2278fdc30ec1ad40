"""Hostile matrices, Parquet files and JSON lines."""

import io
import json
from collections.abc import Callable

import numpy as np
import polars as pl

from tests.cli.hostile_cases import ANY, DONE, FAILS, STRANGE, Case, Rng, cluster, hostile, of_bytes, pick

# ---- matrices, Parquet, JSON lines --------------------------------------------------------------------


def npy(array: object) -> bytes:
    target = io.BytesIO()
    np.save(target, array, allow_pickle=True)
    return target.getvalue()


@hostile
def odd_arrays(rng: Rng) -> Case:
    X = rng.normal(size=(9, 3))
    hole, beyond = X.copy(), X.copy()
    hole[2, 1], beyond[4, 0] = np.nan, np.inf
    data, ends = pick(
        rng,
        (npy(np.array([{}, []], dtype=object)), FAILS),
        (npy(np.array(1.5)), FAILS),
        (npy(X[:, 0]), DONE),
        (npy(X.reshape(3, 3, 3)), FAILS),
        (npy(X + 1j), FAILS),
        (npy(X[:0]), FAILS),
        (npy(X[:, :0]), FAILS),
        (npy(X.astype(np.float16)), DONE),
        (npy(X > 0), DONE),
        (npy(np.array([["a", "b"], ["c", "d"]])), FAILS),
        (npy(np.zeros(4, [("a", "i4"), ("b", "f8")])), FAILS),
        (npy(np.asfortranarray(X)), DONE),
        (npy(X.astype(">f8")), DONE),
        (npy(np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")), FAILS),
        (npy(hole), FAILS),
        (npy(beyond), FAILS),
        (npy((X * 100).astype(np.int8)), DONE),
        (npy(X).replace(b"(9, 3)", b"(9, 3)"[:1] + b"900000000000, 3)"), FAILS),
        (npy(X).replace(b"(9, 3)", b"(-9,3)"), FAILS),
        (npy(X).replace(b"'<f8'", b"'|O8'"), FAILS),
    )
    return of_bytes(rng, ".npy", data, ends)


@hostile
def odd_archives(rng: Rng) -> Case:
    from scipy import sparse

    X = rng.normal(size=(9, 3))

    def pack(save: Callable[..., None], *arrays: object, **named: object) -> bytes:
        target = io.BytesIO()
        save(target, *arrays, **named)
        return target.getvalue()

    bad = sparse.csr_matrix(X)
    bad.indices = bad.indices + pick(rng, 100, -100)
    data, ends = pick(
        rng,
        (pack(np.savez, X, X), FAILS),
        (pack(np.savez), FAILS),
        (pack(np.savez_compressed, table=X), DONE),
        (pack(np.savez, np.array([{}], dtype=object)), FAILS),
        (pack(np.savez, X)[:-30], FAILS),
        (pack(sparse.save_npz, sparse.csr_matrix(X)), DONE),
        (pack(sparse.save_npz, sparse.coo_matrix(X)), DONE),
        (pack(sparse.save_npz, sparse.csr_matrix((9, 3))), ANY),
        (
            pack(
                np.savez, data=bad.data, indices=bad.indices, indptr=bad.indptr, format=b"csr", shape=(9, 3)
            ),
            FAILS,
        ),
        (pack(np.savez, format="csr", shape=(9, 3)), FAILS),
        (npy(X), FAILS),
    )
    return of_bytes(rng, ".npz", data, ends)


@hostile
def odd_matrix_market(rng: Rng) -> Case:
    head = "%%MatrixMarket matrix coordinate "
    text, ends = pick(
        rng,
        ("4 4 1\n1 1 1\n", FAILS),
        ("%%MatrixMarket matrix what real general\n2 2 1\n1 1 1\n", FAILS),
        (head + "pattern general\n4 3 4\n1 1\n2 2\n3 3\n4 1\n", DONE),
        (head + "complex general\n4 3 2\n1 1 1 2\n2 2 1 1\n", FAILS),
        (head + "real general\n4 3 4\n1 1 -1\n2 2 -2\n3 3 -3\n4 1 -4\n", DONE),
        (head + "real general\n0 3 0\n", FAILS),
        (head + "real general\n3 3 0\n", ANY),
        (head + "real general\n4 3 5\n1 1 1\n", FAILS),
        (head + "real general\n4 3 1\n9 9 1\n", FAILS),
        (head + "real general\n4 3 1\n0 0 1\n", FAILS),
        (head + "real general\n4 3 4\n1 1 1\n1 1 2\n2 2 3\n4 3 1\n", ANY),
        (head + "real general\n4 3 4\n1 1 nan\n2 2 inf\n3 1 1\n4 1 1\n", FAILS),
        (head + "integer symmetric\n3 3 3\n1 1 1\n2 1 5\n3 3 9\n", DONE),
        (head + "real general\n999999999999 3 1\n1 1 1\n", FAILS),
        (head + "real general\n90000000 90000000 1\n1 1 1\n", ANY),
        (head + "real general\n% remark\n\n4 3 4\n1 1 1\n2 2 2\n3 3 3\n4 1 4\n", ANY),
        ("%%MatrixMarket matrix array real general\n4 1\n1\n2\n9\nx\n", FAILS),
    )
    return of_bytes(rng, ".mtx", text.encode(), ends)


@hostile
def a_matrix_has_no_columns_of_yours(rng: Rng) -> Case:
    more = pick(
        rng, ["--id", "id"], ["--columns", "x"], ["--labels", "y"], ["--text", "column 0"], ["--map", "a,b"]
    )
    ends = ANY if "--text" in more else FAILS
    return Case(cluster(*more, data="t.npy", id=False), {"t.npy": npy(rng.normal(size=(9, 3)))}, ends)


@hostile
def odd_parquet(rng: Rng) -> Case:
    if rng.random() < 0.15:
        return parquet_without_rows_or_columns(rng)
    n, x = 12, rng.normal(size=12).round(3).tolist()
    column = pick(
        rng,
        pl.Series("odd", [[1, 2]] * n),
        pl.Series("odd", [{"a": 1, "b": None}] * n),
        pl.Series("odd", [None] * n),
        pl.Series("odd", ["a", "b", "c"] * 4, dtype=pl.Categorical),
        pl.Series("odd", [b"\xff"] * n),
        pl.Series("odd", range(n)).cast(pl.Decimal(10, 2)),
        pl.Series("odd", range(n)).cast(pl.Duration("ms")),
        pl.Series("odd", range(n)).cast(pl.Time),
        pl.Series("odd", [2**64 - 1 - at for at in range(n)], dtype=pl.UInt64),
        pl.Series("odd", [*x[:-1], float("nan")]),
        pl.Series("odd", [*x[:-1], float("-inf")]),
        pl.Series("odd", ["a", None] * 6, dtype=pl.Enum(["a", "b"])),
        pl.Series(pick(rng, "", " ", *STRANGE), x),
    )
    more = pick(
        rng, [], ["--drop", "odd"], ["--id", "odd"], ["--impute"], ["--labels", "odd"], ["--text", "odd"]
    )
    target = io.BytesIO()
    pl.DataFrame([pl.Series("x", x), column]).write_parquet(target)
    return Case(cluster(*more, data="t.parquet", id=False), {"t.parquet": target.getvalue()}, ANY)


def parquet_without_rows_or_columns(rng: Rng) -> Case:
    """Whole files that hold nothing."""
    target = io.BytesIO()
    pick(rng, pl.DataFrame({"a": []}), pl.DataFrame(), pl.DataFrame({"a": [1.0, 2.0]}).head(0)).write_parquet(
        target
    )
    return of_bytes(rng, ".parquet", target.getvalue())


@hostile
def odd_json_lines(rng: Rng) -> Case:
    rows = [{"id": f"p{at}", "x": at % 7, "y": at * 0.5} for at in range(12)]
    lines = [json.dumps(row) for row in rows]
    odd, ends = pick(
        rng,
        ('{"id": "q", "x": {"deep": [1]}, "y": 1}', FAILS),
        ('{"id": "q", "x": "text", "y": 1}', ANY),
        ('{"id": "q"}', FAILS),
        ('{"id": "q", "x": 1, "y": 2, "z": 3}', ANY),
        ('{"id": "q", "x": 1, "y": ', FAILS),
        ("[1, 2]", FAILS),
        ("7", FAILS),
        ('"text"', FAILS),
        ("null", ANY),
        ("{}", FAILS),
        ("", DONE),
        ('{"id": "q", "x": NaN, "y": 1}', FAILS),
        ('{"id": "q", "x": 1, "x": 2, "y": 1}', ANY),
        ('{"id": "\\ud800", "x": 1, "y": 1}', ANY),
        ('{"id": "<script>", "x": 1, "y": 1}', DONE),
        ('{"id": null, "x": 1, "y": 1}', FAILS),
        ('{"id": 7, "x": 1, "y": 1}', ANY),
        ('{"id": "q", "x": 1e999, "y": 1}', FAILS),
        ('{"id": "q", "x": 123456789012345678901234567890, "y": 1}', ANY),
        ("[" * 5000, FAILS),
        ('{"id": "q", "x": ' + "[" * 5000 + "]" * 5000 + "}", FAILS),
        ('{"": 1}', ANY),
    )
    lines.insert(int(rng.integers(len(lines))), odd)
    text = "\n".join(lines)
    if rng.random() < 0.2:
        other = (
            '[{"x": 1}, {"x": 2}]',
            '[\n{"x": 1},\n{"x": 2}\n]',
            '{"x": [1, 2]}',
            '{\n"x": 1\n}',
            "nonsense",
        )
        text, ends = pick(rng, *other), FAILS
    return Case(cluster(data="t.jsonl"), {"t.jsonl": text}, ends)
