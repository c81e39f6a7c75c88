"""What one rule finds in several places is one block: the rule once, a line an instance, its words compared."""

from __future__ import annotations

from evalstore.diff import compare
from evalstore.report.diff import text
from evalstore.report.text_layout import COLOURS, PAPER
from evalstore.word_diff import compare_words

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


def test_seven_edits_of_several_sorts_are_twenty_lines() -> None:
    """A line an edit, what is alike in one block; all of it, with how to accept it, is for --verbose."""
    statements = [
        f"The answer names thing number {number} and says why it matters to the reader" for number in range(4)
    ]
    old = {
        "id": "r",
        "version": "1.0.0",
        "title": "Helpful",
        "checks": [
            {"id": "meets", "kind": "llm_judge", "judge_prompt_ref": "judge/meets@1.0.0", "each": statements},
            {"id": "polite", "kind": "must_not_contain", "values": ["stupid"]},
        ],
        "scoring": {"combine": "weighted_avg", "weights": {"meets": 3}},
    }
    meets, polite = old["checks"]  # type: ignore[misc]  # a list of two
    new = {
        **old,
        "title": "Helpful and safe",
        "checks": [
            {**meets, "each": [line.replace("says why", "explains in a sentence why") for line in statements]},
            {**polite, "values": ["stupid", "moron"]},
        ],
        "scoring": {"combine": "weighted_avg", "weights": {"meets": 2}},
    }
    diff = compare(old, new)
    assert (len(diff.findings), diff.certain, diff.possible) == (7, 3, 4)
    said = text(diff, PAPER._replace(width=80))
    assert len(said.splitlines()) <= 20
    assert max(map(len, said.splitlines())) <= 80
    assert "MAJOR  4 changes of meets like this: check-statements-changed" in said
    assert "6 major (2 certain, 4 possible), 1 patch." in said
    assert "polite also bans 'moron': scores can only fall" in " ".join(said.split())
    assert diff.findings[0].fingerprint not in said
    assert "--verbose" in said
    whole = text(diff, PAPER._replace(width=80, whole=True))
    assert all(finding.fingerprint in whole for finding in diff.findings)
    coloured = text(diff, PAPER._replace(colours=COLOURS))
    assert coloured.count("\x1b[31m[-says-]\x1b[0m") == 4


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
