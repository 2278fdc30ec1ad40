"""Hostile words: paths, numbers, options, settings, places to write to, questions."""

from tests.cli.hostile_cases import (
    ANY,
    DONE,
    FAILS,
    SCRIPT,
    STRANGE,
    Case,
    Rng,
    cluster,
    hostile,
    pick,
    sheet,
)
from tests.cli.hostile_statements import PAIRS, pairs, some, stated

SETTINGS = (
    "=", "=1", "n_init", "n_init=", "n_init=0", "n_init=-1", "n_init=null", "n_init=[1]", "n_init=x",
    "n_init=true", "n_init=2.5", "n-init=2", "n_init=1e1", "n_init==2", "n_init=2=3", "max_iter=0",
    "max_iter=1", "max_iter=-5", "tol=-1", "tol=nan", "tol=NaN", "tol=inf", "tol=Infinity", "tol=-Infinity",
    "tol=x", "tol=1e-400", "init=random", "init=nothing", "init=[[0,0],[1,1]]", "init=7", "init=null",
    "init=[]", "init={}", 'init="<b>"', "metric=cosine", "metric=7", "random_state=5", "verbose=1",
    "n_clusters=3", "__class__=1", "weight=-1", "weight=0", "weight=nan", "weight=[1,2]", "weight=1e300",
    "copy=1", "size_min=3", "size_max=0", "size_min=null", 'size_min="x"', "size_min=[1,2]", "budget=0",
    "budget=-1", "budget=1", "n_jobs=0", "missing=1", "sample_weight=1", "order=random",
)  # fmt: skip

# ---- paths --------------------------------------------------------------------------------------------


@hostile
def no_file_there(rng: Rng) -> Case:
    names = (
        "none.csv", "dir.csv", "pipe.csv", "link.csv", "", ".", "t.csv/x.csv", "no/such/t.csv", "/dev/null",
    )  # fmt: skip
    more = ("tt.csv", "t.csv.", "T.csv", "dir.csv/", "t", "https://example.org/t.csv", "n" * 300 + ".csv")
    name = pick(rng, *names, *more)
    return Case(
        cluster(data=name),
        {"t.csv": sheet(rng).csv()},
        FAILS,
        folders=["dir.csv"],
        pipes=["pipe.csv"],
        links={"link.csv": "nowhere"},
    )


@hostile
def odd_names_of_files(rng: Rng) -> Case:
    name, ends = pick(
        rng,
        *[
            (name, DONE)
            for name in (
                "a b.csv",
                "名前.csv",
                "[x].csv",
                "*.csv",
                "%s{0}.csv",
                "~.csv",
                "$HOME.csv",
                "T.CSV",
            )
        ],
        *[
            (name, DONE)
            for name in (
                "a\nb.csv",
                "a.b.csv",
                "'.csv",
                "&lt;.csv",
                "deep/er/t.csv",
                "<b>.csv",
                ".hidden.csv",
            )
        ],
        *[(name, FAILS) for name in ("t", "t.xlsx", "t.csv.zip", ".csv", "t.txt", "t.csv~", "t.pickle")],
    )
    words = cluster(data=name)
    if rng.random() < 0.3:
        del words[words.index("-o") :]
    if rng.random() < 0.2 and "/" not in name:
        return Case(words, {"table": sheet(rng).csv()}, ends, links={name: "table"})
    return Case(words, {name: sheet(rng).csv()}, ends)


@hostile
def names_that_look_like_options(rng: Rng) -> Case:
    words = pick(rng, ["--", "-t.csv"], ["./-t.csv"], ["-t.csv"])
    ends = FAILS if words == ["-t.csv"] else DONE
    head = ["cluster", "-k", "2", "--id", "id", "-o", "out", "--no-report"]
    return Case([*head, *words], {"-t.csv": sheet(rng).csv()}, ends)


