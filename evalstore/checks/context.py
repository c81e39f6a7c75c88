"""What check kinds work with: artifacts, judges' replies, phrases, and problems of a check."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.documents import Pointer
from evalstore.errors import RefError
from evalstore.model import Artifact, Grade, JudgeCall, JudgeReply, Kind, Sample

# A check for which everything that depends only on its parameters was done once, before the first
# output.
GradeFunction = Callable[[Sample], Grade]


def grade_always(graded: Grade) -> GradeFunction:
    """Return a check that gives this grade to every output."""
    return lambda _: graded


def find_median(scores: Sequence[Fraction]) -> Fraction:
    """Return the exact median of at least one score.

    For an even number, the mean of the middle two.
    """
    ordered = sorted(scores)
    # Both indices are the middle one if the number of scores is odd.
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


class CheckProblem(NamedTuple):
    """What a schema cannot see in a check, at a place within it.

    `blocks`: it keeps every output from being graded.
    """

    pointer: Pointer
    message: str
    hint: str
    blocks: bool = False


def _no_reply(call: JudgeCall) -> JudgeReply:  # noqa: ARG001  # the signature of `ask`
    return JudgeReply(problem="no judge endpoint was given")


@dataclass(frozen=True, slots=True)
class CheckContext:
    """How to load an artifact and to ask a judge, with the same answers throughout a grading.

    `load` raises `RefError` for what does not exist (None: there is no store). `ask` returns a
    `JudgeReply`, with a `problem` if there is no reply. `model` is the run's choice of a judge's
    model if neither check nor judge names one. `strict` accepts no answer of an approximate engine.
    """

    load: Callable[[str], Artifact] | None = None
    ask: Callable[[JudgeCall], JudgeReply] = _no_reply
    model: Mapping[str, Any] = field(default_factory=dict)
    strict: bool = False

    def load_artifact(self, ref: str, kind: Kind) -> Artifact:
        """Return the artifact of this kind that `ref` names, or raise `RefError`."""
        if self.load is None:
            raise RefError(f"{ref} cannot be resolved: no store was given")
        artifact = self.load(ref)
        if artifact.kind is not kind:
            raise RefError(f"{ref} is a {artifact.kind}, not a {kind}")
        return artifact


NO_CONTEXT = CheckContext()
