"""Every script of findings/ has the form that its README asks for; CI runs none of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

FINDINGS = Path(__file__).resolve().parents[2] / "findings"
SCRIPTS = sorted(FINDINGS.glob("*.sh"))
ROW = re.compile(r"^\| \[([\w-]+)\]\(\1\.sh\) \| \S.* \|$", re.MULTILINE)
INSTALLED = re.compile(r"[\w-](?:==|@)\$?\d")
HEAD = ("# Expected: ", "# Seen: ", "# Tried on ")


def test_the_page_lists_every_script() -> None:
    listed = ROW.findall((FINDINGS / "README.md").read_text("utf-8"))
    assert listed == [script.stem for script in SCRIPTS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_the_form(script: Path) -> None:
    text = script.read_text("utf-8")
    head, _, body = text.partition("\nset -eu\n")
    assert head.startswith("#!/bin/sh\n# ")
    assert [line for line in HEAD if f"\n{line}" not in head] == []
    assert 'work=$(mktemp -d)\ntrap \'rm -rf "$work"\' EXIT\ncd "$work"\n' in body
    assert INSTALLED.search(body)
    assert "evalstore" not in body
    assert 'echo "confirmed: ' in body
    assert 'echo "changed: ' in body
    assert 20 <= len(text.splitlines()) <= 60
    assert os.access(script, os.X_OK)
