"""Tests that `strict` is not a factor: what it makes an error has a line, and all else is graded again as recorded."""

from __future__ import annotations

from typing import Any

import pytest

from evalstore.audits.stored_run import list_strictness_notes
from evalstore.checks.kinds import php_lint
from evalstore.checks.php import LintResult, PhpEngine
from tests.audits.conftest import Desk

BROKEN, PLAIN = "```php\n<?php echo (;\n```", "no code"
PHP = {"id": "parses", "kind": "php_lint", "on_no_code": "pass"}
BAN = {"id": "ban", "kind": "must_not_contain", "values": ["foo"]}


@pytest.mark.parametrize(("old", "new", "words"), [(True, False, "A was"), (False, True, "B was"), (True, True, "")])
def test_another_strictness_is_said(*, old: bool, new: bool, words: str) -> None:
    assert [note[:5] for note in list_strictness_notes(old, new)] == ([words] if words else [])


@pytest.mark.parametrize("strict", [(True, False), (False, True)])
def test_strict_alone_moves_a_line_and_other_answers_are_outputs(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, strict: tuple[bool, bool]
) -> None:
    """Two questions have broken code in both runs, one in the run alone that takes approximations, one has none."""
    parser = PhpEngine("a parser (approximate)")
    monkeypatch.setattr(php_lint, "check_block", lambda *_: LintResult(valid=False))
    monkeypatch.setattr(php_lint, "find_php_engine", lambda: parser)
    desk.rubric("1.0.0", PHP, BAN, errors="skip")
    # Version 2.0.0 has no check that only one of both runs could grade.
    desk.rubric("2.0.0", BAN, errors="skip")
    desk.dataset("1.0.0", 4)
    desk.dataset("2.0.0", 4)

    def score(side: int, version: str = "1.0.0") -> Any:
        desk.repo.write("evalstore.yaml", f"strict: {str(strict[side]).lower()}\n")
        third = PLAIN if strict[side] else BROKEN
        return desk.score(version, [BROKEN, BROKEN, third, PLAIN], f"{version}-{side}")

    runs = score(0), score(1)
    found = desk.audit(*runs)
    assert (found.drift, found.lines.errors, found.common) == ((), ("q0", "q1"), 2)
    # The third question fell from 1 to 1/2 where B has the broken code, and rose where A has it.
    sign = -1 if strict[0] else 1
    shares = {factor.name: factor.share * 100 for factor in found.factors if factor.share}
    assert shares == {"outputs": sign * 25}
    # Of 1 1 1 1 under strict and 1/2 1/2 1/2 1 without: what the outputs did not do stands on the line.
    assert [found.delta * 100, found.lines.judge_errors.score * 100] == [sign * 37.5, sign * 12.5]
    assert any("strict" in note for note in found.notes)
    # A check that the other rubric lacks is reproduced as well.
    if strict[0]:
        assert desk.audit(runs[0], score(1, "2.0.0")).drift == ()