@hostile
def places_to_write_to(rng: Rng) -> Case:
    place, ends = pick(
        rng,
        *[
            (place, DONE)
            for place in ("deep/er/new", "a b", "名前", "out/", "./out", "empty", "-x", "[o]", "x" * 200)
        ],
        *[
            (place, FAILS)
            for place in ("t.csv", "t.csv/out", "full", "/dev/null/out", "/proc/out", "link", "..", ".")
        ],
        *[(place, FAILS) for place in ("", "x" * 300, "full/..", "pipe", "/")],
    )
    words = cluster()
    words[words.index("out")] = place
    more = pick(rng, [], ["--force"]) if place not in ("/",) else []
    return Case(
        [*words, *more],
        {"t.csv": sheet(rng).csv(), "full/precious.txt": "mine"},
        ends,
        folders=["empty"],
        links={"link": "nowhere"},
        pipes=["pipe"],
    )


@hostile
def a_run_that_is_there(rng: Rng) -> Case:
    force = bool(rng.random() < 0.5)
    words = cluster(*(["--force"] if force else []))
    words[words.index("out")] = "run"
    return Case(words, {"t.csv": sheet(rng).csv()}, DONE if force else FAILS, ["--force"], run={})


# ---- options ------------------------------------------------------------------------------------------


@hostile
def numbers_of_clusters(rng: Rng) -> Case:
    k, ends = pick(
        rng,
        *[(k, FAILS) for k in ("0", "-1", "x", "1.5", "1e3", "9" * 30, "", "2,3", "2x", "--id", "99")],
        *[(k, DONE) for k in ("1", "2", "02", " 3 ")],
        ("٣", ANY),
        ("1_0", ANY),
    )
    return Case(cluster(k=k), {"t.csv": sheet(rng, 12).csv()}, ends)


@hostile
def seeds(rng: Rng) -> Case:
    seed, ends = pick(
        rng,
        ("-1", FAILS),
        ("x", FAILS),
        ("1.5", FAILS),
        ("", FAILS),
        (str(2**32), FAILS),
        (str(2**32 - 1), DONE),
    )
    return Case(cluster("--seed", seed), {"t.csv": sheet(rng).csv()}, ends, ["--seed"])


@hostile
def words_typed_wrongly(rng: Rng) -> Case:
    words = pick(
        rng,
        cluster("--colour", "red"),
        cluster("--no-such"),
        cluster("--pairs"),
        cluster("--set"),
        cluster("extra"),
        cluster("-k"),
        ["cluster"],
        ["cluster", "t.csv"],
        ["cluster", "-k", "2"],
        ["clutser", "t.csv"],
        [SCRIPT],
        ["--json"],
        ["check"],
        ["compare", "t.csv"],
        ["apply"],
        ["apply", "run"],
        ["report"],
        ["methods", "extra"],
        ["cluster", "t.csv", "-k2", "-kk"],
        cluster("--json=yes"),
        cluster("--size-min"),
        cluster("--no-report=1"),
        ["--colour"],
        cluster("--metric", "manhattan"),
        cluster("--metric", ""),
        cluster("--method", "best"),
        cluster("-z"),
    )
    return Case(words, {"t.csv": sheet(rng).csv()}, FAILS)


@hostile
def options_given_twice(rng: Rng) -> Case:
    more = pick(
        rng,
        ["-k", "3"],
        ["--id", "id"],
        ["--drop", "x0", "--drop", "x1"],
        ["--seed", "1", "--seed", "2"],
        ["--no-report", "--report"],
        ["--scale", "--no-scale"],
        ["--out", "other"],
        ["--json", "--json"],
    )
    return Case(cluster(*more), {"t.csv": sheet(rng, columns=4).csv()}, ANY)


@hostile
def settings(rng: Rng) -> Case:
    setting = pick(rng, *SETTINGS, "", " n_init = 2 ", f"{SCRIPT}=1", "n_init=" + "[" * 3000)
    method = pick(
        rng, "auto", "COPKMeans", "PCKMeans", "KMedoids", "SizeConstrainedKMeans", "SizeConstrainedKMedians"
    )
    files = {"t.csv": sheet(rng, columns=2).csv(), "pairs.csv": pairs("p0,p1,must-link")}
    return Case(cluster("--method", method, *PAIRS, "--set", setting), files, ANY)


