"""No output makes checks that read the same traits answer in a way that is not listed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from evalstore.checks import prepare_check
from evalstore.diff.answers.raw_answers import RawAnswer
from evalstore.diff.kinds import DEEP_JSON, KINDS, read_params
from evalstore.diff.rubric_state import read_rubric_state
from evalstore.model import Output, Question, Sample

Params = dict[str, Any]
LENGTHS = (0, 1, 2, 5, 9, 30)


def draw_php(random: Random) -> Params:
    asked = {"on_no_code": random.choice(("pass", "fail", "unscored"))}
    return asked | random.choice(({}, {"dialect": "commonmark"}, {"dialect": "legacy"}))


def draw_format(random: Random) -> Params:
    asked = {"format": random.choice(("json", "text", None)), "min_chars": random.choice((None, *LENGTHS))}
    asked["max_chars"] = random.choice((None, *LENGTHS))
    return {name: value for name, value in asked.items() if value is not None}


def draw_markdown(random: Random) -> Params:
    asked = {
        "dialect": random.choice(("commonmark", "lines")),
        "min_headings": random.randrange(3),
        "max_heading_level": random.choice((1, 2, 3, 6)),
        "no_h1": random.random() < 0.3,
        "required_sections": random.sample(("Steps", "steps", "Risks", "s"), random.randrange(3)),
        "forbidden_patterns": random.sample(("TODO", "x", ""), random.choice((0, 0, 1, 2))),
        "min_code_blocks": random.randrange(3),
        "min_paragraphs": random.randrange(3),
    }
    return {name: value for name, value in asked.items() if random.random() < 0.5}


PIECES = (
    *("", "x", "# Steps", "## Risks and steps", "#### deep", "Steps\n=====", "TODO", "one\n\ntwo", "```\ncode\n```"),
    *("```php\n$a = 1;\n```", "```php\n$a = ;\n```", "[1]", '"a"', "\ufeff1", '{"a": [true]}', DEEP_JSON, " \n", "1"),
    *("```php\n$a = ;", "```PHP\n$a = ;\n```", "```phpt\n$a = 1;\n```", "---\na: b\n---"),
    *("\u00a0", "x" * 9, '"' + "x" * 7 + '"', "    # code", "> # quoted", "```\n# Steps"),
)


def draw_text(random: Random) -> str:
    return random.choice(("\n\n", "\n", " ", "")).join(random.choices(PIECES, k=random.choice((1, 1, 2, 3, 5))))


@pytest.mark.parametrize(
    ("kind", "draw"),
    [
        pytest.param("php_lint", draw_php, marks=pytest.mark.slow),
        ("format", draw_format),
        ("markdown_structure", draw_markdown),
    ],
)
def test_every_output_answers_in_a_way_that_is_listed(kind: str, draw: Callable[[Random], Params]) -> None:
    random = Random(f"traits of {kind}")  # noqa: S311  # not for secrets
    ways_of_all = 0
    for _ in range(60):
        values = [{"kind": kind, **draw(random)} for _ in range(random.choice((2, 3)))]
        ways = KINDS[kind].joint_answers([read_params(kind, value) for value in values])
        assert ways is not None
        ways_of_all += len(ways)
        rubric = read_rubric_state({"id": "r", "version": "1.0.0", "checks": values, "scoring": {"combine": "min"}})
        assert rubric
        graders = [prepare_check(check.to_check()) for check in rubric.checks]
        for _ in range(40):
            expected = random.choice(({}, {"format": "json"}, {"format": "text"}, {"format": "other"}))
            sample = Sample(Output(draw_text(random)), Question("q", "?", {"expected": expected}))
            results = [grade(sample) for grade in graders]
            said = tuple(RawAnswer(result.score, result.unscored) for result in results)
            assert said in ways, (values, sample)
            assert ways[said] >= len(sample.text.strip())
    # They are not a plain product of all that each can answer: something was concluded.
    assert ways_of_all < 60 * 27  # three answers of three checks


def test_too_many_traits_are_none_and_other_kinds_have_none() -> None:
    value = {"kind": "markdown_structure", "min_headings": 1}
    many = [read_params("markdown_structure", {**value, "required_sections": [f"part {n}"]}) for n in range(12)]
    assert KINDS["markdown_structure"].joint_answers(many) is None
    assert KINDS["regex"].joint_answers([read_params("regex", {"kind": "regex", "pattern": "a"})] * 2) is None
