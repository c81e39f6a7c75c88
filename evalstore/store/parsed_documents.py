"""Parses each YAML file of a run once, by its bytes: most working files are, byte for byte, what a release holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from evalstore.documents import Document, read_yaml

_KEPT_TEXT = 8 << 20  # bytes of files; parsed they take some ten times as much


@dataclass(slots=True)
class ParsedDocuments:
    """The documents of this run by their bytes, up to a size."""

    _by_content: dict[bytes, Document] = field(default_factory=dict)
    _room: int = _KEPT_TEXT

    def read(self, data: bytes, file: str) -> Document:
        """Return the document of a YAML file's bytes; raises as `read_yaml`."""
        document = self._by_content.get(data)
        if document is not None:
            return document.rename(file)
        document = read_yaml(data, file)
        if len(data) <= self._room:
            self._room -= len(data)
            self._by_content[data] = document
        return document
