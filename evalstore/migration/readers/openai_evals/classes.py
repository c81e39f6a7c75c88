"""Translates each class of openai/evals to the checks of one sample, with what they lose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalstore.checks.steps import apply_respelling
from evalstore.documents import read_legacy_json
from evalstore.errors import LoadError
from evalstore.migration.value_readings import describe_type

_NEVER = "(?!)"  # a pattern that matches no text
# How FuzzyMatch normalizes an output and an ideal before it compares them.
_NORMAL = ["lower", "no_punctuation", "no_articles", "collapse_space", "strip"]
# A text of n characters has about n²/2 pieces, and all of them are written into the question.
_LONGEST_IDEAL = 24
_LONG = (
    "an ideal of more than {} characters: that an output is a piece of it passes there, and not "
    "here"
)
_JSON_EQUAL = (
    "JSON is equal as Python has it: null never equals null, true equals 1, a doubled key counts "
    "once, Infinity is a number; here it is equal as JSON"
)
_JSON_VALID = "Python's JSON takes NaN, Infinity and doubled keys; here they are not JSON"
_ODD = "one of its ideals is {}: the program stops there"
_ODD_LATER = (
    "an answer that begins with none of its first ideals ({}) stops the program, as the next one "
    "is {}; here it fails"
)
_F1 = "its second score, the F1 of words, is not computed"


@dataclass(frozen=True, slots=True)
class SampleChecks:
    """The checks of one sample, of which one must pass, and what they lose.

    `remarks` do not affect the score.
    """

    checks: tuple[Mapping[str, Any], ...]
    losses: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def build_checks(class_: str, args: Mapping[str, Any], row: Mapping[str, Any]) -> SampleChecks:
    """Return the checks of a sample under a class of `CLASSES`.

    Raises `LoadError` if openai/evals would stop at the sample.
    """
    return CLASSES[class_](args, row)


def _build_match(_: Mapping[str, Any], row: Mapping[str, Any]) -> SampleChecks:
    """Pass an output that begins with an ideal.

    openai/evals tries the ideals in turn and stops at one that is not a text, so only those before
    it count.
    """
    ideals = _list_ideals(row)
    odd = _find_odd_ideal(ideals)
    if odd == 0:
        raise LoadError(_ODD.format(describe_type(ideals[0])))
    texts = ideals[:odd]
    pattern = rf"\A(?:{'|'.join(map(re.escape, texts))})" if texts else _NEVER
    losses = () if odd is None else (_ODD_LATER.format(len(texts), describe_type(ideals[odd])),)
    return SampleChecks(({"id": "match", "kind": "regex", "pattern": pattern},), losses)


def _build_includes(args: Mapping[str, Any], row: Mapping[str, Any]) -> SampleChecks:
    ideals = _read_ideals(row)
    if not ideals or "" in ideals:
        pattern = r"\A" if ideals else _NEVER
        return SampleChecks(({"id": "includes", "kind": "regex", "pattern": pattern},))
    folds = bool(args.get("ignore_case"))
    check = {"kind": "must_contain_any", "values": ideals, "case_sensitive": not folds}
    return SampleChecks(({"id": "includes", **check},))


def _build_fuzzy_match(_: Mapping[str, Any], row: Mapping[str, Any]) -> SampleChecks:
    """Pass an output that contains an ideal or is a piece of one, after both are normalized.

    An empty output matches an empty ideal.
    """
    ideals = _read_ideals(row)
    if not ideals:
        raise LoadError("its list of ideals is empty: the program stops there")
    normal = dict.fromkeys(apply_respelling(ideal, _NORMAL) for ideal in ideals)
    words = [ideal for ideal in normal if ideal]
    short = [ideal for ideal in words if len(ideal) <= _LONGEST_IDEAL]
    pieces = dict.fromkeys(piece for ideal in short for piece in _list_pieces(ideal))
    targets = [*pieces, *([""] if "" in normal else [])]
    contains = {"id": "contains", "kind": "must_contain_any", "values": words, "on": _NORMAL}
    piece_of = {"id": "piece_of", "kind": "target_match", "targets": targets, "on": _NORMAL}
    losses = (_LONG.format(_LONGEST_IDEAL),) if len(short) < len(words) else ()
    checks = (*([contains] if words else []), *([piece_of] if targets else []))
    return SampleChecks(checks, losses, (_F1,))


def _list_pieces(text: str) -> Iterator[str]:
    """Yield the non-empty pieces of a text that a normalized output can equal.

    "the" in "anthem" is not one: normalization removes it from an output.
    """
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            if apply_respelling(text[start:end], _NORMAL) == text[start:end]:
                yield text[start:end]


def _build_json_match(_: Mapping[str, Any], row: Mapping[str, Any]) -> SampleChecks:
    values = []
    for ideal in _read_ideals(row):
        try:
            document = read_legacy_json(ideal, "the ideal")
        except LoadError:
            raise LoadError("an ideal is not JSON: the program stops there") from None
        # No output that is JSON here equals NaN or Infinity.
        values += [] if document.opaque else [{"const": document.value}]
    schema: dict[str, Any] = {"anyOf": values} if values else {"not": {}}
    check = {"id": "json_match", "kind": "json_schema", "schema": schema, "extract": "whole"}
    return SampleChecks((check,), (_JSON_EQUAL,))


def _build_json_validator(_: Mapping[str, Any], __: Mapping[str, Any]) -> SampleChecks:
    check = {"id": "json", "kind": "json_schema", "schema": True, "extract": "whole"}
    return SampleChecks((check,), (_JSON_VALID,))


def _read_ideals(row: Mapping[str, Any]) -> Sequence[str]:
    """Return the ideals. Raises `LoadError` for what is not text, on which the program stops."""
    ideals = _list_ideals(row)
    odd = _find_odd_ideal(ideals)
    if odd is not None:
        raise LoadError(_ODD.format(describe_type(ideals[odd])))
    return ideals


def _list_ideals(row: Mapping[str, Any]) -> list[Any]:
    """Return the list of ideals (a text is one ideal); raises `LoadError` for another value."""
    if "ideal" not in row:
        raise LoadError("it has no ideal: the program stops there")
    ideal = row["ideal"]
    if not isinstance(ideal, str | list):
        raise LoadError(f"its ideal is {describe_type(ideal)}: the program stops there")
    return [ideal] if isinstance(ideal, str) else ideal


def _find_odd_ideal(ideals: Sequence[Any]) -> int | None:
    return next((at for at, item in enumerate(ideals) if not isinstance(item, str)), None)


CLASSES: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], SampleChecks]] = {
    "evals.elsuite.basic.match:Match": _build_match,
    "evals.elsuite.basic.includes:Includes": _build_includes,
    "evals.elsuite.basic.fuzzy_match:FuzzyMatch": _build_fuzzy_match,
    "evals.elsuite.basic.json_match:JsonMatch": _build_json_match,
    "evals.elsuite.basic.json_validator:JsonValidator": _build_json_validator,
}
