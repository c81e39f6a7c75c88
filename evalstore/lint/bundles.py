"""Reads the schema bundles of a store, each once, and notes broken ones."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.documents import read_json
from evalstore.errors import EvalstoreError, LoadError, Place
from evalstore.files import SMALL_FILE, read_below
from evalstore.lint.notes import Note, get_mapping, make_note
from evalstore.lint.sources import BUNDLE_FOLDER, BUNDLE_SUFFIX

if TYPE_CHECKING:
    from evalstore.languages.schemas import Schema


class Bundle(NamedTuple):
    """A bundle's schema with the fields it names, or a note on why there is none."""

    schema: Schema | None = None
    fields: frozenset[str] = frozenset()
    broken: Note | None = None


@dataclass(frozen=True, slots=True)
class Bundles:
    """The bundles of the stores in one run, read on first use."""

    settings: Any
    _read: dict[tuple[Path, str], Bundle | None] = field(default_factory=dict)
    _names: dict[Path, list[str]] = field(default_factory=dict)

    def find_bundle(self, root: Path, name: str) -> Bundle | None:
        """Return the bundle `name` of the store at `root`, or None when it has no schema."""
        if (root, name) not in self._read:
            self._read[root, name] = self._read_bundle(root, name)
        return self._read[root, name]

    def _read_bundle(self, root: Path, name: str) -> Bundle | None:
        path = locate_bundle(self.settings, name)
        if name not in get_mapping(self.settings, BUNDLE_FOLDER) and not os.path.lexists(
            root / path
        ):
            return None
        return read_bundle(root, path, name)

    def list_names(self, root: Path) -> list[str]:
        """Return the bundles for which the store at `root` has schemas."""
        if root not in self._names:
            files = (root / BUNDLE_FOLDER).glob(f"*{BUNDLE_SUFFIX}")
            names = {
                *get_mapping(self.settings, BUNDLE_FOLDER),
                *(path.name.removesuffix(BUNDLE_SUFFIX) for path in files),
            }
            self._names[root] = sorted(names)
        return self._names[root]


def locate_bundle(settings: Any, name: str) -> str:
    """Return the path of a bundle's schema below the root of the store."""
    declared = get_mapping(settings, BUNDLE_FOLDER).get(name)
    return declared if isinstance(declared, str) else f"{BUNDLE_FOLDER}/{name}{BUNDLE_SUFFIX}"


def read_bundle(root: Path, path: str, name: str, shown: str = "") -> Bundle:
    """Read and compile one schema; `shown` is the name of its file in findings."""
    file = shown or path
    try:
        data = read_below(root, path, SMALL_FILE)
        value = read_json(data, file).value
        if not isinstance(value, dict):
            raise LoadError("a schema must be a mapping", place=Place(file, 1, 1))
        fields = get_mapping(value, "properties")
        from evalstore.languages.schemas import compile_untrusted

        return Bundle(compile_untrusted(value), frozenset(fields))
    except EvalstoreError as error:
        place = (
            Place(file, error.place.line, error.place.column) if error.place else Place(file, 1, 1)
        )
        return Bundle(broken=note_broken_bundle(name, error, place))


def note_broken_bundle(name: str, error: EvalstoreError, place: Place | None) -> Note:
    """Return the note of a schema that cannot be read or applied."""
    return make_note(
        "bundle-broken",
        ("bundle",),
        place=place,
        found=name,
        message=error.message,
        hint=error.hint or "",
    )
