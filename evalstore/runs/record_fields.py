"""Reads typed fields of a foreign record, a run's or a row's, or raises why it is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from decimal import Decimal
from fractions import Fraction
from typing import Any

from evalstore.errors import LoadError, Place
from evalstore.text import make_excerpt

# `Fraction` would also accept 1e999999999, and compute all its digits.
_EXACT = re.compile("-?[0-9]{1,4000}(?:/0*[1-9][0-9]{0,3999})?", re.ASCII)
_COUNT = re.compile("[0-9]{1,18}", re.ASCII)
_SHAPE_ERRORS = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def explain_shape_errors(place: Place, sentence: str) -> AbstractContextManager[None]:
    """Turn an error about a record's shape into a `LoadError`: `sentence`, then what is wrong."""
    return _ShapeErrors(place, sentence)


class _ShapeErrors(AbstractContextManager[None]):
    """The context of `explain_shape_errors`: a class, five times as fast as a generator per row."""

    __slots__ = ("_place", "_sentence")

    def __init__(self, place: Place, sentence: str) -> None:
        self._place, self._sentence = place, sentence

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _SHAPE_ERRORS):
            message = f"{self._sentence}: {_describe_shape_error(error)}"
            raise LoadError(message, place=self._place) from None


def require_text(holder: Mapping[str, Any], key: str) -> str:
    """Return a required text."""
    if isinstance(value := holder[key], str):
        return value
    raise ValueError(f"its `{key}` is not text")


def read_text_or(holder: Mapping[str, Any], key: str, default: str = "") -> str:
    """Return an optional text, or `default` if it is absent or null."""
    found = holder.get(key)
    if isinstance(found, str):
        return found
    return default if found is None else require_text(holder, key)


def read_count(value: Any) -> int:
    """Return a count, written as a number or as a text."""
    if isinstance(value, str | int) and _COUNT.fullmatch(str(value)):
        return int(value)
    raise ValueError(f"'{make_excerpt(str(value), 40)}' is not a count")


def get_mapping(holder: Any, key: str) -> Mapping[str, Any]:
    """Return an optional mapping, empty if absent: old versions and other tools leave parts out."""
    found = holder.get(key) if isinstance(holder, dict) else None
    return found if isinstance(found, dict) else {}


def read_number(score: Any) -> Fraction | None:
    """Return a score exactly, None for null; true and false (allowed until 0.2.0) are 1 and 0."""
    if score is None or isinstance(score, int | Decimal):
        return None if score is None else Fraction(score)
    raise ValueError(f"its score '{make_excerpt(str(score), 40)}' is not a number")


def parse_exact_score(text: str) -> Fraction | None:
    """Parse an exact score as evalstore writes it, such as `2/3`."""
    if not text:
        return None
    if not _EXACT.fullmatch(text):
        raise ValueError(f"'{make_excerpt(text, 40)}' is not an exact score")
    return Fraction(text)


def _describe_shape_error(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {make_excerpt(str(error))}"
    return (
        make_excerpt(str(error))
        if isinstance(error, ValueError)
        else "a value in it has another shape"
    )
