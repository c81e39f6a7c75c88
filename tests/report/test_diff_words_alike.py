"""What one rule finds in several places is one block: the rule once, a line an instance, its words compared."""

from __future__ import annotations

from evalstore.diff import compare
from evalstore.report.diff import text
from evalstore.report.text_layout import PAPER
from evalstore.report.value_diff import compare_words

LINE = "Names thing number {} in the answer and {} why it matters here"


def rubric(verb: str, *, count: int) -> dict[str, object]:
    checks = [
        {
            "id": f"s{number}",
            "kind": "llm_judge",
            "judge_prompt_ref": "judge/meets@1.0.0",
            "variables": {"criterion": LINE.format(number, verb)},
        }
        for number in range(count)
    ]
    return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "weighted_avg"}}


def test_seven_like_edits_are_one_block_of_few_lines() -> None:
    diff = compare(rubric("says", count=7), rubric("explains", count=7))
    said = text(diff, PAPER._replace(width=80))
    assert said.count("check-variables-changed") == 1
    assert said.count("[-says-] {+explains+}") == 7
    assert len(said.splitlines()) <= 20
    assert "7 major (7 possible). This needs a major bump" in said
    whole = text(diff, PAPER._replace(whole=True))
    assert whole.count("check-variables-changed") == 7


def test_two_findings_are_two_blocks() -> None:
    said = text(compare(rubric("says", count=2), rubric("explains", count=2)))
    assert said.count("check-variables-changed") == 2


def test_words_that_stay_are_shown_beside_an_edit() -> None:
    assert compare_words("a b c", "a x c") == "a [-b-] {+x+} c"
    assert (
        compare_words("one two three four five six", "one two three four five seven")
        == "… three four five [-six-] {+seven+}"
    )
    assert compare_words("", "new words") == "{+new words+}"
    assert compare_words("old \x1b[31m", "old") == "old [-\\x1b[31m-]"
