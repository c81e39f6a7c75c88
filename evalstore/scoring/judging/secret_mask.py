"""Hides the key of an endpoint in the endpoint's answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_MASK = "[key]"
# The least length of a real key; servers without keys are given a word such as `none`.
_LEAST_LENGTH = 8


@dataclass(frozen=True, slots=True)
class SecretMask:
    """The spellings of one key: an endpoint may echo it as it is, or escaped in JSON."""

    key: str = field(repr=False)
    _spellings: re.Pattern[str] | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Bounded backslashes: else a body of nothing but backslashes takes quadratic time.
        pattern = ""
        for char in self.key:
            pattern += rf"(?:\\{{0,7}}{re.escape(char)}|\\{{1,7}}[uU]00(?i:{ord(char):02x}))"
        object.__setattr__(self, "_spellings", re.compile(pattern) if self.key else None)

    def hide(self, text: str) -> str:
        """Return a text without the key."""
        return self._spellings.sub(_MASK, text) if self._spellings else text

    def hide_in_reply(self, text: str) -> str:
        """Return a reply without the key, unless the key is so short that it may be a word."""
        return self.hide(text) if len(self.key) >= _LEAST_LENGTH else text
