"""Loads a store's rubrics once each, ready to grade samples with judges' replies from memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import getLogger
from pathlib import Path

from evalstore.errors import EvalstoreError
from evalstore.integrations.inspect.judging import GRADER_ROLE
from evalstore.integrations.rubric_scorer import ReplyLookup, Ruler, load_ruler
from evalstore.scoring.grading import ArtifactResolver
from evalstore.store import ArtifactStore

_log = getLogger(__name__)


@dataclass(slots=True)
class RubricCache:
    """The rubrics of the store at `place`, which is open only while one is loaded. Not thread-safe."""

    place: Path
    _loaded: dict[str, Ruler] = field(default_factory=dict)

    def load_rubric(self, ref: str) -> Ruler:
        """Return the rubric that `ref` names; raises what `Store.open` and `Store.resolve` raise, and `SchemaError`."""
        if ref not in self._loaded:
            with open_store(self.place) as used:
                self._loaded[ref] = load_ruler(used, ref)
        return self._loaded[ref]


@contextmanager
def open_store(place: Path | str) -> Iterator[ArtifactResolver]:
    """Open a store while something is read from it; its notes are logged as warnings at the end."""
    with _add_hints_as_notes(), ArtifactStore.open(place) as store:
        used = ArtifactResolver(store, ReplyLookup().find_reply, {"id": GRADER_ROLE})
        yield used
    for note in used.notes:
        _log.warning(note)


def locate_store(store: ArtifactStore | Path | str) -> str:
    """Return a store's path as text for Inspect's log; a relative path stays relative."""
    if isinstance(store, ArtifactStore):
        return str(store.root or store.git.directory)
    return str(store)


@contextmanager
def _add_hints_as_notes() -> Iterator[None]:
    """Add an error's hint as a note of the exception, because Inspect shows notes."""
    try:
        yield
    except EvalstoreError as error:
        if error.hint:
            error.add_note(error.hint)
        raise
