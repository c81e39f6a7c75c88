"""php_lint: which code blocks are PHP, and the result for an output without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from evalstore.diff.answers.raw_answers import ERROR, FAILED, MISSING, PASSED, JointRawAnswers
from evalstore.diff.kinds import (
    ComparedKind,
    Param,
    Params,
    read_no_question,
    read_one_of,
    say_always,
)
from evalstore.languages.patterns import OUTPUT_LIMIT

# An unclosed block, PHP in capitals, and a word that begins with php are PHP in one dialect only.
_CODE = (
    "```php\n$x = 1;\n```",
    "```php\n$x = ;\n```",
    "```php\n$x = ;",
    "```PHP\n$x = ;\n```",
    "```php\n$x = 1;",
    "```phpt\n$x = ;\n```",
    "```phpt\n$x = 1;\n```",
)


def _list_joint_answers(checks: Sequence[Params]) -> Mapping[JointRawAnswers, int]:
    without = {"pass": PASSED, "fail": FAILED, "unscored": MISSING}
    dialects = list(dict.fromkeys(check["dialect"] for check in checks))
    ways: dict[JointRawAnswers, int] = {}
    # What one dialect finds says nothing about the other.
    for found in product((None, PASSED, FAILED, ERROR), repeat=len(dialects)):
        known = dict(zip(dialects, found, strict=True))
        ways[tuple(known[check["dialect"]] or without[check["on_no_code"]] for check in checks)] = (
            OUTPUT_LIMIT
        )
    return ways


KIND = ComparedKind(
    params={
        "dialect": Param(
            "commonmark", read_one_of("commonmark", "legacy"), rule="check-engine-changed"
        ),
        "on_no_code": Param(
            "pass", read_one_of("pass", "fail", "unscored"), rule="php-lint-options-changed"
        ),
    },
    is_binary=say_always,
    may_miss=lambda params: params["on_no_code"] == "unscored",
    may_err=say_always,  # there may be no PHP parser on this machine
    question_parts=read_no_question,
    sample_texts=lambda _: iter(_CODE),
    joint_answers=_list_joint_answers,
    cost=100,
)
