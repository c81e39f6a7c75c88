"""What counts as a number in a record: true and false do not."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeGuard


def is_number(value: Any) -> TypeGuard[int | Decimal]:
    """Whether a value is a number; true and false are not."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
