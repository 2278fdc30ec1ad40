"""Hostile tables, as files of text: broken ones, odd headers, quotes and line ends."""

import csv
import gzip

from tests.cli.hostile_cases import (
    ANY,
    DONE,
    ENDINGS,
    FAILS,
    SCRIPT,
    STRANGE,
    Case,
    Rng,
    cluster,
    hostile,
    of_bytes,
    pick,
    saved,
    sheet,
)

# ---- files that are broken ----------------------------------------------------------------------------


@hostile
def an_empty_file(rng: Rng) -> Case:
    return of_bytes(rng, pick(rng, *ENDINGS), b"")


@hostile
def a_blank_file(rng: Rng) -> Case:
    blank = pick(rng, b"\n\n\n", b"   \n", b"\xef\xbb\xbf", b"\r\n", b"\t", b"\xef\xbb\xbf\n \n")
    return of_bytes(rng, pick(rng, ".csv", ".tsv", ".jsonl", ".mtx", ".csv.gz"), blank)


@hostile
def only_a_header(rng: Rng) -> Case:
    return of_bytes(
        rng, pick(rng, ".csv", ".tsv"), pick(rng, b"a,b", b"a,b\n", b"id\n", b"a\tb\r\n", b"a,b\n\n\n")
    )


@hostile
def ragged_rows(rng: Rng) -> Case:
    table = sheet(rng)
    at = int(rng.integers(len(table.rows)))
    row = table.rows[at]
    table.rows[at] = pick(rng, row[:-1], [*row, "1"], row[:1], [*row, "", ""])
    return Case(cluster(), {"t.csv": table.csv()}, FAILS, ["t.csv", f"line {at + 2}"])


@hostile
def another_encoding(rng: Rng) -> Case:
    table = sheet(rng)
    at = int(rng.integers(len(table.rows)))
    table.rows[at][0] = pick(rng, "café", "Müller", "Ærø")
    encoding = pick(rng, "latin-1", "utf-16", "utf-16-le", "cp1252", "utf-32")
    return Case(cluster(), {"t.csv": table.csv().encode(encoding)}, FAILS, ["t.csv", "UTF-8"])


@hostile
def a_byte_order_mark(rng: Rng) -> Case:
    ending, separator = pick(rng, (".csv", ","), (".tsv", "\t"))
    data = sheet(rng).csv(separator).encode("utf-8-sig")
    return Case(cluster(data=f"t{ending}"), {f"t{ending}": data}, DONE, separator=separator)


@hostile
def zero_bytes(rng: Rng) -> Case:
    data = bytearray(sheet(rng).csv().encode())
    for _ in range(int(rng.integers(1, 4))):
        data.insert(int(rng.integers(len(data))), 0)
    return Case(cluster(), {"t.csv": bytes(data)}, ANY)


@hostile
def garbage(rng: Rng) -> Case:
    data = pick(rng, b"", b"PAR1", b"\x93NUMPY", b"PK\x03\x04", b"%%MatrixMarket ", b'{"a":') + rng.bytes(400)
    return of_bytes(rng, pick(rng, *ENDINGS, ".csv.gz"), data)


@hostile
def packed_under_a_wrong_name(rng: Rng) -> Case:
    return of_bytes(rng, pick(rng, *ENDINGS), gzip.compress(saved(".csv", sheet(rng)), mtime=0))


