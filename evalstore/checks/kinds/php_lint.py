"""php_lint: every fenced php block of the output is valid PHP syntax; no code is ever run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalstore.checks.context import CheckContext, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.checks.php import DIALECTS, check_block, find_php_engine
from evalstore.errors import LimitError
from evalstore.model import Grade, Sample
from evalstore.model.outcome import MissingSetting, grade_binary, grade_error, grade_missing

_NO_CODE = {
    "pass": grade_binary(True, "there is no php block"),
    "fail": grade_binary(False, "there is no php block"),
    "unscored": grade_missing("there is no php block"),
}


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Lint the blocks in order: a broken one fails.

    Otherwise an undecided one leaves the check unscored.
    """
    without, find_blocks = (
        _NO_CODE[params.get("on_no_code", "pass")],
        DIALECTS[params.get("dialect", "commonmark")],
    )

    def grade(sample: Sample) -> Grade:
        try:
            code = find_blocks(sample.text)
        except LimitError as limit:
            return grade_error(limit.message)
        return _lint_blocks(code) if code else without

    return grade


def _lint_blocks(code: list[str]) -> Grade:
    engine = find_php_engine()
    if engine is None:
        return grade_error(
            (
                "neither php nor tree-sitter-php is installed; install PHP, or evalstore[php] "
                "for an approximation"
            ),
            setting=MissingSetting.PHP,
        )
    unclear = ""
    for number, block in enumerate(code, 1):
        answer = check_block(engine, block)
        if answer.valid is False:
            return grade_binary(False, f"php block {number}: {answer.message}", engine.name)
        if answer.valid is None:
            unclear = unclear or f"php block {number}: {answer.message}"
    if unclear:
        return grade_error(unclear, engine.name)
    return grade_binary(
        True, f"{len(code)} php block{'s' if len(code) > 1 else ''} valid", engine.name
    )


KIND = CheckKind(
    prepare_grading=prepare_grading,
    word="php",
    is_binary=True,
    exact_engine="PHP",
)
