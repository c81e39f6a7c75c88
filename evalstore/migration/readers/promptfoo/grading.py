"""Turns a test's assertions into a rubric: a weighted mean, a threshold, and a rubric per set."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from evalstore.documents import Pointer
from evalstore.languages.patterns import compile_matcher
from evalstore.migration.artifact_names import make_check_ids
from evalstore.migration.case_reading import draft_rubric
from evalstore.migration.extraction import ArtifactDraft, MigrationNote
from evalstore.migration.javascript.expressions import REGEX, STRING, read_string
from evalstore.migration.javascript.patterns import escape_literals, translate_pattern
from evalstore.migration.javascript.values import TRIM_STEP, has_half_character
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.promptfoo.assertions import (
    NEVER,
    AssertionPart,
    Check,
    ProgramRelease,
    StopError,
    read_assertion,
)
from evalstore.migration.readers.promptfoo.templates import UnsayableError, fill_known
from evalstore.migration.remainder import encode_value
from evalstore.migration.value_readings import describe_type, describe_unknown_keys, is_number
from evalstore.text import SHORT_EXCERPT, make_excerpt

SET = "assert-set"
Number = int | Decimal
_PARTIAL = "some of its checks cannot be said here, so its rubric is partial"
_ABOVE_ONE = "no output reaches a threshold above 1; here a score of 1 passes"
_FORGIVEN = "a set of weight 0 can still fail the test; here it cannot"
_TRANSFORM_FAILS = "a transform that fails ends the whole test; here it fails its check alone"
_TRANSFORM_ALONE = "a transform that fails ends the test; here no check reads what it makes"
# The calls that a transform may chain on an output, as steps of `on`.
_STEPS: Mapping[str, Any] = {".trim()": TRIM_STEP, ".toLowerCase()": "lower"}
_FOUND = rf"(?:(?P<pattern>{REGEX})(?P<flags>[a-z]*)|(?P<text>{STRING}))"
_REMOVE = rf"\.replace\(\s*{_FOUND}\s*,\s*(?:''|\"\")\s*\)"
_CALL = re.compile(rf"\s*(?:(?P<plain>\.trim\(\)|\.toLowerCase\(\))|{_REMOVE})")
_RETURN = re.compile(r"return\b[ \t]*(?![\s$])")
# What begins a statement, which no expression begins with.
_STATEMENT = re.compile(
    r"(?:break|const|continue|do|for|if|let|switch|throw|try|var|while)\b(?!\$)"
)
# A line that names what comes of calls, and the line that returns it.
_NAMED = re.compile(r"(?:const|let|var)\s+([A-Za-z_]\w*)\s*=\s*([A-Za-z_]\w*)(\..*)?", re.ASCII)
_RETURNED = re.compile(r"return\s+([A-Za-z_]\w*)(\..*)?", re.ASCII)
_PATH = re.compile(r"JSON\.parse\(output\)((?:\.[A-Za-z_]\w*|\[[0-9]{1,4}\])+)", re.ASCII)
TRANSFORMS = ("transform", "postprocess")


@dataclass(frozen=True, slots=True)
class PlacedAssertion:
    """An assertion as a test has it, and its place."""

    raw: Any
    part: AssertionPart

    @property
    def pointer(self) -> Pointer:
        """Its place in the document."""
        return self.part.pointer


@dataclass(slots=True)
class TestGrading:
    """The result of a test's or set's assertions: weighted checks, losses, and leftovers."""

    checks: list[Check] = field(default_factory=list)
    names: list[Sequence[Any]] = field(default_factory=list)
    weights: list[Number] = field(default_factory=list)
    is_partial: bool = False
    losses: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    notes: list[MigrationNote] = field(default_factory=list)
    leftovers: list[dict[str, Any]] = field(default_factory=list)
    drafts: list[ArtifactDraft] = field(default_factory=list)

    def add(self, check: Check, raw: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
        """Add the check for an assertion."""
        metric = raw.get("metric")
        name = fill_known(metric, variables) if isinstance(metric, str) else None
        self.checks.append(check)
        self.names.append((name, raw["type"]))
        self.weights.append(read_weight(raw))

    def set_aside(self, placed: PlacedAssertion, reason: str) -> None:
        """Keep an assertion that no check can express, with a note."""
        self.leftovers.append({"value": encode_value(placed.raw), "reason": reason})
        self.notes.append(MigrationNote(placed.pointer, MigrationOutcome.UNMAPPED, reason))

    @property
    def is_unsaid(self) -> bool:
        """Whether there are assertions, but no check for any of them."""
        return bool(self.leftovers) and not self.checks


def read_weight(raw: Mapping[str, Any]) -> Number:
    """Return the weight of an assertion. Raises `StopError` for what the program does not load."""
    weight = raw.get("weight", 1)
    if not is_number(weight):
        raise StopError(f"a weight is {describe_type(weight)}")
    if weight < 0:
        raise UnsayableError("a weight below 0 can lift a score above 1")
    return weight


def grade_assertions(
    placed: Iterable[PlacedAssertion],
    form: Mapping[str, Any],
    transforms: Sequence[Any] = (),
    *,
    in_set: bool = False,
) -> TestGrading:
    """Return what assertions come to; `transforms` are those of their test."""
    grading, is_read = TestGrading(), False
    _refuse_broken(transforms)
    for one in placed:
        if not isinstance(one.raw, dict) or not isinstance(one.raw.get("type"), str):
            raise StopError("an assertion is not an object with a type")
        if one.raw["type"] == SET:
            if in_set:
                raise StopError("a set of assertions holds another")
            _add_set(one, form, transforms, grading)
            is_read |= bool(one.raw.get("assert"))
        else:
            _add_assertion(one, form, transforms, grading)
            is_read = True
    if not is_read and not in_set and _may_fail(transforms):
        grading.losses.append(_TRANSFORM_ALONE)
    return grading


def _may_fail(transforms: Sequence[Any]) -> bool:
    """Whether a transform may end a test in an error."""
    try:
        return bool(read_transforms(transforms, ())[1])
    except UnsayableError:
        return True


def _add_assertion(
    one: PlacedAssertion, form: Mapping[str, Any], transforms: Sequence[Any], grading: TestGrading
) -> None:
    read_weight(one.raw)
    own = [one.raw["transform"]] if "transform" in one.raw else []
    _refuse_broken(own)
    grading.remarks += describe_unknown_keys(
        (key for key in one.raw if key not in form["assertion"]), form["assertion"]
    )
    reading = read_assertion(replace(one.part, raw=one.raw), form["types"])
    if reading.check is None:
        grading.set_aside(one, reading.reason)
        return
    try:
        steps, losses = read_transforms(transforms, own)
    except UnsayableError as unsayable:
        grading.set_aside(one, str(unsayable))
        return
    steps += reading.check.get("on", [])
    check = {**reading.check, **({"on": steps} if steps else {})}
    grading.add(check, one.raw, one.part.variables)
    grading.is_partial |= reading.is_partial
    grading.losses += [*reading.losses, *losses]
    grading.remarks += reading.remarks
    grading.drafts += reading.drafts


def read_transforms(of_test: Sequence[Any], own: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the steps of `on` for the transforms of a test and an assertion, and what is lost."""
    steps, losses = list[Any](), list[str]()
    for expression in (*of_test, *own):
        text = _find_expression(expression) if isinstance(expression, str) else ""
        if made := _read_calls(text):
            steps += made
        elif own and expression is own[-1] and (match := _PATH.fullmatch(text)):
            steps.append({"json_path": f"${match[1]}"})
            losses.append(_TRANSFORM_FAILS)
        else:
            name = make_excerpt(text or describe_type(expression), SHORT_EXCERPT)
            raise UnsayableError(f"no steps of a check do what the transform {name} does")
    return steps, losses


