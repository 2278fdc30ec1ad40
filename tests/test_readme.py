"""The front page is true: what it names exists. `test_docs` runs what it shows."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()


def test_every_method_of_the_readme_exists():
    import coterie
    from coterie.methods import DISTANCES, table_of_classifiers, table_of_distances, table_of_methods
    from coterie.testing import constrained_clusterers, pair_classifiers

    table = README[README.index("## Methods") : README.index("## Say what you know")]
    named = set(re.findall(r"^\| `(\w+)` \|", table, flags=re.M))
    found = [*constrained_clusterers(), *pair_classifiers()]
    assert named == {kind.__name__ for kind in found} | {one.name for one in DISTANCES}
    for expected in (table_of_methods(), table_of_distances(), table_of_classifiers()):
        assert expected in table, "python -m coterie.methods prints the tables"
    assert all(hasattr(coterie, name) for name in named)


def test_every_public_name_of_the_readme_exists():
    from coterie import Constraints, constraints

    for name in re.findall(r"Constraints\.(\w+)", README):
        assert hasattr(Constraints, name), name
    for name in re.findall(r"`((?:delta|epsilon)_\w+)", README):
        assert hasattr(constraints, name), name
    for name in re.findall(r"\bc\.(\w+)", README):
        assert hasattr(Constraints, name), name
