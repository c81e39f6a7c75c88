"""Lints a judge: its template can be filled, its reply can be read, its validation is current."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from evalstore.checks.judges import READS_NO_IDLE_ANSWER
from evalstore.checks.reply_patterns import (
    find_object_pattern_problem,
    find_pattern_limit,
    find_pattern_problem,
    find_quoted_answer,
    is_pattern_idle,
)
from evalstore.checks.template import TemplateTag, find_tag_starts, find_tags
from evalstore.documents import Document, Pointer
from evalstore.documents.document import locate_offset
from evalstore.errors import Place
from evalstore.languages.patterns import find_dialect_difference
from evalstore.lint.notes import (
    Note,
    describe_value,
    get_mapping,
    list_texts,
    make_note,
    suggest_name,
)
from evalstore.lint.secrets import lint_secrets
from evalstore.lint.words.placeholders import find_in_template
from evalstore.model import MALFORMED_ERRORS, Artifact, ScoreType, read_judge
from evalstore.model.judge import BUILTIN_VARIABLES, CRITERIA
from evalstore.text import SHORT_DIGEST

_KNOWN_TAGS = (
    "valid tags are {{ x }}, {{{ x }}}, {{! a comment }}, {{# x }}…{{/ x }} and {{^ x }}…{{/ x }}"
)
# Below this, a rate of one half is known no better than to a quarter either way.
LEAST_ROWS = 30
_RETIREMENT_DAYS = 90  # before the day on which a judge's model is switched off
_ANSWERS = {
    ScoreType.BINARY: "verdict: pass, fail, yes, no, true, false, 1 or 0",
    ScoreType.CONTINUOUS: "number",
    ScoreType.LEVELS: "name of `level_names`",
}
_EVIDENCE = ("tpr", "tnr", "validated_at")
_TEMPLATE, _FIRST = ("template",), ("first", "template")
_FORMAT, _OR_IDLE = "response_format", "json_or_na"


def lint_judge(artifact: Artifact, max_age: int, today: date) -> Iterator[Note]:
    """Yield a judge's own findings; `max_age` is in days."""
    value = artifact.document.value
    if isinstance(value, dict):
        yield from lint_prompt(artifact)
        yield from lint_secrets(value)
        yield from _lint_rates(value)
        yield from _lint_age(artifact, max_age, today)
        yield from _lint_evidence(artifact)
        yield from _lint_retirement(value, today)


def lint_prompt(artifact: Artifact) -> Iterator[Note]:
    """Yield what is wrong with what a judge asks, and with how its reply is read."""
    document = artifact.document
    filled = [*BUILTIN_VARIABLES, *(name for _, name in list_texts(document.value, "variables"))]
    first = get_mapping(document.value, "first")
    if fills := first.get("fills"):
        yield from _lint_template(document, _FIRST, filled)
        yield from _lint_filled(document.value, fills)
        filled.append(fills)
    yield from _lint_template(document, _TEMPLATE, filled)
    yield from _lint_reply_pattern(document.value)
    for key in ("first", "reads"):
        yield from _lint_object_pattern(get_mapping(document.value, key), (key, "pattern"))
    if "reads" in document.value and get_mapping(document.value, "model").get(_FORMAT) == _OR_IDLE:
        hint = "write response_format: json, or remove `reads`"
        at = ("model", _FORMAT)
        yield make_note("check-problem", at, message=READS_NO_IDLE_ANSWER, hint=hint)


def _lint_filled(value: dict[str, Any], fills: Any) -> Iterator[Note]:
    """Yield that a first prompt is asked for nothing."""
    template = value.get("template")
    tags = find_tags(template) if isinstance(template, str) else ()
    if all(tag.name != fills for tag in tags):
        yield make_note(
            "check-problem",
            ("first", "fills"),
            message=f"`template` does not show {describe_value(fills)}, so its reply has no effect",
            hint=f"write {{{{ {fills} }}}} into the template, or remove `first`",
        )


