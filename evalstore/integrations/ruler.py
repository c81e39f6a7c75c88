"""A rubric with all that it refers to, as one value: it grades in any thread and any process, without its store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from threading import Lock
from typing import Any

from evalstore.checks import CheckContext, prepare_rubric
from evalstore.errors import RefError
from evalstore.model import Artifact, JudgeCall, JudgeReply, Kind, RubricResult, Sample, read_rubric
from evalstore.runs import UsedArtifact
from evalstore.scoring.grading import ArtifactResolver


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


class _Bench:
    """What one process makes of a ruler: prepared checks, and the lock under which they grade."""

    def __init__(self, ruler: Ruler) -> None:
        self.lock, self.lookup = Lock(), ReplyLookup()
        context = CheckContext(ruler.load, self.lookup.find_reply, ruler.model, strict=ruler.strict)
        self.grade: Callable[[Sample], RubricResult] = prepare_rubric(read_rubric(ruler.rubric.value), context)


@dataclass(frozen=True)
class Ruler:
    """One rubric: its pin, the artifact, what its checks refer to by reference, and the judges among that.

    `model` is what judges and checks without a model of their own name; `strict` takes no approximate engine. Equal
    rulers give equal results; to pickle one keeps all of it but what is prepared.
    """

    pin: UsedArtifact
    rubric: Artifact
    artifacts: Mapping[str, Artifact]
    judges: tuple[UsedArtifact, ...]
    model: Mapping[str, Any]
    strict: bool
    _bench: list[_Bench] = field(default_factory=list, compare=False, repr=False)

    @property
    def threshold(self) -> Fraction:
        """The score from which on the rubric passes."""
        return read_rubric(self.rubric.value).scoring.threshold

    def load(self, ref: str) -> Artifact:
        """Return what a check refers to."""
        if ref not in self.artifacts:
            raise RefError(f"{ref} is not part of {self.pin.ref}")
        return self.artifacts[ref]

    def grade(self, sample: Sample, replies: Mapping[str, JudgeReply]) -> tuple[RubricResult, Mapping[str, JudgeCall]]:
        """Grade one sample with `replies` (by call key); returns the result and the calls whose replies are missing."""
        if not self._bench:
            self._bench.append(_Bench(self))
        bench = self._bench[0]
        # Parsers and patterns keep state while they work.
        with bench.lock:
            bench.lookup.replies, bench.lookup.missing = replies, {}
            return bench.grade(sample), bench.lookup.missing

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_bench": []}


def load_ruler(used: ArtifactResolver, ref: str) -> Ruler:
    """Return the rubric that `ref` names, with everything that it refers to."""
    prepared, resolved = used.prepare_rubric(ref), used.resolve(ref)
    return Ruler(
        prepared.pin, resolved.artifact, used.artifacts, used.list_pins(Kind.JUDGE), used.model, used.store.strict
    )
