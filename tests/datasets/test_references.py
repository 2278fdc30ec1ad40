"""CiteSeer: a tiny file of the same format, and the real one where it is."""

import gzip
import os

import numpy as np
import pytest

from coterie.datasets import load_citeseer

LINES = """0 | 10 | aamodt_a |  A. Aamodt | 0 | 1019 | 660 |  Case-Based Reasoning,
1 | 3690 | globig_c |   Globig, C. | 1 | 1012 | 825-2 | Case-based classification | a case study |.
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    (tmp_path / "citeseer").mkdir()

    def write(text):
        (tmp_path / "citeseer" / "citeseer-mrdm05.dat.gz").write_bytes(gzip.compress(text.encode()))

    return write


def test_columns_and_authors(write):
    write(LINES)
    references = load_citeseer()
    assert references.target.tolist() == [10, 3690]
    columns = {name: references[name].tolist() for name in references.feature_names}
    assert columns == {
        "reference_id": [0, 1],
        "normalized_name": ["aamodt_a", "globig_c"],
        "full_name": ["A. Aamodt", "Globig, C."],
        "position": [0, 1],
        "paper_id": [1019, 1012],
        "paper_cluster_id": ["660", "825-2"],
        "title": ["Case-Based Reasoning,", "Case-based classification | a case study |."],
    }
    assert references.DESCR.startswith("CiteSeer: 2 author references, 2 authors.")


def test_damaged_files_are_named(write):
    write(LINES + "2 | 10 | aamodt_a\n")
    with pytest.raises(ValueError, match=r"mrdm05\.dat\.gz, line 3: expected 8 fields .* got 3"):
        load_citeseer()
    write("")
    with pytest.raises(ValueError, match=r"mrdm05\.dat\.gz has no rows"):
        load_citeseer()


def test_without_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"there is no file '.*citeseer-mrdm05\.dat\.gz'.*COTERIE_DATA"
    ):
        load_citeseer()


@pytest.mark.skipif(
    not os.environ.get("COTERIE_DATA"), reason="needs the data folder: set COTERIE_DATA to its path"
)
def test_the_real_file_has_the_published_counts():
    references = load_citeseer()
    sizes = np.unique(references.target, return_counts=True)[1]
    assert len(references.target) == 2_892
    assert len(sizes) == 1_165
    assert len(np.unique(references.paper_id)) == 1_504
    assert len(np.unique(references.normalized_name)) == 1_441
    assert (sizes * (sizes - 1) // 2).sum() == 9_777
    assert (sizes == 1).sum() == 708
    assert sizes.max() == 44
