"""splink: X has surname, given names and the surnames of co-authors, joined by "|". Answers scored pairs.

Its model is that of Fellegi and Sunter, learned without the truth: the share of matches by the rule "equal
names", u from random pairs, m by EM. Pairs of one surname, or of its first four letters and the first
initial, are compared. "names" compares given names as its library does; "initials" also asks whether one
name begins with the other, and for the first letter.
"""

import logging

import duckdb
import numpy as np
import pyarrow as pa
import splink.comparison_level_library as levels
import splink.comparison_library as library
from side import serve
from splink import DuckDBAPI, Linker, SettingsCreator, block_on

INITIALS = [
    levels.NullLevel("given"),
    levels.ExactMatchLevel("given").configure(tf_adjustment_column="given"),
    levels.CustomLevel("starts_with(given_l, given_r) or starts_with(given_r, given_l)", "one begins so"),
    levels.JaroWinklerLevel("given", 0.92),
    levels.CustomLevel("left(given_l, 1) = left(given_r, 1)", "first letter"),
    levels.ElseLevel(),
]


def prepare(X, must, cannot, init, settings):
    surname, given, beside = X.T.tolist()
    table = pa.table(
        {
            "unique_id": list(range(len(X))),
            "surname": surname,
            "given": [one or None for one in given],
            "beside": pa.array([one.split("|") if one else None for one in beside], pa.list_(pa.string())),
        }
    )

    def fit(seed):
        connection = duckdb.connect(":memory:")
        connection.execute("SET threads=1")
        api = DuckDBAPI(connection)
        names = library.NameComparison("given")
        if settings["given"] == "initials":
            names = library.CustomComparison(output_column_name="given", comparison_levels=INITIALS)
        model = SettingsCreator(
            link_type="dedupe_only",
            comparisons=[
                names,
                library.NameComparison("surname"),
                library.ArrayIntersectAtSizes("beside", [2, 1]),
            ],
            blocking_rules_to_generate_predictions=[
                block_on("surname"),
                block_on("substr(surname, 1, 4)", "substr(given, 1, 1)"),
            ],
            retain_matching_columns=False,
        )
        linker = Linker(api.register(table), model, log_level=logging.ERROR)
        linker.training.estimate_probability_two_random_records_match(
            [block_on("surname", "given")], recall=0.7
        )
        linker.training.estimate_u_using_random_sampling(max_pairs=5e6, seed=seed)
        linker.training.estimate_parameters_using_expectation_maximisation(block_on("surname"))
        linker.training.estimate_parameters_using_expectation_maximisation(block_on("given"))
        found = linker.inference.predict(threshold_match_probability=1e-9).as_pyarrow_table()
        columns = [found[name].to_numpy() for name in ("unique_id_l", "unique_id_r", "match_weight")]
        return np.column_stack(columns), 1

    return fit


serve(prepare, ["splink", "duckdb", "numpy"])
