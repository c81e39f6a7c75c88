"""Reads checks of the output: its text, JSON and JSON fields, and limits of its record."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.languages.patterns import compile_pattern, find_dialect_difference
from evalstore.migration.extraction import MigrationNote
from evalstore.migration.javascript.patterns import (
    escape_literals,
    find_flag_error,
    find_syntax_error,
    translate_pattern,
)
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers.agentevals.grading import (
    Check,
    GradingTerms,
    Raw,
    SuitePart,
    Term,
    describe_open_places,
    fill_variables,
    join_gradings,
    note_losses,
    parse_number,
)
from evalstore.migration.value_readings import is_number
from evalstore.text import SHORT_EXCERPT, make_excerpt

_ALWAYS: Check = {"kind": "regex", "pattern": "\\A"}
_NEVER: Check = {"kind": "regex", "pattern": "(?!)"}
_NEVER_COMPILES = (
    "the pattern {} does not compile in JavaScript ({}): the runner gives it 0 for every answer "
    "and says nothing, and it never matches here"
)
_FLAGS = "ims"
_UNICODE_FLAGS = "uv"
# The pattern is tried only at the beginning.
_STICKY = "y"
# Paths of JSON fields: names after dots, indexes in brackets.
_STEP = re.compile(r"([^.\[\]]+)|\[([0-9]{1,4})\]")
_PATH = re.compile(r"(?:[^.\[\]]+(?:\[[0-9]{1,4}\])*)(?:\.[^.\[\]]+(?:\[[0-9]{1,4}\])*)*")
_MISSING = object()
_AS_IT_IS = "the pattern {} is JavaScript's, and run as it is: {}"
_TOTAL = "max_total"
_NEGATED_GAP = "the runner passes a negated limit where nothing was recorded; here that counts 0"
_KNOWN = ("exact", "numeric_tolerance", "date")  # a tuple: raw values may not be hashable
_LOSSY = (
    "the runner leaves out optional fields that the answer lacks; here they count as right",
    "the runner reads the numbers in texts as numbers, and compares what it finds in its own way",
)


def read_substrings(part: SuitePart) -> GradingTerms:
    """Read a text, or texts any or all of which must be in the output.

    For types with several, it is a list of texts.
    """
    value, row, at = part.get("value"), part.row, part.enter("value")
    several = row.get("several", False)
    items: list[Any] = [value]
    if several:
        items = value if isinstance(value, list) else []
    texts = [text for text in items if isinstance(text, str) and (text or several)]
    if not texts:
        return at.skip(f"its value is not a {'list of texts' if several else 'text'}")
    values = [fill_variables(text, part.scope) for text in texts]
    if open_ := next(
        filter(None, (describe_open_places(text, part.scope) for text in values)), None
    ):
        return part.set_aside(open_)
    grading = part.grade(_build_contains(values, row["check"], every=row.get("all", False)))
    misfits = [index for index, text in enumerate(items) if not isinstance(text, str)]
    return join_gradings([grading, *(at.enter(index).skip("it is not text") for index in misfits)])


def _build_contains(texts: list[str], check: Check, *, every: bool) -> Check:
    wanted = list(dict.fromkeys(texts))
    if "" in wanted:  # the empty text is in every output
        wanted = [text for text in wanted if text] if every else []
    if not wanted:
        return dict(_ALWAYS)
    least = {"min_matches": len(wanted)} if every and len(wanted) > 1 else {}
    return {**check, "values": wanted, **least}


def read_trimmed_text(part: SuitePart) -> GradingTerms:
    """Read a text that the output begins with, ends with or equals.

    Both are trimmed as in JavaScript.
    """
    value = part.get("value")
    if not isinstance(value, str) or not value:
        return part.enter("value").skip("its value is not text")
    if open_ := describe_open_places(text := fill_variables(value, part.scope), part.scope):
        return part.set_aside(open_)
    space = part.scope.form["space"]
    trimmed = re.sub(rf"\A{space}+|{space}+\Z", "", text)
    pattern = part.row["check"]["pattern"].format(space=space, value=re.escape(trimmed))
    return part.grade({"kind": "regex", "pattern": pattern})


def read_pattern(part: SuitePart) -> GradingTerms:
    """Read a JavaScript pattern.

    It is translated exactly if possible, else unchanged with a loss.
    """
    value, flags = (
        part.get("value"),
        part.get("flags") if isinstance(part.get("flags"), str) else "",
    )
    if not isinstance(value, str) or not value:
        return part.enter("value").skip("its value is not text")
    if open_ := describe_open_places(value, part.scope):
        return part.set_aside(open_)
    if error := find_syntax_error(value) or find_flag_error(flags):
        remark = _NEVER_COMPILES.format(make_excerpt(value, SHORT_EXCERPT), error)
        note = MigrationNote((*part.pointer, "value"), MigrationOutcome.MIGRATED, remark)
        return part.grade(dict(_NEVER)) + GradingTerms(notes=(note,))
    known_flags = "".join(flag for flag in _FLAGS if flag in flags)
    unknown_flags = "".join(flag for flag in _UNICODE_FLAGS if flag in flags)
    exact = None if unknown_flags else translate_pattern(escape_literals(value), known_flags)
    pattern, own_flags = exact or (value, known_flags)
    if isinstance(problem := compile_pattern(pattern, own_flags), str):
        return part.set_aside(f"it is not a pattern that evalstore can run: {problem}")
    check: Check = {
        "kind": "regex",
        "pattern": pattern,
        **({"flags": own_flags} if own_flags else {}),
        **({"mode": "match"} if _STICKY in flags else {}),
    }
    if exact is not None and find_dialect_difference(pattern, own_flags) is None:
        return part.grade(check)
    why = "it has words that JavaScript and Python read otherwise"
    if unknown_flags:
        why = f"with the flag {unknown_flags} its words mean something else there"
    return part.grade(check, _AS_IT_IS.format(make_excerpt(value, SHORT_EXCERPT), why))


def read_fixed_check(part: SuitePart) -> GradingTerms:
    """Read a check without parameters."""
    return part.grade(dict(part.row["check"])) + note_losses(part.row.get("lossy", ""))


def read_limits(part: SuitePart) -> GradingTerms:
    """Read upper limits for numbers that a run records about an output."""
    if part.get(_TOTAL) is not None:
        return part.set_aside("no check limits the sum of tokens")
    found = {key: part.get(key) for key in part.row["measures"] if part.get(key) is not None}
    if not found or not all(is_number(most) and most >= 0 for most in found.values()):
        return part.skip(f"it has no limit: {' or '.join(part.row['measures'])}")
    limits = {part.row["measures"][key]: {"max": most} for key, most in found.items()}
    losses = (_NEGATED_GAP,) if part.get("negate") is True else ()
    remark = f"a run has to record {' and '.join(limits)}: an output without counts 0"
    note = MigrationNote(part.pointer, MigrationOutcome.MIGRATED, remark)
    return part.grade({"kind": "limits", **limits}, *losses) + GradingTerms(notes=(note,))


def read_fields(part: SuitePart) -> GradingTerms:
    """Read a list of JSON fields (path, comparison, weight) as one group of JSON Schema checks."""
    items = part.get("fields")
    if not isinstance(items, list) or not items:
        return part.skip("it has no fields")
    if isinstance(part.scope.expected, str):
        return part.set_aside(
            "the expected answer is a text, and it is not known whether the runner reads "
            "fields in it"
        )
    grading = join_gradings(_read_field(part.enter("fields", index)) for index in range(len(items)))
    if not grading.terms:
        return grading
    combine = "all_pass" if part.get("aggregation") == "all_or_nothing" else "weighted_avg"
    group = Term(
        part.name,
        part.pointer,
        members=grading.terms,
        combine=combine,
        steps=0,
        unmapped=grading.unmapped,
    )
    return GradingTerms((group,), _LOSSY, grading.notes)


def _read_field(part: SuitePart) -> GradingTerms:
    path, match = part.get("path"), part.get("match")
    if not isinstance(path, str) or not path:
        return part.skip("it has no path of a field")
    if match not in _KNOWN:
        return part.skip(
            f"it does not know the way {make_excerpt(str(match), SHORT_EXCERPT)} to compare"
        )
    if not _PATH.fullmatch(path):
        return part.set_aside(
            f"it is not known where the runner finds {make_excerpt(path, SHORT_EXCERPT)}"
        )
    steps: list[str | int] = [name or int(index) for name, index in _STEP.findall(path)]
    expected = _find_value(part.scope.expected, steps)
    if expected is not _MISSING and match == "date":
        return part.set_aside("no check kind compares dates")
    value = {} if expected is _MISSING else _build_value_schema(expected, part.raw)
    if value is None:
        return part.set_aside("the expected value is not a number, or its tolerance is none")
    # One schema per field; its path becomes nested properties and items.
    schema = _build_path_schema(steps, value, required=part.get("required") is not False)
    check: Check = {"kind": "json_schema", "schema": schema}
    if expected is _MISSING:
        # A field without an expected value always counts as right, with its weight.
        check = {**_ALWAYS, "description": "the test expects nothing of this field"}
    return GradingTerms((Term(path, part.pointer, check, weight=part.weight),)) + part.check_keys(
        "field"
    )


def _build_value_schema(expected: Any, raw: Raw) -> dict[str, Any] | None:
    if raw["match"] == "exact":
        return {"const": expected}
    middle, width = parse_number(expected), parse_number(raw.get("tolerance", 0))
    if middle is None or width is None or width < 0:
        return None
    # A relative tolerance is a share of the expected value.
    width *= abs(middle) if raw.get("relative") is True else 1
    low, high = _to_decimal(middle - width), _to_decimal(middle + width)
    return (
        None if low is None or high is None else {"type": "number", "minimum": low, "maximum": high}
    )


def _build_path_schema(
    steps: list[str | int], value: dict[str, Any], *, required: bool
) -> dict[str, Any]:
    for step in reversed(steps):
        if isinstance(step, str):
            limits: dict[str, Any] = {"required": [step]} if required else {}
            value = {"type": "object", "properties": {step: value}, **limits}
        else:
            limits = {"minItems": step + 1} if required else {}
            value = {"type": "array", "prefixItems": [*([True] * step), value], **limits}
    return value


def _find_value(value: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(step, str):
            value = value.get(step, _MISSING) if isinstance(value, dict) else _MISSING
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else _MISSING
    return value


def _to_decimal(value: Fraction) -> int | Decimal | None:
    if value.denominator == 1:
        return int(value)
    decimal = Decimal(value.numerator) / Decimal(value.denominator)
    return decimal if Fraction(decimal) == value else None
