"""Remembers between runs which artifacts are sound by themselves: whatever else there is, their text has no finding.

What is kept is a fact of the text, the artifact's name and the keys that are declared, by the code that judged it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from evalstore.model import Artifact


class KeptFacts(Protocol):
    """A store of facts by the bytes that they follow from, for the same code."""

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
        facts = f"sound {sorted(self.cosmetic)} {artifact.document.file[-5:]} {artifact.name}"
        return f"{facts}\0{artifact.document.text}".encode()