def _read_calls(text: str) -> list[Any]:
    """Return the steps for a chain of calls on `output`; empty if one of them is unknown."""
    if not text.startswith("output"):
        return []
    steps, place = list[Any](), len("output")
    while match := _CALL.match(text, place):
        step = _STEPS[match["plain"]] if match["plain"] else _read_removal(match)
        if step is None:
            return []
        steps.append(step)
        place = match.end()
    return steps if place == len(text) else []


def _refuse_broken(transforms: Sequence[Any]) -> None:
    """Raise `StopError` for a transform that the program cannot run."""
    for expression in transforms:
        if isinstance(expression, str):
            _find_expression(expression)


def _find_expression(code: str) -> str:
    """Return the expression that a transform computes.

    Several lines of code are the body of a function; one line is an expression. Raises `StopError`
    if the code is not written that way.
    """
    text = code.strip().removesuffix(";").rstrip()
    is_body = "\n" in code
    if not is_body and (word := _STATEMENT.match(text)):
        raise StopError(f"a transform of one line is an expression, and begins with {word[0]}")
    text = _join_lines(text) if is_body else text
    returned = _RETURN.match(text)
    if is_body and not returned and (_read_calls(text) or _PATH.fullmatch(text)):
        raise StopError("a transform of several lines returns nothing")
    if returned and not is_body:
        raise StopError("a transform of one line is an expression, and begins with return")
    return text[returned.end() :] if returned else text


def _join_lines(body: str) -> str:
    """Return a body whose lines name what comes of calls as one `return`; any other as it is."""
    lines = [line.strip().removesuffix(";").rstrip() for line in body.splitlines()]
    *heads, last = filter(None, lines)
    calls = {"output": "output"}
    for line in heads:
        named = _NAMED.fullmatch(line)
        if named is None or named[1] in calls or named[2] not in calls:
            return body
        calls[named[1]] = f"{calls[named[2]]}{named[3] or ''}"
    returned = _RETURNED.fullmatch(last)
    if returned is None or returned[1] not in calls:
        return body
    return f"return {calls[returned[1]]}{returned[2] or ''}"


