"""One JSON document, so written that neither a terminal nor the log of a CI system acts on it."""

from __future__ import annotations

import json
from typing import Any


def dump(document: Any) -> str:
    """Return the document in ASCII; `##`, with which a command within a log line begins, is written as escapes."""
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("##", "\\u0023\\u0023")  # only a string has one
