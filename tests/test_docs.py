"""The pages of `docs/` are true: their Python runs, and prints what it says."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_python_of_a_page_prints_what_it_says(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S)
    assert blocks
    names = {}  # a block may build on the ones before
    for code in blocks:
        exec(compile(code, page.name, "exec"), names)
        printed = capsys.readouterr().out
        for line in re.findall(r"^# (.+)$", code, flags=re.M):
            assert line in printed


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_what_a_page_links_to_exists(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target
