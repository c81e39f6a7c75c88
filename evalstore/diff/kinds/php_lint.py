"""php_lint: which blocks are PHP, and what an output without any is worth."""

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

# A block that is cut, and a word in capitals, are PHP to one dialect only; so is a word that begins
# with php.
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
    # What one dialect sees says nothing about the other.
    for seen in product((None, PASSED, FAILED, ERROR), repeat=len(dialects)):
        said = dict(zip(dialects, seen, strict=True))
        ways[tuple(said[check["dialect"]] or without[check["on_no_code"]] for check in checks)] = (
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
    may_err=say_always,  # PHP may be missing
    question_parts=read_no_question,
    sample_texts=lambda _: iter(_CODE),
    joint_answers=_list_joint_answers,
    cost=100,
)