@hostile
def packed(rng: Rng) -> Case:
    data = gzip.compress(saved(".csv", sheet(rng)), mtime=0)
    whole = bool(rng.random() < 0.4)
    data = data if whole else pick(rng, data[: len(data) // 2], data[:-4], data[10:], data[:-8] + bytes(8))
    return of_bytes(rng, pick(rng, ".csv.gz", ".CSV.GZ"), data, DONE if whole else FAILS)


@hostile
def a_file_cut_short(rng: Rng) -> Case:
    ending = pick(rng, *ENDINGS)
    data = saved(ending, sheet(rng))
    data = data[: int(rng.integers(1, len(data)))]
    return of_bytes(rng, ending, data, FAILS if ending in (".parquet", ".npy", ".npz") else ANY)


@hostile
def bytes_that_were_changed(rng: Rng) -> Case:
    ending = pick(rng, *ENDINGS)
    data = bytearray(saved(ending, sheet(rng)))
    for _ in range(int(rng.integers(1, 6))):
        data[int(rng.integers(len(data)))] = int(rng.integers(256))
    return of_bytes(rng, ending, bytes(data), ANY)


@hostile
def letters_that_were_changed(rng: Rng) -> Case:
    ending = pick(rng, ".csv", ".csv", ".tsv", ".jsonl", ".mtx")
    text = list(saved(ending, sheet(rng)).decode())
    for _ in range(int(rng.integers(1, 6))):
        text[int(rng.integers(len(text)))] = pick(rng, *',;"\n\r\t {}[]%-eN0', "é", "", ",,", '""', "\n\n")
    return of_bytes(rng, ending, "".join(text).encode(), ANY)


# ---- headers and cells --------------------------------------------------------------------------------


@hostile
def a_name_twice(rng: Rng) -> Case:
    table = sheet(rng)
    table.head[2] = pick(rng, "x0", "id", " x0 ")
    return Case(cluster(), {"t.csv": table.csv()}, FAILS, ["t.csv", "twice"])


@hostile
def a_column_without_a_name(rng: Rng) -> Case:
    table = sheet(rng)
    at = pick(rng, 0, 1, 2)
    table.head[at] = pick(rng, "", "  ")
    return Case(
        cluster(id=bool(at)), {"t.csv": table.csv()}, FAILS if at else DONE, ["t.csv", f"column {at + 1}"]
    )


@hostile
def strange_names(rng: Rng) -> Case:
    table = sheet(rng, columns=4)
    table.head[1:] = rng.choice(STRANGE, 4, replace=False).tolist()
    if any(not name.strip() for name in table.head):
        return Case(cluster(), {"t.csv": table.csv()}, FAILS)
    patterns = {"*", "^x.*$"} & set(table.head)  # they stand for many columns in the library below
    return Case(cluster(), {"t.csv": table.csv()}, ANY if patterns else DONE)


@hostile
def strange_cells(rng: Rng) -> Case:
    table = sheet(rng, 24)
    table.add(pick(rng, "what", SCRIPT), [pick(rng, *STRANGE[:6], "plain") for _ in table.rows])
    return Case(cluster("--category", table.head[-1]), {"t.csv": table.csv()}, DONE)


@hostile
def one_endless_cell(rng: Rng) -> Case:
    table = sheet(rng)
    words = pick(rng, "word " * 40_000, "x" * 200_000)
    table.add("text", [words, *("a few other words" for _ in table.rows[1:])])
    if rng.random() < 0.3:
        table.head[-1] = "n" * 200_000
        return Case(cluster(), {"t.csv": table.csv()}, ANY)
    return Case(cluster("--text", "text"), {"t.csv": table.csv()}, DONE)


@hostile
def another_separator(rng: Rng) -> Case:
    mark = pick(rng, ";", "\t", "|", " ")
    ends, id = (DONE, True) if mark in ";\t" else (ANY, False)
    return Case(cluster(id=id), {"t.csv": sheet(rng).csv(mark)}, ends, separator=mark if id else ",")


@hostile
def decimal_commas(rng: Rng) -> Case:
    mark = pick(rng, ";", ",")
    text = sheet(rng).csv("\t").replace(".", ",").replace("\t", mark)
    return Case(cluster(), {"t.csv": text}, DONE if mark == ";" else FAILS, separator=mark)


@hostile
def line_ends(rng: Rng) -> Case:
    table, end = sheet(rng), pick(rng, "\r\n", "\r", "\n")
    text = table.csv(end=end)
    text = pick(rng, text, text.rstrip(), text + end * 3, end * 2 + text, text.replace(end, end * 2, 4))
    return Case(cluster(), {"t.csv": text}, DONE)


@hostile
def mixed_line_ends(rng: Rng) -> Case:
    lines = sheet(rng).csv().splitlines()
    return Case(cluster(), {"t.csv": "".join(line + pick(rng, "\n", "\r\n", "\r") for line in lines)}, ANY)


@hostile
def line_breaks_in_quotes(rng: Rng) -> Case:
    table, end = sheet(rng), pick(rng, "\n", "\r\n")
    for row in table.rows[::2]:
        row[0] += pick(rng, "\nmore", "\n\n", ' "so" ', ",", "\r\nmore", " ")
    table.add("says", [f"a long story{end}number {at % 3}, and so on" for at in range(len(table.rows))])
    return Case(cluster(), {"t.csv": table.csv(end=end)}, DONE)


@hostile
def quotes(rng: Rng) -> Case:
    table = sheet(rng)
    if rng.random() < 0.3:
        return Case(cluster(), {"t.csv": table.csv(quoting=csv.QUOTE_ALL)}, DONE)
    text = table.csv()
    at = int(rng.integers(len(text)))
    return Case(cluster(), {"t.csv": text[:at] + pick(rng, '"', '""', "'") + text[at:]}, ANY)


@hostile
def remarks(rng: Rng) -> Case:
    mark, text = pick(rng, "# made by a tool", "sep=,", "Report of 2024,,", "// x"), sheet(rng).csv()
    at_top = bool(rng.random() < 0.7)
    return Case(cluster(), {"t.csv": f"{mark}\n{text}" if at_top else f"{text}{mark}\n"}, ANY)
