"""A headless browser for the page tests; they are skipped, with the reason, where there is none."""

import shutil

import numpy as np
import pytest
from sklearn.datasets import load_wine

from coterie import Constraints, PCKMeans
from coterie.exceptions import ViolatedConstraintsWarning

FLAGS = [
    "--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser():
    """Chromium of the system, through playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as started:
        try:
            opened = started.chromium.launch(executable_path=found, args=FLAGS)
        except playwright.Error as error:
            pytest.skip(f"{found} does not start: {str(error).splitlines()[0]}")
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def wine():
    """Wine, standardised, and 60 constraints of which a few are wrong and some are outvoted."""
    data = load_wine()
    X = (data.data - data.data.mean(axis=0)) / data.data.std(axis=0)
    ids = np.array([f"wine-{row:03d}" for row in range(len(X))])
    known = Constraints.sample(data.target, n_pairs=60, noise=0.08, random_state=1).with_ids(ids)
    with pytest.warns(ViolatedConstraintsWarning):
        model = PCKMeans(3, weight=4.0, random_state=0).fit(X, constraints=known)
    assert model.violations_.n_broken
    return model, X, data
