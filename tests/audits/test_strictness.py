"""Tests that an audit says when its two runs were graded under another `strict`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evalstore.audits.grader import Grader, list_strictness_notes


@pytest.mark.parametrize(("old", "new", "words"), [(True, False, "A was"), (False, True, "B was"), (True, True, "")])
def test_another_strictness_is_said(*, old: bool, new: bool, words: str) -> None:
    unused: Any = None
    grader = Grader(unused, unused, {}, strict=old)
    notes = [*list_strictness_notes(grader, replace(grader, strict=new))]
    assert [note[:5] for note in notes] == ([words] if words else [])
