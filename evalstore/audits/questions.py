"""How questions changed between the datasets of two runs: their references, and the rubrics that grade them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evalstore.audits.rulers import VersionFinder
from evalstore.audits.stored import QuestionVersion, StoredRun, asked_of
from evalstore.audits.values import EditSource, Origin

_REFERENCE_RULE = "question-reference-changed"
_REFERENCE_MESSAGE = "graders read other expected answers"


@dataclass(frozen=True, slots=True)
class QuestionHistory:
    """Questions that changed, version by version (None where a version lacks one), and the origin of each step."""

    versions: Mapping[str, Sequence[QuestionVersion | None]]
    origins: Sequence[Origin] = ()


@dataclass(frozen=True, slots=True)
class ReferenceHistory:
    """One question's reference before and after each step that changed it, and where the steps came from."""

    states: tuple[QuestionVersion, ...]
    sources: tuple[EditSource, ...] = ()


def read_history(a: StoredRun, b: StoredRun, ids: Sequence[str], rulers: VersionFinder) -> QuestionHistory:
    """Read the datasets between two runs for those of `ids` that have another reference or another rubric."""
    changed = {id_ for id_ in ids if a.asked[id_].reference != b.asked[id_].reference or _has_other_rubric(a, b, id_)}
    if not changed:
        return QuestionHistory({})
    way = rulers.way(a.dataset, b.dataset)
    between = [
        {question.id: asked_of(question) for question in rulers.store.read_questions(version.resolved)}
        for version in way.versions[1:-1]
    ]
    versions: list[Mapping[str, QuestionVersion]] = [a.asked, *between, b.asked]
    return QuestionHistory({id_: [asked.get(id_) for asked in versions] for id_ in changed}, way.origins)


def references_of(history: QuestionHistory, asked: QuestionVersion) -> ReferenceHistory:
    """Return how the reference of one question changed; `asked` is the question of run A."""
    states, sources = [asked], []
    for step, now in enumerate(history.versions.get(asked.question.id, ())):
        if now is not None and now.reference != states[-1].reference:
            states.append(now)
            sources.append(
                EditSource(
                    _REFERENCE_RULE, history.origins[step - 1], rules=(_REFERENCE_RULE,), message=_REFERENCE_MESSAGE
                )
            )
    # There and back again is no change.
    unchanged = states[0].reference == states[-1].reference
    return ReferenceHistory((asked,)) if unchanged else ReferenceHistory(tuple(states), tuple(sources))


def find_repin(history: QuestionHistory, id_: str, rubric: str) -> Origin | None:
    """Return the step that last made `rubric` (a name without a pin) the one that grades a question."""
    names = [None if asked is None else _read_rubric_name(asked) for asked in history.versions.get(id_, ())]
    steps = (step for step, (old, new) in enumerate(pairwise(names)) if old != rubric == new)
    return next((history.origins[step] for step in reversed([*steps])), None)


def _has_other_rubric(a: StoredRun, b: StoredRun, id_: str) -> bool:
    return a.rows[id_].rubric.partition("@")[0] != b.rows[id_].rubric.partition("@")[0]


def _read_rubric_name(asked: QuestionVersion) -> str:
    return (asked.question.rubric_ref or "").partition("@")[0]