def _read_removal(match: re.Match[str]) -> Any:
    """Return the step for a call that deletes matches of a pattern or a text, or None."""
    if match["text"] is not None:
        text = read_string(match["text"])
        if has_half_character(text) or not text:
            return None
        return {"remove": {"pattern": re.escape(text), "only_first": True}}
    flags = match["flags"]
    found = translate_pattern(escape_literals(match["pattern"][1:-1]), flags.replace("g", ""))
    if found is None or not set(flags) <= set("gims") or len(set(flags)) < len(flags):
        return None
    pattern, said = found
    matcher = compile_matcher(pattern, said, "findall")
    if isinstance(matcher, str) or matcher.limit_problem:
        return None
    options = {
        **({"flags": said} if said else {}),
        **({} if "g" in flags else {"only_first": True}),
    }
    return {"remove": {"pattern": pattern, **options} if options else pattern}


def _add_set(
    one: PlacedAssertion, form: Mapping[str, Any], transforms: Sequence[Any], grading: TestGrading
) -> None:
    """Add a set of assertions as a separate rubric."""
    members = one.raw.get("assert")
    if not isinstance(members, list):
        raise StopError("the assertions of a set are not a list")
    counts, own = one.part.score_counts, one.raw.get("threshold")
    counts = counts or read_threshold(own, one.part.release) is not None
    part = replace(one.part, score_counts=counts, is_in_set=True)
    placed: list[PlacedAssertion] = []
    for index, raw in enumerate(members):
        pointer = (*one.pointer, "assert", index)
        placed.append(PlacedAssertion(raw, replace(part, pointer=pointer)))
    inner = grade_assertions(placed, form, transforms, in_set=True)
    weight = read_weight(one.raw)
    grading.notes += inner.notes
    if inner.is_unsaid:
        grading.set_aside(one, "none of its assertions can be said here")
        return
    value, is_own = build_value(inner, one.raw.get("threshold"), one.part.release)
    draft = draft_rubric(value, str(one.raw.get("metric") or "set"), one.pointer)
    grading.add({"kind": "composite", "rubric_ref": draft.ref}, one.raw, one.part.variables)
    grading.is_partial |= is_own
    grading.losses += [*inner.losses, *([] if weight else [_FORGIVEN])]
    grading.remarks += inner.remarks
    grading.drafts += [*inner.drafts, draft]


def build_value(
    grading: TestGrading, threshold: Any, release: ProgramRelease
) -> tuple[dict[str, Any], bool]:
    """Return the rubric of graded assertions, and whether it may pass below 1, or fail at 1.

    Their losses are added to the grading's.
    """
    ids = make_check_ids([*grading.names, *([] if any(grading.weights) else [("no_weight",)])])
    checks, weights = list(grading.checks), list(grading.weights)
    bar = read_threshold(threshold, release)
    is_own = grading.is_partial or bar not in {None, 1}
    if not any(weights):
        # If all weights are 0, the program's score is 0, and passes unless there is a threshold.
        checks, weights, is_own = [*checks, dict(NEVER)], [*weights, 1], True
        bar = bar if bar is not None else 0
    if bar is not None and bar > 1:
        grading.losses.append(_ABOVE_ONE)
    grading.losses += [_PARTIAL] if grading.leftovers else []
    unequal = {id_: weight for id_, weight in zip(ids, weights, strict=True) if weight != 1}
    asks = any(check["kind"] == "llm_judge" for check in checks)
    scoring = {
        "combine": "weighted_avg",
        **({"weights": unequal} if unequal else {}),
        **_decide_verdict(bar, is_partial=grading.is_partial),
        **({"errors": "zero"} if asks else {}),
    }
    aside = {"x_unmapped": grading.leftovers} if grading.leftovers else {}
    return {
        "checks": [{"id": id_, **check} for id_, check in zip(ids, checks, strict=True)],
        "scoring": scoring,
        **aside,
    }, is_own


def _decide_verdict(bar: Number | None, *, is_partial: bool) -> dict[str, Any]:
    """Return what decides the verdict: a threshold, or that every part passes.

    If every part is binary, "every part passes" is the same as a mean of 1.
    """
    if bar is None and is_partial:
        return {"verdict": "all"}
    return {"threshold": 1 if bar is None else min(1, max(0, bar))}


def read_threshold(threshold: Any, release: ProgramRelease) -> Number | None:
    """Return the threshold of a test or a set; None if every part must pass."""
    if not is_number(threshold) or (not threshold and not release.zero_counts):
        return None
    return threshold


def list_transforms(options: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the transform of a test, under its current or its old name."""
    yield from [options[key] for key in TRANSFORMS if options.get(key)][:1]
