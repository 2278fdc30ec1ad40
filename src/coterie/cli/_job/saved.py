"""The model of a finished run, saved in a form that runs nothing when it is read (skops), and read back.

Such a file holds arrays, and names of classes to put them into. skops itself trusts classes of NumPy and
scikit-learn; we add our own and SciPy's sparse matrices. A file that names anything else is refused.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

from coterie._words import listed
from coterie.cli._job.output_folder import MARK
from coterie.cli._speak.trouble import Trouble

MODEL_FILE = "model.skops"
_OLD_FILE = "model.joblib"
_FORMAT = "coterie-model"
_PARTS = {"model", "plan", "plain", "fit_words", "id_column", "labels_file", "seconds", "versions"}


def save_model(file: Path, bundle: dict[str, Any]) -> None:
    """Write what `apply` and `report` need."""
    import skops.io

    skops.io.dump({"format": _FORMAT, **bundle}, file)


def rows_for(bundle: dict[str, Any], X: Any) -> Any:
    """Rows as the model is given them: in the space of the distance, where one was learned before it."""
    return X if bundle.get("distance") is None else bundle["distance"].transform(X)


def row_keys(X: Any) -> Any:
    """A number for each row of features by which it is known again."""
    import numpy as np
    from scipy.sparse import csr_array, issparse

    if issparse(X):
        X = csr_array(X, copy=True)
        X.eliminate_zeros()
        X.sort_indices()
        places, cuts = X.indices.astype(np.int64), X.indptr.tolist()
        rows = (places[start:stop].tobytes() + X.data[start:stop].tobytes() for start, stop in pairwise(cuts))
    else:
        rows = ((row + 0.0).tobytes() for row in X)  # 0.0 and -0.0 are alike
    digests = (hashlib.blake2b(row, digest_size=8).digest() for row in rows)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def load_model(path: Path) -> tuple[dict[str, Any], list[str]]:
    """What `cluster` saved, and what to say about it; `path` is the folder of a run, or the file in it."""
    file = path / MODEL_FILE if path.is_dir() else path
    old = file.with_name(_OLD_FILE)
    if old.is_file() and (file == old or not file.is_file()):
        raise Trouble(
            f"{old} is a pickle, as coterie wrote them before: it could run any program, so it is not read. "
            f"The same run made again gives the same clusters and a safe file: {_command(old.parent)}"
        )
    if not file.is_file():
        raise Trouble(f"{file}: no such file; give the folder that `coterie cluster` wrote")
    import skops.io

    bundle = None
    try:
        named = skops.io.get_untrusted_types(file=file)
        refused = [name for name in named if not _is_trusted(name)]
        if not refused:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # other versions are told below, in words
                bundle = skops.io.load(file, trusted=named)
    except MemoryError:
        raise
    except Exception:  # a damaged file can fail in any way
        refused = []
    if refused:
        raise Trouble(
            f"{file} asks for {listed(refused, 5)}, which no model of ours needs: loading it could run "
            "a program of somebody else, so it is not read"
        )
    if not isinstance(bundle, dict) or bundle.get("format") != _FORMAT or not set(bundle) >= _PARTS:
        raise Trouble(f"{file}: no model that we can read; give the folder that `coterie cluster` wrote")
    return bundle, _other_versions(bundle["versions"])


def _is_trusted(name: str) -> bool:
    """Whether a name in a file is a class of ours, or a sparse matrix: a function would be called."""
    module, _, kind = name.rpartition(".")  # a module that begins with an underscore twice is a command
    if not f"{module}.".startswith(("coterie.", "scipy.sparse.")) or "__" in module:
        return False
    found = getattr(importlib.import_module(module), kind, None)
    # the class may stand there only because the module imports it
    return isinstance(found, type) and found.__module__ == module


def _command(run: Path) -> str:
    """The command of a run, from its account."""
    try:
        return str(json.loads((run / MARK).read_text(encoding="utf-8"))["command"])
    except (OSError, ValueError, KeyError, TypeError):
        return "coterie cluster ..."


def versions() -> dict[str, str]:
    """The versions that matter for a result."""
    import platform

    import numpy as np
    import scipy
    import sklearn

    import coterie

    return {
        "coterie": coterie.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _other_versions(made_with: Any) -> list[str]:
    here = versions()
    made_with = made_with if isinstance(made_with, dict) else {}
    return [
        f"The model was made with {name} {made_with.get(name, 'an unknown version')}; here is {here[name]}."
        for name in ("coterie", "scikit-learn")
        if made_with.get(name) != here[name]
    ]
