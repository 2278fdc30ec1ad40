"""dedupe: X has surname, given names and the surnames of co-authors, joined by "|". Answers scored pairs.

It learns from answers to its own questions, "are these two the same?": `init` holds the truth to answer them
with. Pairs are those that its learned blocking finds, with its probabilities.
"""

import random
import warnings

import numpy as np
from dedupe import Dedupe, variables
from side import serve

warnings.simplefilter("ignore")


def prepare(X, must, cannot, init, settings):
    records = {
        i: {
            "surname": surname,
            "given": given or None,
            "beside": tuple(beside.split("|")) if beside else None,
            "row": str(i),
        }
        for i, (surname, given, beside) in enumerate(X.tolist())
    }

    def fit(_):
        random.seed(settings["seed"])
        np.random.seed(settings["seed"])  # noqa: NPY002 - dedupe draws from it
        fields = [
            variables.String("surname"),
            variables.String("given", has_missing=True),
            variables.Set("beside", has_missing=True),
        ]
        model = Dedupe(fields, num_cores=0, in_memory=True)
        model.classifier.n_jobs = 1
        model.prepare_training(records)
        for _ in range(settings["questions"]):
            pair = model.uncertain_pairs()[0]
            one, other = (int(record["row"]) for record in pair)
            kind = "match" if init[one] == init[other] else "distinct"
            model.mark_pairs({"match": [], "distinct": [], kind: [pair]})
        model.train()
        found = model.score(model.pairs(records))
        return np.column_stack([found["pairs"].astype(float), found["score"]]), settings["questions"]

    return fit


serve(prepare, ["dedupe", "BTrees", "numpy", "scikit-learn"])