@hostile
def maps(rng: Rng) -> Case:
    table = sheet(rng)
    table.add("word", [pick(rng, "a", "b") for _ in table.rows])
    table.rows[2][-1] = pick(rng, "a", "")
    more, ends = pick(
        rng,
        ("x0,x1", DONE),
        (" x0 , x1 ", DONE),
        ("x0,x0", ANY),
        *[
            (text, FAILS)
            for text in ("x0", "x0,x1,x2", "x0,none", "x0,word", ",", "", "x0,id", "x0,", SCRIPT)
        ],
    )
    return Case(
        cluster("--map", more, "--impute"), {"t.csv": table.csv()}, ends, ["x0"] if "none" in more else []
    )


@hostile
def titles(rng: Rng) -> Case:
    words = [
        "--title",
        pick(
            rng, *(name for name in STRANGE if name != "--json"), "", "</title><script>x</script>", "%",
            "-->", "]]>", "\x07bell",
        ),
    ]  # fmt: skip
    return Case(cluster(*words), {"t.csv": sheet(rng).csv()}, DONE)


@hostile
def more_than_one_thing(rng: Rng) -> Case:
    """Everything is given at once."""
    table = sheet(rng, 30, 4)
    table.add("g", [str(at % 2) for at in range(30)])
    table.add("word", [pick(rng, "red", "green", "blue") for _ in range(30)])
    table.add("load", [str(1 + at % 3) for at in range(30)])
    together = some(rng, table, 2)
    files = {"t.csv": table.csv(), "pairs.csv": pairs(*stated(table, together, "must-link"))}
    more = [
        *PAIRS, "--size-min", "0.5", "--load", "load", "--group", "g", "--group-min", "1", "--map", "x0,x1",
    ]  # fmt: skip
    more += [
        "--weight",
        "load",
        "--category",
        "word",
        "--set",
        "n_init=1",
        "--seed",
        str(rng.integers(99)),
        "--title",
        SCRIPT,
    ]
    return Case(cluster(*more, k=3), files, DONE, together=together)


# ---- check, compare -----------------------------------------------------------------------------------


@hostile
def questions(rng: Rng) -> Case:
    table = sheet(rng, 12)
    table.add("what", ["a", "b", "c", *["b"] * 9])
    more = pick(
        rng,
        [],
        ["-k", "2"],
        ["-k", "13"],
        ["-k", "0"],
        ["--across", "what"],
        ["--across", "what", "-k", "2"],
        ["--distinct", "what", "-k", "3"],
        ["--labels", "what", "-k", "1"],
        ["--pairs", "none.csv"],
        [*PAIRS, "-k", "1"],
        ["--labels", "nothing"],
    )
    lines = pairs("p0,p1,cannot-link", "p1,p2,must-link")
    return Case(
        ["check", "t.csv", "--id", "id", *more], {"t.csv": table.csv(), "pairs.csv": lines}, ANY | {4}
    )


@hostile
def comparisons(rng: Rng) -> Case:
    table = sheet(rng, 16)
    lines = pick(
        rng,
        [],
        ["p0,p1,must-link"],
        ["p0,p1,must-link", "p0,p1,cannot-link"],
        ["p0,p1,must-link", "p2,p3,must-link", "p4,p5,must-link"],
        stated(table, some(rng, table, 8), "cannot-link"),
        [f"p{i},p{j},cannot-link" for i in range(4) for j in range(i)],
    )
    more = pick(
        rng,
        [],
        ["--folds", "2"],
        ["--folds", "1"],
        ["--folds", "99"],
        ["--folds", "x"],
        ["--methods", "PCKMeans"],
        ["--methods", "nothing"],
        ["--methods", ","],
        ["--methods", "SeededKMeans"],
        ["--size-min", "4"],
        ["--size-min", "99"],
    )
    words = ["compare", "t.csv", "-k", "2", "--id", "id", *PAIRS, *more]
    return Case(words, {"t.csv": table.csv(), "pairs.csv": pairs(*lines)}, ANY)
