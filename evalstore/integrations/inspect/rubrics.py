"""Loads a store's rubrics once each, ready to grade samples with judges' replies from memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from logging import getLogger
from pathlib import Path

from evalstore.errors import EvalstoreError
from evalstore.integrations.inspect.judging import GRADER_ROLE
from evalstore.model import JudgeCall, JudgeReply, Kind, RubricResult, Sample
from evalstore.runs import UsedArtifact
from evalstore.scoring.grading import ArtifactResolver, PreparedRubric
from evalstore.store import ArtifactStore

_log = getLogger(__name__)


@dataclass(slots=True)
class ReplyLookup:
    """Answers the checks of one rubric from known replies, and notes the calls whose replies are missing."""

    replies: Mapping[str, JudgeReply] = field(default_factory=dict)
    missing: dict[str, JudgeCall] = field(default_factory=dict)

    def find_reply(self, call: JudgeCall) -> JudgeReply:
        """Return the reply to a call, or note the call."""
        key = call.key
        if key in self.replies:
            return self.replies[key]
        self.missing[key] = call
        return JudgeReply(problem="not asked yet")


@dataclass(frozen=True, slots=True)
class LoadedRubric:
    """One prepared rubric; `judges` are those that it and its inner rubrics refer to."""

    rubric: PreparedRubric
    judges: tuple[UsedArtifact, ...]
    lookup: ReplyLookup

    def grade(self, sample: Sample, replies: Mapping[str, JudgeReply]) -> tuple[RubricResult, Mapping[str, JudgeCall]]:
        """Grade one sample with `replies` (by call key); returns the result and the calls whose replies are missing.

        Not thread-safe.
        """
        self.lookup.replies, self.lookup.missing = replies, {}
        return self.rubric.grade(sample), self.lookup.missing


@dataclass(slots=True)
class RubricCache:
    """The rubrics of the store at `place`, which is open only while one is loaded. Not thread-safe."""

    place: Path
    _loaded: dict[str, LoadedRubric] = field(default_factory=dict)

    def load_rubric(self, ref: str) -> LoadedRubric:
        """Return the rubric that `ref` names; raises what `Store.open` and `Store.resolve` raise, and `SchemaError`."""
        if ref not in self._loaded:
            self._loaded[ref] = _load_rubric(self.place, ref)
        return self._loaded[ref]


@contextmanager
def open_store(place: Path | str, lookup: ReplyLookup | None = None) -> Iterator[ArtifactResolver]:
    """Open a store while something is read from it; its notes are logged as warnings at the end."""
    with _add_hints_as_notes(), ArtifactStore.open(place) as store:
        used = ArtifactResolver(store, (lookup or ReplyLookup()).find_reply, {"id": GRADER_ROLE})
        yield used
    for note in used.notes:
        _log.warning(note)


def locate_store(store: ArtifactStore | Path | str) -> str:
    """Return a store's path as text for Inspect's log; a relative path stays relative."""
    if isinstance(store, ArtifactStore):
        return str(store.root or store.git.directory)
    return str(store)


def _load_rubric(place: Path, ref: str) -> LoadedRubric:
    lookup = ReplyLookup()
    with open_store(place, lookup) as used:
        return LoadedRubric(used.prepare_rubric(ref), used.list_pins(Kind.JUDGE), lookup)


@contextmanager
def _add_hints_as_notes() -> Iterator[None]:
    """Add an error's hint as a note of the exception, because Inspect shows notes."""
    try:
        yield
    except EvalstoreError as error:
        if error.hint:
            error.add_note(error.hint)
        raise
