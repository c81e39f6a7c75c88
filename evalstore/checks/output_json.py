"""What an output's JSON is graded by: strict JSON is read once, and its value is given to the check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalstore.documents import read_value
from evalstore.errors import LimitError, LoadError
from evalstore.model import Grade
from evalstore.model.outcome import grade_binary, grade_error
from evalstore.text import EXCERPT, make_excerpt


def grade_json(text: str, grade_value: Callable[[Any], Grade]) -> Grade:
    """Return the grade of the JSON's value; text that is not JSON fails, JSON beyond the limits is unscored (error).

    Strict JSON (RFC 8259) has no key twice, no NaN, no half of a surrogate pair, and around it only four white spaces.
    """
    # A file may begin with one, and its reader takes it; a text that is graded may not, as in `JSON.parse`.
    if text.startswith("\ufeff"):
        return grade_binary(False, "not JSON: it begins with a byte order mark")
    try:
        value = read_value(text, "output")
    except LimitError as limit:
        return grade_error(make_excerpt(limit.message))
    except LoadError as broken:
        line = f" (line {broken.place.line})" if broken.place else ""
        return grade_binary(
            False, f"not JSON{line}: {make_excerpt(broken.message.removeprefix('not JSON: '), EXCERPT)}"
        )
    return grade_value(value)
