"""Remembers between runs which artifacts are sound by themselves: whatever else there is, their text has no finding.

What is kept is a fact of the text, the artifact's name, the keys that are declared, and the code that judged it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from evalstore.about import VERSION
from evalstore.model import Artifact
from evalstore.resources import find_resource_folder

_PACKAGE = Path(__file__).parents[1]
# The packages whose code says what is wrong with a text: ours, and those that read its patterns and schemas.
_OWN = ("checks", "documents", "model", "schemas", "validation")
_OTHERS = ("jsonschema", "markdown_it", "regex", "tree_sitter", "tree_sitter_php")


class KeptFacts(Protocol):
    """A store of facts by the bytes that they follow from."""

    def has(self, data: bytes) -> bool:
        """Whether the fact of these bytes is kept."""

    def add(self, data: bytes, value: Any) -> None:
        """Keep a fact of these bytes."""


class SoundTexts(NamedTuple):
    """The artifacts of which an earlier run has found that nothing is wrong with them alone."""

    kept: KeptFacts
    cosmetic: frozenset[str]

    def has(self, artifact: Artifact) -> bool:
        """Whether an artifact is known to be sound."""
        return self.kept.has(self._describe(artifact))

    def add(self, artifact: Artifact) -> None:
        """Keep that an artifact is sound."""
        self.kept.add(self._describe(artifact), None)

    def _describe(self, artifact: Artifact) -> bytes:
        facts = f"sound {_describe_code()} {sorted(self.cosmetic)} {artifact.document.file[-5:]} {artifact.name}"
        return f"{facts}\0{artifact.document.text}".encode()


@cache
def _describe_code() -> str:
    """Return a digest of the code and the schemas by which texts are judged."""
    stamps = [
        (str(path), status.st_size, status.st_mtime_ns)
        for path in _list_files()
        if path.suffix in {".py", ".json"} and (status := path.stat())
    ]
    others = [
        (spec.origin, Path(spec.origin).stat().st_mtime_ns) for spec in map(find_spec, _OTHERS) if spec and spec.origin
    ]
    return hashlib.sha256(repr((VERSION, sys.version, stamps, others)).encode()).hexdigest()


def _list_files() -> Iterator[Path]:
    yield from sorted(_PACKAGE.iterdir())
    for folder in (*(_PACKAGE / name for name in _OWN), find_resource_folder("schema")):
        yield from sorted(folder.rglob("*"))
