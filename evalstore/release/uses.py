"""What one file refers to, how often, and for how many questions; and, without parsing, what it could refer to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evalstore.errors import Place, RefError
from evalstore.model import Kind, Ref, parse_ref, pins_of
from evalstore.store import ArtifactStore, Resolved

_NAME = rb"(?:rubric|judge|dataset)/[a-z][a-z0-9_]{0,63}(?![a-z0-9_])"
_MENTION = re.compile(rb"(%s)(@[0-9])?" % _NAME)
_HIDING = re.compile(rb"\\[xuU/\r\n]")  # how YAML and JSON may write the letters of a reference otherwise
_OVERLAP = 128  # bytes, more than any mention has


@dataclass(frozen=True, slots=True)
class Mentions:
    """What some bytes may refer to; `floating`: perhaps without an exact version, `hidden`: anything at all."""

    names: frozenset[str] = frozenset()
    floating: bool = False
    hidden: bool = False


ANYTHING = Mentions(floating=True, hidden=True)


@dataclass(frozen=True, slots=True)
class Use:
    """One reference of one artifact (`user`, with its pin), as it is written, and the first of its `places`.

    `questions` are those that it grades; `scores` is False where it only records what a judge was measured on.
    """

    user: str
    ref: Ref
    place: Place
    places: int = 1
    questions: int = 0
    scores: bool = True

    @property
    def name(self) -> str:
        """The user's `<kind>/<id>`."""
        return self.user.partition("@")[0]


@dataclass(frozen=True, slots=True)
class Uses:
    """What one artifact refers to, its version, and how many questions it has."""

    version: str
    questions: int
    uses: tuple[Use, ...]


def read_mentions(pieces: Iterable[bytes]) -> Mentions:
    """Return what bytes mention: never less than they refer to, because a reference stands in one line."""
    names: set[str] = set()
    floating = hidden = False
    rest = b""
    for piece in pieces:
        data = rest + piece
        found = _MENTION.findall(data)
        names |= {name.decode("ascii") for name, _ in found}
        floating = floating or not all(pin for _, pin in found)
        hidden = hidden or _HIDING.search(data) is not None
        rest = data[-_OVERLAP:]
    return Mentions(frozenset(names), floating or hidden, hidden)


def read_uses(store: ArtifactStore, resolved: Resolved, user: str) -> Uses:
    """Return what an artifact refers to, equal references as one; what cannot be read as a reference is left out."""
    first: dict[str, Place] = {}
    places: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    document, value = resolved.artifact.document, resolved.artifact.value
    for pointer, text in pins_of(resolved.kind, value):
        if text not in first:
            first[text] = document.place(pointer)
        places[text] += 1
        asked[text] += pointer[0] == "questions"
    inline = value.get("questions")
    questions = len(inline) if isinstance(inline, list) and "rows" not in value else 0
    for line, row in enumerate(store.read_rows(resolved), start=1):
        questions += 1
        if isinstance(ref := row.get("rubric_ref"), str):
            first.setdefault(ref, Place(f"{resolved.kind.folder}/{value['rows']}", line))
            places[ref] += 1
            asked[ref] += 1
    if default := _default(value):
        asked[default] += questions - asked.total()
    scores = resolved.kind is not Kind.JUDGE  # which says only what it was measured on
    uses = (
        Use(user, parsed, place, places[text], asked[text], scores)
        for text, place in first.items()
        if (parsed := _parsed(text)) is not None
    )
    return Uses(resolved.version, questions, tuple(uses))


def _default(value: Mapping[str, Any]) -> str | None:
    """Return the reference that grades the questions of a dataset which name none."""
    defaults = value.get("defaults")
    text = defaults.get("rubric_ref") if isinstance(defaults, dict) else None
    return text if isinstance(text, str) else None


def _parsed(text: str) -> Ref | None:
    try:
        return parse_ref(text)
    except RefError:
        return None