def _lint_object_pattern(keys: dict[str, Any], at: Pointer) -> Iterator[Note]:
    pattern = keys.get("pattern")
    problem = find_object_pattern_problem(pattern) if isinstance(pattern, str) else None
    if problem:
        hint = "use the syntax of Python's re; what it matches is read as JSON"
        yield make_note("check-problem", at, message=problem, hint=hint)


def _lint_template(document: Document, at: Pointer, filled: Sequence[str]) -> Iterator[Note]:
    """Yield what is wrong with the template at a pointer, of which `filled` are the variables."""
    *parents, key = at
    holder = document.value
    for parent in parents:
        holder = holder[parent]
    template = holder.get(key)
    if not isinstance(template, str):
        return
    reported, place_of = set[str](), _find_tag_places(document, at, template)
    tags = [*find_tags(template)]
    is_broken = any(tag.problem for tag in tags)
    if at == _TEMPLATE and template and not is_broken and not _shows_output(tags):
        yield make_note("template-output-unread", at)
    for wrong in find_in_template(template, filled):
        yield make_note(
            "placeholder-unfilled",
            at,
            place=_find_place(document, at, wrong.written),
            found=wrong.written,
            hint=wrong.hint,
        )
    for tag in tags:
        place = place_of(tag.number)
        if tag.problem:
            yield make_note(
                "template-malformed",
                at,
                place=place,
                message=tag.problem,
                hint=_KNOWN_TAGS,
            )
        elif tag.sigil != "!" and tag.name not in filled and tag.name not in reported:
            reported.add(tag.name)
            # A `criterion` is more likely one that a check fills in than a misspelling.
            meant = [name for name in filled if name != CRITERIA]
            hint = suggest_name(
                tag.name, meant, "declare it under `variables:` so that checks can fill it"
            )
            yield make_note(
                "template-variable-unfilled", at, place=place, found=tag.name, hint=hint
            )


def _shows_output(tags: list[TemplateTag]) -> bool:
    """Whether the output is shown.

    A section only asks whether there is one; `{{^ output }}` opens if there is none.
    """
    inside: list[bool] = []
    for tag in tags:
        if tag.sigil in {"#", "^"}:
            inside.append(tag.sigil == "^" and tag.name == "output")
        elif tag.sigil == "/":
            inside.pop()
        elif not tag.sigil and tag.name == "output" and not any(inside):
            return True
    return False


def _find_tag_places(document: Document, at: Pointer, template: str) -> Callable[[int], Place]:
    """Return a function from the number of a tag of a template to its place.

    If YAML writes the text differently, it is the template's place.
    """
    begin, (_, _, start, end) = document.locate(at), document.spans[at]
    text = document.text[:end]
    offsets = [start + offset for offset in find_tag_starts(text[start:])]
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    if len(offsets) != sum(1 for _ in find_tag_starts(template)):
        return lambda _: begin

    def place(number: int) -> Place:
        line = bisect_right(lines, offsets[number])
        return Place(document.file, line, offsets[number] - lines[line - 1] + 1)

    return place


def _find_place(document: Document, at: Pointer, written: str) -> Place | None:
    """Return where these characters of a template are; None if YAML writes them differently."""
    _, _, start, end = document.spans[at]
    offset = document.text.find(written, start, end)
    return locate_offset(document.text, offset, document.file) if offset >= 0 else None


def _lint_reply_pattern(value: dict[str, Any]) -> Iterator[Note]:
    if not isinstance(pattern := value.get("reply_pattern"), str):
        return
    if broken := find_pattern_problem(pattern):
        hint = "use the syntax of Python's re, with the answer in the first group"
        yield make_note("check-broken", ("reply_pattern",), message=broken, hint=hint)
    elif other := find_dialect_difference(pattern, ""):
        yield make_note(
            "check-problem",
            ("reply_pattern",),
            message=other,
            hint="write it so that both read it alike",
        )
    if limit := find_pattern_limit(pattern):
        from evalstore.languages.patterns import LIMIT_HINT

        yield make_note("check-problem", ("reply_pattern",), message=limit, hint=LIMIT_HINT)
    try:
        judge = read_judge(value)
    except MALFORMED_ERRORS:  # its schema says what is wrong
        return
    if answer := find_quoted_answer(judge):
        yield make_note("reply-pattern-loose", ("reply_pattern",), found=describe_value(answer))
    if is_pattern_idle(judge):
        yield make_note("reply-pattern-idle", ("reply_pattern",), wanted=_ANSWERS[judge.score_type])


