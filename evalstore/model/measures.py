"""Numbers that a run recorded about an output: its duration, cost and tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

_LARGEST = Decimal(10**18)  # every count is less
_PLAIN_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,40})?")
_MOST_PLACES = 40  # decimals of a number, so that each can be written in one line


class Measures(NamedTuple):
    """The numbers by name; None if not recorded."""

    latency_ms: Decimal | None = None
    cost_usd: Decimal | None = None
    input_tokens: Decimal | None = None
    output_tokens: Decimal | None = None

    @property
    def recorded(self) -> dict[str, Decimal]:
        """The recorded numbers, by name."""
        return {name: value for name, value in self._asdict().items() if value is not None}


MEASURES = Measures._fields
NO_MEASURES = Measures()


def read_measures(record: Mapping[str, Any]) -> Measures:
    """Return what a record has under the names of the measures; the rest stay None."""
    if record.keys().isdisjoint(MEASURES):
        return NO_MEASURES
    return Measures(*(read_measure(record.get(name)) for name in MEASURES))


def read_measure(value: Any) -> Decimal | None:
    """Return a number of 0 or more; None for anything else, and for absurdly large ones.

    Table cells are text, so a text that is a plain number counts, too.
    """
    is_plain_text = isinstance(value, str) and _PLAIN_NUMBER.fullmatch(value)
    if isinstance(value, bool) or not (is_plain_text or isinstance(value, int | float | Decimal)):
        return None
    number = Decimal(str(value))
    if not number.is_finite() or not 0 <= number < _LARGEST:
        return None
    exponent = number.as_tuple().exponent
    return number if isinstance(exponent, int) and exponent >= -_MOST_PLACES else None


def scale_seconds(value: Any) -> Decimal | None:
    """Convert seconds to milliseconds."""
    seconds = read_measure(value)
    return None if seconds is None else seconds.scaleb(3)
