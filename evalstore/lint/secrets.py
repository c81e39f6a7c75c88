"""Finds keys and passwords that somebody wrote into a judge or a check's model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from evalstore.documents import Pointer
from evalstore.lint.notes import Note, make_note

# The words in a key behind which a secret is; `max_tokens` and `stop_token` are not among them.
_NAME = re.compile(
    r"(?:.*_)?(?:api_?key|secret|secret_?key|access_?key|private_?key|subscription_?key|"
    r"password|passwd|pwd|authorization|credentials?|cookie|"
    r"(?:(?:api|access|auth|bearer|refresh|session|id|hf|github|openai)_?)?token)"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# What its form shows to be secret, whatever its key: a specific header, and keys as their issuers
# write them. A name that begins like a key (`skill_creator_statement`,
# `sk-short-answers-of-people`) has no mark after its prefix, or neither a digit nor sixteen letters
# in a row.
_HEADER = r"(?i:bearer|basic) [\w.~+/-]{8,}=*"
_ISSUED = r"(?:sk-|gsk_|xai-|hf_|gh[op]_|glpat-)(?=.*\d|.*\w{16})[\w-]{16,}|AKIA[0-9A-Z]{16}"
_VALUE = re.compile(f"{_HEADER}|{_ISSUED}")
# It names an environment variable, and contains no secret.
_EMPTY = re.compile(r"\s*|\$\w+|\$?\{\{?[^{}]*\}\}?|<[^<>]*>|\*+|\.+|…")
_PROSE = frozenset({"template", "examples", "description", "title"})


def lint_secrets(value: Any, at: Pointer = ()) -> Iterator[Note]:
    """Yield each secret in a mapping or list by its place, at any depth, without showing it."""
    for key, item in _iterate_items(value):
        if key in _PROSE and not at:
            continue
        if isinstance(item, dict | list):
            yield from lint_secrets(item, (*at, key))
        elif isinstance(item, str) and not _EMPTY.fullmatch(item) and _is_secret(key, item):
            yield make_note("secret-written", (*at, key), of_key=isinstance(key, str), found=key)


def _iterate_items(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _is_secret(key: Any, text: str) -> bool:
    name = re.sub(r"[-\s.]+", "_", _CAMEL.sub("_", str(key))).lower()
    return bool(_NAME.fullmatch(name) or _VALUE.fullmatch(text))