def _lint_rates(value: dict[str, Any]) -> Iterator[Note]:
    for key in ("tpr", "tnr"):
        rate = get_mapping(value, "validation").get(key)
        if isinstance(rate, int | Decimal) and not isinstance(rate, bool) and not 0 <= rate <= 1:
            yield make_note(
                "judge-rate-outside",
                ("validation", key),
                name=f"`{key}`",
                found=describe_value(rate),
            )


def _lint_age(artifact: Artifact, max_age: int, today: date) -> Iterator[Note]:
    validation = get_mapping(artifact.value, "validation")
    pointer: Pointer = ("validation",)
    if missing := [key for key in _EVIDENCE if validation.get(key) is None]:
        what = (
            f"`validation` has no {' and no '.join(missing)}"
            if validation
            else "`validation` is missing"
        )
        yield make_note(
            "judge-unvalidated", pointer if validation else ("id",), of_key=True, missing=what
        )
    written = validation.get("validated_at")
    if not isinstance(written, str):
        return
    try:
        day = date.fromisoformat(written[:10])
    except ValueError:
        yield make_note(
            "judge-date-malformed", (*pointer, "validated_at"), found=describe_value(written)
        )
        return
    if (days := (today - day).days) > max_age:
        where, why = (
            (*pointer, "validated_at"),
            f"it is from {day}, {days} days ago, and the limit is {max_age}",
        )
        yield make_note("judge-validation-stale", where, why=why)


def _lint_evidence(artifact: Artifact) -> Iterator[Note]:
    """Yield why a validation is not evidence: other content, few rows, a constant answer."""
    validation = get_mapping(artifact.value, "validation")
    digest = validation.get("digest")
    if isinstance(digest, str) and digest != artifact.scoring_digest:
        why = (
            f"it measured {digest[:SHORT_DIGEST]}…, and the judge is now "
            f"{artifact.scoring_digest[:SHORT_DIGEST]}…"
        )
        yield make_note("judge-validation-stale", ("validation", "digest"), why=why)
    size = validation.get("sample_size")
    if isinstance(size, int) and not isinstance(size, bool) and 0 < size < LEAST_ROWS:
        yield make_note(
            "judge-sample-small", ("validation", "sample_size"), found=size, least=LEAST_ROWS
        )
    rates = [validation.get(key) for key in ("tpr", "tnr")]
    numbers = [
        rate for rate in rates if isinstance(rate, int | Decimal) and not isinstance(rate, bool)
    ]
    # Youden's J: at 0 the verdicts do not depend on the answers, so Cohen's kappa is 0, too.
    if len(numbers) == len(rates) and sum(numbers) <= 1:
        percents = [f"{rate * 100:.0f} %" for rate in numbers]
        yield make_note(
            "judge-no-better-than-baseline", ("validation", "tnr"), tpr=percents[0], tnr=percents[1]
        )


def _lint_retirement(value: dict[str, Any], today: date) -> Iterator[Note]:
    written = value.get("retires")
    if not isinstance(written, str):
        return
    try:
        day = date.fromisoformat(written)
    except ValueError:
        yield make_note("judge-date-malformed", ("retires",), found=describe_value(written))
        return
    left = (day - today).days
    if left <= _RETIREMENT_DAYS:
        when = f"retires in {left} days, on {day}" if left > 0 else f"was retired on {day}"
        yield make_note("judge-model-retires", ("retires",), when=when, today=today)
