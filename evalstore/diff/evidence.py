"""Finds what shows a change: examples that turn, and outputs and replies whose score moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from evalstore.diff.change import (
    NOTHING_SHOWN,
    STATEMENTS_CHANGED,
    UNDECIDED,
    Change,
    MovingEdits,
    RubricEffect,
)
from evalstore.diff.document import ComparedDocument, Sides
from evalstore.diff.effects.scoring_edits import list_scoring_edits
from evalstore.diff.effects.totals import join_effects
from evalstore.diff.findings import (
    Certainty,
    DiffFinding,
    Direction,
    ExampleEffect,
    ReplyWitness,
    TotalEffect,
    TurnedExample,
    Witness,
)
from evalstore.diff.plain_data import is_same
from evalstore.diff.references import ArtifactLoader
from evalstore.documents import format_json_pointer
from evalstore.errors import Place
from evalstore.model import Kind, select_scoring_part
from evalstore.model.example import EXAMPLES, Example, read_examples
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.checks import CheckContext
    from evalstore.diff.attempts import Attempt
    from evalstore.diff.witness import Replay


def prepare_replay(
    changes: list[Change], sides: Sides, load: ArtifactLoader | None, *, invents: bool
) -> Replay | None:
    """Return what grades outputs under both rubrics; None if no rubric changes.

    `invents`: questions may be invented for checks that read them.
    """
    states = [state for change in changes if change.before for state in change.step.states]
    if not states:
        return None
    from evalstore.diff.witness import Replay

    examples = [_make_attempt(side, example) for side, example in list_examples(sides)]
    return Replay(states[0], states[-1], load, examples, invents)


def _make_attempt(side: ComparedDocument, example: Example) -> Attempt:
    from evalstore.diff.attempts import Attempt

    place = side.find_place(example.place) or Place(format_json_pointer(example.place))
    return Attempt(example.sample, place)


def list_examples(sides: Sides) -> Iterator[tuple[ComparedDocument, Example]]:
    """Yield the examples of the new side, then those that only the old side has, with the side."""
    known: set[str] = set()
    for side in reversed(sides):
        for example in read_examples(side.value):
            if example.key not in known:
                known.add(example.key)
                yield side, example


def measure_examples(
    sides: Sides, load: ArtifactLoader | None, replies: CheckContext | None
) -> ExampleEffect | None:
    """Return what becomes of both sides' examples; None without any, or if no score moves."""
    kind = sides[1].kind
    if kind is None or kind is Kind.DATASET or not any(EXAMPLES in side.value for side in sides):
        return None
    if is_same(*(select_scoring_part(kind, side.value) for side in sides)):
        return None
    from evalstore.checks import NO_CONTEXT
    from evalstore.checks.examples import make_grader

    # Strict, because an engine that is only an approximation would turn examples on some machines.
    context = replace(replies or NO_CONTEXT, load=load, strict=True)
    graders = [make_grader(kind, side.value, context) for side in sides]
    total, reasons, turned = 0, list[str](), list[TurnedExample]()
    for side, example in list_examples(sides):
        total += 1
        old, new = (grade(example) for grade in graders)
        if old.result is None or new.result is None:
            reasons.append(old.why or new.why)
        elif old.result.verdict is not new.result.verdict or (
            example.verdict is None and old.result.score != new.result.score
        ):
            turned.append(
                TurnedExample(
                    format_json_pointer(example.place),
                    side.find_place(example.place),
                    example.sample.text,
                    example.expected,
                    old.result.score,
                    new.result.score,
                    old.result.verdict,
                    new.result.verdict,
                    not new.is_failed,
                )
            )
    return (
        ExampleEffect(total, len(reasons), next(iter(reasons), ""), tuple(turned))
        if total
        else None
    )


def add_witnesses(
    changes: list[Change], findings: list[DiffFinding], replay: Replay | None
) -> list[DiffFinding]:
    """Give each finding that can move a score or verdict an output or reply that shows it."""
    return [_add_witness(*pair, replay) for pair in zip(changes, findings, strict=True)]


