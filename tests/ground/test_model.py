"""References, digests and rubrics as values."""

from __future__ import annotations

from fractions import Fraction

import pytest

from evalstore.documents import read_yaml
from evalstore.errors import RefError
from evalstore.model import (
    Artifact,
    Kind,
    PinType,
    format_decimal,
    is_id,
    list_check_ids,
    parse_ref,
    read_rubric,
)

RUBRIC = """id: a
version: 1.0.0
title: {title}
checks:
  - {{kind: regex, pattern: x, description: {title}}}
scoring: {{combine: all_pass, threshold: {bar}}}
x_note: {title}
"""


def artifact(title: str, bar: str) -> Artifact:
    return Artifact(Kind.RUBRIC, "a", "1.0.0", read_yaml(RUBRIC.format(title=title, bar=bar), "a.yaml"))


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("rubric/a@1.2.3", PinType.EXACT),
        ("rubric/a@1.3.0-rc.1", PinType.EXACT),
        ("rubric/a@1.2", PinType.EXACT),
        ("judge/a@^1.2", PinType.RANGE),
        ("dataset/a@>=1.2 <2", PinType.RANGE),
        ("rubric/a@latest", PinType.LATEST),
        ("rubric/a", PinType.NONE),
        ("rubric/a@worktree", PinType.WORKTREE),
        ("rubric/a@git:HEAD~1", PinType.REVISION),
    ],
)
def test_every_pin(text: str, type_: PinType) -> None:
    ref = parse_ref(text)
    assert (ref.type, str(ref)) == (type_, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "rubrics/a@1.0.0",
        "rubric/A",
        "rubric/a@",
        "rubric/a@-d",
        "rubric/a@git:--upload-pack=x",
        "rubric/a@git:a..b",
        "rubric/../x@1.0.0",
        "rubric/a@1.0.0\n",
        "rubric/a\n@1.0.0",
        "rubric/con",
        f"rubric/{'a' * 65}",
        "rubric/a@git:",
    ],
)
def test_no_references(text: str) -> None:
    with pytest.raises(RefError):
        parse_ref(text)


def test_what_is_quoted_is_escaped_once() -> None:
    with pytest.raises(RefError, match=r"^'1\.0\.0\\n' is not a valid pin$"):
        parse_ref("rubric/a@1.0.0\n")


def test_two_part_pins_are_exact() -> None:
    assert str(parse_ref("rubric/a@1.2").version) == "1.2.0"


def test_only_what_can_move_a_score_is_in_the_scoring_digest() -> None:
    one, title, bar = artifact("one", "0.7"), artifact("two", "0.70"), artifact("one", "0.8")
    assert one.digest != title.digest
    assert one.scoring_digest == title.scoring_digest
    assert one.scoring_digest != bar.scoring_digest


def test_the_functional_digest_leaves_out_what_is_for_people_alone() -> None:
    def digest(text: str) -> str:
        return Artifact(Kind.RUBRIC, "a", "", read_yaml(f"id: a\n{text}", "a.yaml")).functional_digest

    assert digest("version: 1.0.0\ntitle: one\nchecks: [{kind: regex}]") == digest("owner: us\nchecks: [{kind: regex}]")
    assert digest("checks: [{kind: regex}]") != digest("checks: [{kind: regex, title: within}]")
    assert digest("x_note: 1") != digest("x_note: 2")


def test_ids_are_file_names_everywhere() -> None:
    assert is_id("a_1")
    assert not any(map(is_id, ["A", "1a", "a-b", "nul", "lpt1", "a\n", "", "é"]))


def test_checks_without_ids_get_theirs_from_the_kind() -> None:
    checks = [{"kind": "regex"}, {"kind": "regex"}, {"kind": "format", "id": "regex_2"}, {"kind": "regex"}]
    assert list_check_ids(checks) == ["regex", "regex_3", "regex_2", "regex_4"]


def test_numbers_are_exact() -> None:
    rubric = read_rubric(
        {"checks": [{"kind": "regex", "threshold": 0.1}], "scoring": {"combine": "min", "threshold": 0.3}}
    )
    assert (rubric.checks[0].threshold, rubric.scoring.threshold) == (Fraction(1, 10), Fraction(3, 10))
    assert (
        format_decimal(Fraction(2, 3)),
        format_decimal(Fraction(3, 4)),
        format_decimal(Fraction(0)),
        format_decimal(Fraction(-1, 8)),
    ) == (
        "0.666666666667",
        "0.75",
        "0",
        "-0.125",
    )
