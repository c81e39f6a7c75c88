"""A store's rubrics, each loaded once and ready to grade samples that are handed the judges' replies."""

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
class ReplyDesk:
    """Where the checks of one rubric ask: the replies that there are, and the calls of those that there are not."""

    replies: Mapping[str, JudgeReply] = field(default_factory=dict)
    missing: dict[str, JudgeCall] = field(default_factory=dict)

    def answer_or_note(self, call: JudgeCall) -> JudgeReply:
        """Return the reply to a call, or note the call."""
        key = call.key
        if key in self.replies:
            return self.replies[key]
        self.missing[key] = call
        return JudgeReply(problem="not asked yet")


@dataclass(frozen=True, slots=True)
class LoadedRubric:
    """One rubric, prepared; `judges` are those that it and the rubrics within it refer to."""

    rubric: PreparedRubric
    judges: tuple[UsedArtifact, ...]
    desk: ReplyDesk

    def grade(self, sample: Sample, replies: Mapping[str, JudgeReply]) -> tuple[RubricResult, Mapping[str, JudgeCall]]:
        """Grade one sample with the replies that there are, by the key of their call; and say which are missing.

        Not for two threads at one time.
        """
        self.desk.replies, self.desk.missing = replies, {}
        return self.rubric.grade(sample), self.desk.missing


@dataclass(slots=True)
class RubricCache:
    """The rubrics of the store at `place`; it is open only while one is loaded. Not for two threads at one time."""

    place: Path
    _loaded: dict[str, LoadedRubric] = field(default_factory=dict)

    def load_rubric(self, ref: str) -> LoadedRubric:
        """Return the rubric that `ref` names; raises what `Store.open` and `Store.resolve` raise, and `SchemaError`."""
        if ref not in self._loaded:
            self._loaded[ref] = _load_rubric(self.place, ref)
        return self._loaded[ref]


@contextmanager
def open_store(place: Path | str, desk: ReplyDesk | None = None) -> Iterator[ArtifactResolver]:
    """Open a store for as long as something is read from it; afterwards what was odd is a warning of the log."""
    with _add_hints_as_notes(), ArtifactStore.open(place) as store:
        used = ArtifactResolver(store, (desk or ReplyDesk()).answer_or_note, {"id": GRADER_ROLE})
        yield used
    for note in used.notes:
        _log.warning(note)


def locate_store(store: ArtifactStore | Path | str) -> str:
    """Return where a store lies, as a text that a log can keep; a relative path stays one."""
    if isinstance(store, ArtifactStore):
        return str(store.root or store.git.directory)
    return str(store)


def _load_rubric(place: Path, ref: str) -> LoadedRubric:
    desk = ReplyDesk()
    with open_store(place, desk) as used:
        return LoadedRubric(used.prepare_rubric(ref), used.list_pins(Kind.JUDGE), desk)


@contextmanager
def _add_hints_as_notes() -> Iterator[None]:
    """Keep the hint of an error where Inspect shows it: it knows nothing of hints, but it shows notes."""
    try:
        yield
    except EvalstoreError as error:
        if error.hint:
            error.add_note(error.hint)
        raise
