"""format, json_schema's part of the output, markdown_structure and php_lint: every small edit against the real scorer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from random import Random
from typing import Any

import pytest

from evalstore.checks import prepare_rubric
from evalstore.diff import DiffFinding, Direction
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.classify import classify
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import make_plain
from evalstore.diff.rubric_state import read_rubric_state
from evalstore.model import Output, Question, Sample, Verdict
from evalstore.versions import Bump
from tests.diff.case_pairs import make_rubric
from tests.rows import mark_slow

NONE = Direction.NONE
Mapping = dict[str, Any]
Pair = tuple[Mapping, Mapping]
QUESTIONS: list[Mapping | None] = [None, {"expected": {"format": "json"}}, {"expected": {"format": "text", "a": 1}}]
JSON = ["{}", "[1]", '{"a": 1}', "1"]
FENCED = [f"b\n\n```json\n{text}\n```" for text in JSON] + ["```\n{}\n```\n\n```json\n[1]\n```", "~~~\n1"]
MARKDOWN = [
    "# a",
    "## ab",
    "###### b",
    "a",
    "a\n\nb",
    "    a",
    "# A\n\n## ab\n\na\n\nb",
    "```\na\n```",
    "####### a",
    "a\n=",
    "#",
    "#\u2028a",
]
PHP = ["```php\n$x = 1;\n```", "```php\n$x = ;\n```", "```php\n$x = ;", "```PHP\n$x = 1;\n```", "```phpt\n$x = ;\n```"]
TEXTS = ["", " ", "x", "xx", "xxx", *JSON]
# JSON is deeper here than the scorer reads, or would be if a fence did not follow.
DEEP = [
    "[" * 65 + "]" * 65,
    '["b", ' + "[" * 65 + "]" * 66,
    "[" * 65 + "\n\n```\n{}\n```",
    "[" * 65 + "\n\n```\n1\n```",
    "b\n\n```\n" + "[" * 65 + "]" * 65,
]
TWO = ["\n\n".join(pair) for pair in product(MARKDOWN, repeat=2)]


def formats() -> Iterator[Pair]:
    values = {"format": (None, "text", "json"), "min_chars": (None, 0, 1, 2), "max_chars": (None, 0, 1, 3)}
    every = [dict(zip(values, some, strict=True)) for some in product(*values.values())]
    for old, new in product(every, repeat=2):
        if sum(old[name] != new[name] for name in values) in {1, 3}:
            yield tuple({"kind": "format", **written(side)} for side in (old, new))  # type: ignore[misc]  # a pair


def parts() -> Iterator[Pair]:
    for asked in ({"schema": {"type": "object"}}, {"schema": True}, {"expected_fields": ["a"]}):
        for old, new in product(("auto", "whole", "fence"), repeat=2):
            yield tuple({"kind": "json_schema", **asked, "extract": way} for way in (old, new))  # type: ignore[misc]


def structures() -> Iterator[Pair]:
    random = Random(3)  # noqa: S311  # chance, not secrets
    for _ in range(150):
        old, new = structure(random), structure(random)
        name = random.choice(sorted({*old, *new} - {"kind", "dialect"}) or ["no_h1"])
        edited = {key: item for key, item in old.items() if key != name}
        yield old, {**edited, **({name: new[name]} if name in new else {})}


def structure(random: Random) -> Mapping:
    few, texts = (0, 1, 2), ("a", "b", "ab", "", "A")
    values = {
        **dict.fromkeys(("min_headings", "min_code_blocks", "min_paragraphs"), few),
        "max_heading_level": (0, 1, 2, 6, 7),
        "no_h1": (True, False),
        "required_sections": [random.choices(texts, k=random.choice(few))],
        "forbidden_patterns": [random.choices(texts, k=random.choice(few))],
    }
    given = {name: random.choice(some) for name, some in values.items() if random.random() < 0.3}
    return {"kind": "markdown_structure", "dialect": random.choice(("commonmark", "lines")), **given}


def lints() -> Iterator[Pair]:
    sides = [
        {"kind": "php_lint", "on_no_code": word, "dialect": dialect}
        for word, dialect in product(("pass", "fail", "unscored"), ("commonmark", "legacy"))
    ]
    yield from product(sides, repeat=2)


def written(values: Mapping) -> Mapping:
    return {name: value for name, value in values.items() if value is not None}


def rubric(check: Mapping, *, negate: bool) -> Mapping:
    return {"checks": [{**check, "id": "a", "negate": negate}], "scoring": {"combine": "min"}}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("pairs", "texts"),
    [(formats, TEXTS), (parts, [*TEXTS, *FENCED]), (structures, [*MARKDOWN, *TWO]), (lints, [*TEXTS, *PHP])],
)
@pytest.mark.parametrize("negate", [False, True])
def test_what_is_claimed_of_an_edit_holds_on_every_text(
    pairs: Any, texts: list[str], samples: Callable[[int], int], *, negate: bool
) -> None:
    said: dict[str, tuple[Any, ...]] = {}
    claims = []
    every = list(pairs())
    stride = len(every) // samples(len(every)) if len(every) > 100 else 1
    for pair in every[::stride]:
        before, after = (read_rubric_state(make_plain(rubric(check, negate=negate))) for check in pair)
        assert before is not None
        assert after is not None
        for step in find_rubric_changes(before, pair_checks(before, after)):
            claims.append(classify(step))
            hold(claims[-1], *(answers(state, texts, said) for state in step.states))
    assert {claim.level for claim in claims} & {Bump.MAJOR}
    assert "unclassified-change" not in {claim.rule for claim in claims}


def limited() -> Iterator[Pair]:
    values: list[Mapping] = [
        *({"kind": "format", "format": asked} for asked in ("text", "json")),
        {"kind": "format", "min_chars": 1},
        *({"kind": "format", "format": asked, "min_chars": 1} for asked in ("text", "json")),
        {"kind": "format", "format": "json", "min_chars": 200},
        {"kind": "format", "format": "json", "max_chars": 100},
        *({"kind": "json_schema", "schema": {"type": "object"}, "extract": way} for way in ("auto", "whole", "fence")),
    ]
    yield from (pair for pair in product(values, repeat=2) if pair[0]["kind"] == pair[1]["kind"])


@pytest.mark.heavy
@pytest.mark.parametrize(
    "combine",
    [
        "median",
        *map(mark_slow, ("all_pass", "any_pass", "min", "max", "weighted_avg")),
    ],
)
@pytest.mark.parametrize("errors", ["skip", "zero", "fail"])
def test_a_direction_holds_where_json_is_beyond_the_limits(errors: str, combine: str) -> None:
    said: dict[str, tuple[Any, ...]] = {}
    others = [{"id": "b", "kind": "must_contain_any", "values": ["b"]}]
    told = []
    for pair, negate, threshold in product(limited(), (False, True), (0, 1)):
        scoring = {"combine": combine, "errors": errors, "required": ["a"] if combine == "median" else []}
        sides = [{**rubric({**check, "threshold": threshold}, negate=negate), "scoring": scoring} for check in pair]
        before, after = (
            read_rubric_state(make_plain({**side, "checks": [*side["checks"], *others]})) for side in sides
        )
        assert before is not None
        assert after is not None
        for step in find_rubric_changes(before, pair_checks(before, after)):
            told.append(classify(step))
            hold(told[-1], *(answers(state, ["", "x", "{}", FENCED[0], *DEEP], said) for state in step.states))
    assert {claim.directions[0] for claim in told} >= (
        {Direction.EITHER} if errors == "fail" else {*Direction} - {NONE}
    )


def answers(state: Any, texts: list[str], said: dict[str, tuple[Any, ...]]) -> tuple[Any, ...]:
    if (key := repr(state)) not in said:
        grade = prepare_rubric(make_rubric(state))
        rows = [Question("q", "", question) if question else None for question in QUESTIONS]
        results = [grade(Sample(Output(text), row)) for text in texts for row in rows]
        said[key] = tuple((one.score, one.verdict) for one in results)
    return said[key]


def hold(claim: DiffFinding, old: tuple[Any, ...], new: tuple[Any, ...]) -> None:
    told = f"{claim.rule} {claim.level} {claim.directions} {claim.message}"
    assert claim.level is Bump.MAJOR or old == new, told
    for channel, claimed in enumerate(claim.directions):
        scored = [pair for pair in zip(old, new, strict=True) if None not in (pair[0][0], pair[1][0])]
        pairs = [(one[channel], other[channel]) for one, other in scored]
        pairs = [(one is Verdict.PASS, other is Verdict.PASS) if channel else (one, other) for one, other in pairs]
        seen = {Direction.LOOSER if new > old else Direction.STRICTER for old, new in pairs if old != new}
        assert claimed is Direction.EITHER or seen <= {claimed}, told
