"""The front page is true: its Python runs, and prints what it says."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parents[1] / "README.md").read_text()


def test_python_of_the_readme_prints_what_it_says(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    promised = re.findall(r"^# (.+)$", code, flags=re.M)
    assert len(promised) == 3
    for line in promised:
        assert line in printed
    assert printed.startswith("feasible\ninfeasible with 2 clusters")


def test_every_public_name_of_the_readme_exists():
    from coterie import Constraints, constraints

    for name in re.findall(r"Constraints\.(\w+)", README):
        assert hasattr(Constraints, name), name
    for name in re.findall(r"`((?:delta|epsilon)_\w+)", README):
        assert hasattr(constraints, name), name
    for name in re.findall(r"\bc\.(\w+)", README):
        assert hasattr(Constraints, name), name