def _add_witness(change: Change, finding: DiffFinding, replay: Replay | None) -> DiffFinding:
    if not _may_move_output(finding):
        return finding
    return _show_witness(finding, _find_witness(change, finding, replay))


def find_moving_edits(
    changes: list[Change],
    edits: list[int],
    majors: Mapping[int, Direction],
    replay: Replay | None,
) -> MovingEdits:
    """Return the edits that one of a few outputs proves to be major, so that nothing lowers them.

    `edits` are all edits of scoring; `majors` are those that are major by their rules, with their
    directions.
    """
    if replay is None:
        return NOTHING_SHOWN
    alone: dict[int, Witness] = {}
    for index, direction in majors.items():
        if witness := replay.find_quickly(changes[index], direction):
            alone[index] = witness
    if len(edits) == 1:
        return MovingEdits(alone, together=bool(alone))
    total = replay.find_total(None, alone.values(), Direction.EITHER)
    return MovingEdits(alone, together=total is not None)


def show_moving_edits(findings: list[DiffFinding], moving: MovingEdits) -> list[DiffFinding]:
    """Give the findings of these edits their witnesses."""
    shown = [*findings]
    for index, witness in moving.alone.items():
        shown[index] = _show_witness(findings[index], witness)
    return shown


def _show_witness(finding: DiffFinding, witness: Witness | ReplyWitness | None) -> DiffFinding:
    # An output that was graded under both sides proves that the edit moves it.
    supposed = isinstance(witness, Witness) and witness.supposed
    if witness is None or supposed or finding.certainty is not Certainty.ASSUMED:
        return replace(finding, witness=witness)
    known = finding.reason.removeprefix(UNDECIDED)
    reason = f"an output shows it; what else moves is unknown: {known}"
    return replace(finding, witness=witness, certainty=Certainty.PROVED, reason=reason)


def _find_witness(
    change: Change, finding: DiffFinding, replay: Replay | None
) -> Witness | ReplyWitness | None:
    """Return a reply for an edit of a judge, else an output."""
    if change.judges:
        from evalstore.diff.replies import find_reply

        return find_reply(change)
    if change.before:
        return replay.find(change, finding.direction) if replay else None
    if not change.questions or change.imported_diff is None:
        return None
    shown = change.imported_diff.total.witness
    # A witness with an invented question is not an output for the dataset.
    return shown if shown and shown.question is None else None


def find_total(
    steps: list[tuple[Change, DiffFinding]],
    findings: list[DiffFinding],
    effect: RubricEffect | None,
    replay: Replay | None,
) -> TotalEffect:
    """Return what all edits do together, with an output that shows it if one is found.

    `steps` are the edits as made one after the other; `findings` have the witness of each alone.
    """
    total = join_effects(steps, effect)
    if replay is None or {*total.directions} == {Direction.NONE}:
        return total
    shown = [finding.witness for finding in findings if isinstance(finding.witness, Witness)]
    # If there is only one edit, its witness is that of all edits.
    lone = shown[0] if len(shown) == len(steps) == 1 else None
    found = replay.find_total(effect, shown, total.direction) or lone
    changes = [change for change, _ in steps]
    if found is None and (edit := _join_statement_edits(changes, replay)):
        found = replay.find_quickly(edit, total.direction)
    return replace(total, witness=found)


def _join_statement_edits(changes: list[Change], replay: Replay) -> Change | None:
    """Return all edits as one, if all are edits of one check's statements; else None."""
    edits = [changes[index] for index in list_scoring_edits(changes)]
    if len({change.token for change in edits}) != 1:
        return None
    if any(change.rule != STATEMENTS_CHANGED for change in edits):
        return None
    asked = next((one for one in edits if one.decision and one.decision.is_assumed), edits[0])
    return replace(asked, before=replay.old, after=replay.new)


def _may_move_output(finding: DiffFinding) -> bool:
    return finding.level is Bump.MAJOR and {*finding.directions} != {Direction.NONE}
