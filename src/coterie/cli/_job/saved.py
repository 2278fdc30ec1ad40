"""The model of a finished run, read back. It is a pickle: whoever loads it runs what it says."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from coterie.cli._speak.trouble import Trouble
from coterie.cli.commands.cluster import MODEL_FORMAT, versions

MODEL_FILE = "model.joblib"
_PARTS = {"model", "plan", "plain", "fit_words", "id_column", "labels_file", "seconds", "versions"}


def load_model(path: Path) -> tuple[dict[str, Any], list[str]]:
    """What `cluster` saved, and what to say about it; `path` is the folder of a run, or the file in it."""
    file = path / MODEL_FILE if path.is_dir() else path
    if not file.is_file():
        raise Trouble(f"{file}: no such file; give the folder that `coterie cluster` wrote")
    import joblib

    # a pickle begins with this byte; anything else is not even looked at
    bundle = None
    with file.open("rb") as opened:
        is_pickle = opened.read(1) == b"\x80"
    if is_pickle:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # other versions are told below, in words
                bundle = joblib.load(file)
        except MemoryError:
            raise
        except Exception:  # a pickle can fail in any way
            bundle = None
    if not isinstance(bundle, dict) or bundle.get("format") != MODEL_FORMAT or not set(bundle) >= _PARTS:
        raise Trouble(f"{file}: no model that we can read; give the folder that `coterie cluster` wrote")
    return bundle, _other_versions(bundle["versions"])


def _other_versions(made_with: Any) -> list[str]:
    here = versions()
    made_with = made_with if isinstance(made_with, dict) else {}
    return [
        f"The model was made with {name} {made_with.get(name, 'an unknown version')}; here is {here[name]}."
        for name in ("coterie", "scikit-learn")
        if made_with.get(name) != here[name]
    ]
