"""Completes a run from its counts, and from the rubrics and judges that graded it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalstore.documents import format_exact, write_canonical
from evalstore.errors import Place, RefusedError
from evalstore.model import Kind
from evalstore.model.outcome import APPROXIMATE, MissingSetting
from evalstore.runs import Run, UsedArtifact
from evalstore.runs.tally import RunTally
from evalstore.scoring.grading import ArtifactResolver
from evalstore.scoring.judging import JudgeSession, JudgeUsage
from evalstore.scoring.matching import OutputMatcher
from evalstore.text import make_excerpt

Pins = tuple[UsedArtifact, ...]
_HOW_TO_GIVE = {
    MissingSetting.MODEL: "name the model with --judge-model NAME or EVALSTORE_JUDGE_MODEL",
    MissingSetting.ENDPOINT: "name the endpoint to ask with --judge-url URL or EVALSTORE_JUDGE_URL",
    MissingSetting.PHP: "install PHP, so that `php` is on the PATH",
}


@dataclass(frozen=True, slots=True)
class UsedReferences:
    """The pins of the rubrics and judges that graded, sorted by reference, and their notes."""

    rubrics: tuple[UsedArtifact, ...] = ()
    judges: tuple[UsedArtifact, ...] = ()
    notes: tuple[str, ...] = ()

    @classmethod
    def from_resolver(cls, resolver: ArtifactResolver) -> UsedReferences:
        """Return the pins and notes of one resolver so far."""
        return cls(
            resolver.list_pins(Kind.RUBRIC),
            resolver.list_pins(Kind.JUDGE),
            tuple(dict.fromkeys(resolver.notes)),
        )

    def join(self, other: UsedReferences) -> UsedReferences:
        """Return both together: each pin and each note once."""
        return UsedReferences(
            _join_pins(self.rubrics, other.rubrics),
            _join_pins(self.judges, other.judges),
            tuple(dict.fromkeys([*self.notes, *other.notes])),
        )


@dataclass(frozen=True, slots=True)
class JudgeRecord:
    """What a run records about its judges: model, number of cached and new replies, and notes.

    `is_complete`: no reply is missing. `optional` are the settings that may be missing for now.
    """

    model: Mapping[str, Any] = field(default_factory=dict)
    reuse_count: int = 0
    new_count: int = 0
    usage: JudgeUsage = field(default_factory=JudgeUsage)
    notes: tuple[str, ...] = ()
    is_complete: bool = True
    optional: frozenset[MissingSetting] = frozenset()

    @classmethod
    def from_session(cls, session: JudgeSession) -> JudgeRecord:
        """Return what to record about a session."""
        return cls(
            session.judges.model,
            session.reuse_count,
            session.new_count,
            session.usage,
            tuple(session.list_notes()),
            not session.missing,
            _list_optional(session),
        )


def _list_optional(session: JudgeSession) -> frozenset[MissingSetting]:
    """Return what may be missing: everything if offline, else replies that can be asked for."""
    if session.judges.offline:
        return frozenset(MissingSetting)
    return frozenset({MissingSetting.ENDPOINT} if session.can_ask else ())


class UnmetSettingError(RefusedError):
    """A check could grade nothing because a setting that the user must give is missing."""

    @classmethod
    def from_reasons(cls, unmet: Mapping[MissingSetting, str]) -> UnmetSettingError:
        """Name the first missing setting, and say how to give each of them."""
        hints = "; ".join(_HOW_TO_GIVE[setting] for setting in unmet)
        return cls(next(iter(unmet.values())), hint=f"{hints}; --offline scores without")


def _join_pins(pins: Pins, others: Pins) -> Pins:
    return tuple(sorted({*pins, *others}, key=lambda used: used.ref))


def finish_run(
    run: Run, tally: RunTally, pairs: OutputMatcher, used: UsedReferences, judges: JudgeRecord
) -> Run:
    """Return `run` with its sums, pins and notes.

    Raises `UnmetSettingError` if a check could grade nothing because a setting that is not optional
    is missing, and `RefusedError` if no output answers a question.
    """
    summed, dataset = tally.fill_sums(run), f"dataset/{run.name}"
    if not summed.questions:
        broken = next(iter(pairs.questions.find_broken().values()), "")
        first = (
            "outputs and questions are matched by id; the first output is "
            f"'{make_excerpt(pairs.odd.first_stray, 60)}'"
        )
        hint = f"{first}; and in the dataset {broken}" if broken else first
        if pairs.odd.stray_asked and not pairs.by_input:
            hint += "; --match input joins them by what was asked"
        if pairs.odd.unread:
            hint = (
                f"{pairs.odd.unread:,} rows cannot be read, the first: "
                f"{make_excerpt(pairs.odd.first_unread)}"
            )
        raise RefusedError(
            f"no output belongs to a question of {dataset}", place=Place(pairs.file), hint=hint
        )
    reasons = tally.find_unmet()
    unmet = {setting: reasons[setting] for setting in reasons if setting not in judges.optional}
    if unmet:
        raise UnmetSettingError.from_reasons(unmet)
    return replace(
        summed,
        rubrics=used.rubrics,
        judges=used.judges,
        without_output=pairs.count_missing,
        without_question=pairs.odd.strays,
        asked_otherwise=pairs.others,
        unread_rows=pairs.odd.unread,
        missing_outputs=pairs.find_missing(),
        notes=(
            *run.notes,
            *used.notes,
            *pairs.list_notes(dataset),
            *tally.list_notes(),
            *judges.notes,
            *(tally.list_unscored() if judges.is_complete else ()),
            *_note_approximate_engines(summed),
        ),
        harness={
            **summed.harness,
            **_record_judge_model(used, judges),
            **_record_replies(judges),
        },
    )


def _record_judge_model(used: UsedReferences, judges: JudgeRecord) -> dict[str, str]:
    """Return the judges' model that the run's options named: no artifact's digest covers it."""
    return (
        {"judge_model": write_canonical(dict(judges.model))} if judges.model and used.judges else {}
    )


def _record_replies(judges: JudgeRecord) -> dict[str, str]:
    """Return the numbers of cached and new replies, their tokens, and the cost."""
    kept, new, usage = judges.reuse_count, judges.new_count, judges.usage
    if not kept and not new:
        return {}
    counts = {
        "replies_prompt_tokens": usage.prompt_tokens,
        "replies_completion_tokens": usage.completion_tokens,
        "replies_cost": format_exact(usage.cost),
    }
    told = {name: str(count) for name, count in counts.items() if count and count != "0"}
    return {"replies_kept": str(kept), "replies_asked": str(new), **told}


def _note_approximate_engines(run: Run) -> Iterator[str]:
    for engine in run.harness["engines"].split(", "):
        if engine.endswith(APPROXIMATE):
            yield (
                f"some verdicts are approximate: {engine} graded where the exact engine is missing"
            )
