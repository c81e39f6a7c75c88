"""What a comparison claims of a pair, held against the answers of the real scorer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from time import perf_counter
from typing import Any

from evalstore.diff import (
    AcceptedLevel,
    ComparisonSettings,
    Diff,
    DiffFinding,
    Direction,
    TotalEffect,
    Witness,
    compare,
)
from evalstore.diff.changes.rubric import find_rubric_changes
from evalstore.diff.classify import classify
from evalstore.diff.effects.edits import attach_effects
from evalstore.diff.pairing import pair_checks
from evalstore.diff.plain_data import make_plain
from evalstore.diff.references import import_reference
from evalstore.diff.rubric_state import read_rubric_state
from evalstore.documents import read_row, write_canonical
from evalstore.versions import Bump
from tests.diff.case_pairs import make_rubric
from tests.diff.fuzz.datasets import find_names
from tests.diff.fuzz.grading import NOWHERE, REFUSED, Answer, Grade, Models, grader, graders
from tests.diff.fuzz.pair import FLOATING, Drawn, Pair, Value


@dataclass(slots=True)
class Held:
    """What became of a pair: its diff, the claims that broke (what, in words, on which sample), whether it moved.

    `stirred`: it moved, or the verdict of a check that both sides have did; `shown`: a major finding has a witness.
    """

    diff: Diff | None = None
    broken: list[tuple[str, str, Drawn]] = field(default_factory=list)
    moved: bool = False
    stirred: bool = False
    shown: bool = False
    drawn: list[Drawn] = field(default_factory=list)
    seconds: float = 0.0


def hold(pair: Pair, samples: Callable[[Held], Iterable[Drawn]], *, closely: bool = True) -> Held:
    """Compare a pair and grade samples under both sides; `samples` are drawn one by one, and see what became of it.

    `closely` also compares each side with itself, holds each edit of a rubric on its own, reads a dataset's questions
    from a file beside it, and compares under settings and with a lock.
    """
    held = Held()
    try:
        _hold(pair, held, samples)
        if closely:
            _hold_selves(pair, held)
            held.broken += (*_broken_rows(pair, held), *_broken_terms(pair, held), *_broken_locked(pair, held))
            held.broken += _broken_steps(pair, held.drawn)
    except Exception as error:
        held.broken.append(("crash", f"{type(error).__name__}: {error}", held.drawn[-1] if held.drawn else Drawn("")))
    return held


def _hold(pair: Pair, held: Held, samples: Callable[[Held], Iterable[Drawn]]) -> None:
    began = perf_counter()
    held.diff = compare(pair.old, pair.new, load=pair.load)
    held.seconds = perf_counter() - began
    _hold_diff(held)
    grades = graders(pair)
    if "questions" in pair.old and "questions" in pair.new:
        grades = _rename_questions(grades[0], find_names(pair.old, pair.new)), grades[1]
    _hold_witnesses(held, grades)
    for one in samples(held):
        held.drawn.append(one)
        _hold_sample(held, grades, one)


def _rename_questions(grade: Grade, names: Mapping[str, str]) -> Grade:
    """Return a side whose questions have the names of the other side."""
    return lambda drawn: {names.get(id_, id_): answer for id_, answer in grade(drawn).items()}


def _hold_selves(pair: Pair, held: Held) -> None:
    for side in (pair.old, pair.new):
        if compare(side, side, load=pair.load).findings:
            held.broken.append(("self", "a side differs from itself", Drawn("")))


def _broken_rows(pair: Pair, held: Held) -> Iterator[tuple[str, str, Drawn]]:
    """Hold what is found in questions that stream from a file beside their dataset against what is found in it."""
    if held.diff is None or not all("questions" in side for side in (pair.old, pair.new)):
        return
    heads = [
        {**{key: side[key] for key in side if key != "questions"}, "rows": "d.jsonl"} for side in (pair.old, pair.new)
    ]
    rows = (_streamed(pair.old["questions"]), _streamed(pair.new["questions"]))
    beside = compare(heads[0], heads[1], load=pair.load, rows=rows)
    if _judged(beside) != _judged(held.diff):
        yield "rows", f"{told(held.diff)}; from a file beside it {told(beside)}", Drawn("")


def _streamed(rows: list[Value]) -> Iterator[Mapping[str, Any]]:
    for number, row in enumerate(rows, 1):
        yield read_row(write_canonical(row).encode(), "d.jsonl", number)


def _broken_terms(pair: Pair, held: Held) -> Iterator[tuple[str, str, Drawn]]:
    """Hold that overrides and acceptances change the level that counts, and nothing of what is known."""
    assert held.diff
    findings = held.diff.findings
    ruled = ComparisonSettings(overrides={one.rule: Bump.PATCH for one in findings})
    accepted = {one.fingerprint: AcceptedLevel(Bump.MINOR, one.level, "why", "who", date.min) for one in findings}
    for settings, level in ((ruled, Bump.PATCH), (ComparisonSettings(accepted=accepted), Bump.MINOR)):
        diff = compare(pair.old, pair.new, load=pair.load, settings=settings)
        bare = tuple(replace(one, level=one.level_before, overridden=None, accepted=None) for one in diff.findings)
        if bare != findings:
            yield "settings", f"{told(held.diff)}; under settings {told(diff)}", Drawn("")
        wanted = {level if settings is ruled else min(level, one.level) for one in findings}
        if {one.level for one in diff.findings} != wanted or diff.required_bump is not max(wanted, default=Bump.NONE):
            yield "settings", f"{level} was said; {told(diff)}", Drawn("")


def _broken_locked(pair: Pair, held: Held) -> Iterator[tuple[str, str, Drawn]]:
    """Hold what is said where a lock holds all that floats; it means the same to who grades."""
    if not any(repr(ref) in repr(pair.new) for ref in FLOATING):
        return
    diff, grades = (
        compare(pair.old, pair.new, load=pair.load, settings=ComparisonSettings(locked=frozenset(FLOATING))),
        graders(pair),
    )
    for drawn in held.drawn:
        before, after = (grade(drawn) for grade in grades)
        for id_ in before.keys() & after.keys():
            if NOWHERE not in {before[id_], after[id_]}:
                yield from (
                    (what, f"locked, {why}: {told(diff)}", drawn)
                    for what, why in _broken(diff, before[id_], after[id_])
                )


def _judged(diff: Diff) -> Counter[Any]:
    # Where it stands is another place, which unread rows are named by; a dataset spelled otherwise is its own text.
    return Counter(
        (
            one.rule,
            one.level,
            one.direction,
            one.verdict_direction,
            one.certainty,
            one.max_shift,
            one.message.replace("rows", "questions"),
        )
        for one in diff.findings
        if one.rule != "spelling-changed"
    )


def _hold_diff(held: Held) -> None:
    diff = held.diff
    assert diff
    nothing = Drawn("")
    if diff.old.digest == diff.new.digest and diff.required_bump > Bump.PATCH:
        held.broken.append(("digest", f"one digest, and yet {told(diff)}", nothing))
    if diff.old.digest != diff.new.digest and not diff.findings:
        held.broken.append(("silent", "two digests, and no finding", nothing))
    if diff.required_bump is not max((one.level for one in diff.findings), default=Bump.NONE):
        held.broken.append(("bump", told(diff), nothing))


def _hold_sample(held: Held, grades: tuple[Grade, Grade], drawn: Drawn) -> None:
    assert held.diff
    before, after = (grade(drawn) for grade in grades)
    for id_ in before.keys() & after.keys():
        old, new = before[id_], after[id_]
        if NOWHERE in {old, new}:
            continue
        held.moved = held.moved or old.seen != new.seen
        held.stirred = held.stirred or held.moved or _verdicts(old, new)
        for what, why in _broken(held.diff, old, new):
            held.broken.append((what, f"{why}: {told(held.diff)}; {id_} {old.seen} {new.seen}", drawn))


def _verdicts(old: Answer, new: Answer) -> bool:
    before, after = dict(old.checks), dict(new.checks)
    return any(before[id_] != after[id_] for id_ in before.keys() & after.keys())


def _broken(diff: Diff, old: Answer, new: Answer) -> Iterator[tuple[str, str]]:
    if diff.required_bump < Bump.MAJOR and old.seen != new.seen:
        yield "quiet", f"{diff.required_bump}, and it moves"
    total = diff.total
    yield from _wrong_way(total.direction, total.verdict_direction, old, new)
    yield from _too_far(total.max_shift, old, new)
    if old.whole and new.whole:
        yield from _too_far(total.max_shift_scored, old, new)


def _too_far(bound: Fraction | None, old: Answer, new: Answer) -> Iterator[tuple[str, str]]:
    if bound is not None and old.score is not None and new.score is not None and abs(new.score - old.score) > bound:
        yield "shift", f"further than {bound}"


def _wrong_way(score: Direction, verdict: Direction, old: Answer, new: Answer) -> Iterator[tuple[str, str]]:
    if REFUSED.verdict in {old.verdict, new.verdict}:
        return  # validation refuses it before anything is graded: what cannot be asked is neither stricter nor looser
    passed = [None if one.score is None else Fraction(one.verdict == "pass") for one in (old, new)]
    if not allows(score, went(old.score, new.score)):
        yield "direction", f"the score went {went(old.score, new.score)}, {score} was said"
    if not allows(verdict, went(*passed)):
        yield "verdict", f"the verdict went {went(*passed)}, {verdict} was said"


def _hold_witnesses(held: Held, grades: tuple[Grade, Grade]) -> None:
    """Hold each output that is shown against its line, and that of the whole diff against the scorer, too."""
    assert held.diff
    held.shown = any(finding.witness for finding in held.diff.findings)
    for claim in (*_all(held.diff.findings), held.diff.total):
        if isinstance(claim.witness, Witness):
            held.broken += list_contradictions(claim, claim.witness)
    if (witness := held.diff.total.witness) is None or witness.judged:
        return
    drawn = Drawn.from_witness(witness)
    old, new = (next(iter(grade(drawn).values())) for grade in grades)
    if (old.seen, new.seen) != _seen(witness):
        held.broken.append(("witness", f"{_seen(witness)} was said, {(old.seen, new.seen)} is true", drawn))


def list_contradictions(claim: DiffFinding | TotalEffect, witness: Witness) -> Iterator[tuple[str, str, Drawn]]:
    """Yield what an output shows otherwise than its line says."""
    drawn, (before, after) = Drawn.from_witness(witness), _seen(witness)
    old, new = Answer(*before), Answer(*after)
    if before == after:
        yield "witness", f"it stays: {claim}", drawn
    for what, why in _wrong_way(claim.direction, claim.verdict_direction, old, new):
        yield f"witness-{what}", f"{why}: {claim}", drawn
    for what, why in _too_far(claim.max_shift, old, new):
        yield f"witness-{what}", f"{why}: {claim}", drawn
    if (old.score is None) is not (new.score is None) and Direction.EITHER not in {
        claim.direction,
        claim.verdict_direction,
    }:
        yield "witness-lost", f"{old.seen} {new.seen}: {claim}", drawn


def _seen(witness: Witness) -> tuple[tuple[Fraction | None, str], tuple[Fraction | None, str]]:
    return (witness.old_score, str(witness.old_verdict)), (witness.new_score, str(witness.new_verdict))


def _broken_steps(pair: Pair, drawn: list[Drawn]) -> Iterator[tuple[str, str, Drawn]]:
    """Hold each edit of a rubric on its own, and as made after those before it: the rubric without it and with it."""
    sides = [read_rubric_state(make_plain(side)) for side in (pair.old, pair.new)] if "checks" in pair.old else []
    if len(sides) < 2 or sides[0] is None or sides[1] is None or "checks" not in pair.new:
        return
    models = Models(pair, Drawn(""))
    changes = list(find_rubric_changes(sides[0], pair_checks(sides[0], sides[1]), pair.load))
    imported = [import_reference(one, pair.load, lambda old, new: compare(old, new, load=pair.load)) for one in changes]
    edits, _ = attach_effects(imported, pair.load)
    for change in (*edits, *(one.step for one in edits if one.made)):
        claim = classify(change)
        grades = [grader(make_rubric(state), models) for state in change.states]
        for one in drawn:
            old, new = (grade(one)[""] for grade in grades)
            if NOWHERE in {old, new}:
                continue
            for what, why in _broken_claim(claim, old, new):
                yield (
                    what,
                    f"{why}, of one step: {claim.rule} {claim.level} {claim.message}; {old.seen} {new.seen}",
                    one,
                )


def _broken_claim(claim: DiffFinding, old: Answer, new: Answer) -> Iterator[tuple[str, str]]:
    if claim.level < Bump.MAJOR and old.seen != new.seen:
        yield "quiet", "it moves"
    yield from _wrong_way(*claim.directions, old, new)
    yield from _too_far(claim.max_shift, old, new)
    if old.whole and new.whole:
        yield from _too_far(claim.max_shift_scored, old, new)


def _all(findings: Iterable[DiffFinding]) -> Iterator[DiffFinding]:
    for finding in findings:
        yield finding
        yield from _all(finding.children)


def told(diff: Diff) -> str:
    """Say what a diff says."""
    return (
        ", ".join(f"{one.level} {one.rule} {one.direction}/{one.verdict_direction}" for one in diff.findings)
        or "nothing"
    )


def went(old: Fraction | None, new: Fraction | None) -> Direction:
    """Return where a score went; one that is lost or won, where a mean over what is scored can go."""
    if old is new is None:
        return Direction.NONE
    if old is None:
        return Direction.EITHER if new else Direction.STRICTER
    if new is None:
        return Direction.EITHER if old else Direction.LOOSER
    return Direction.NONE if old == new else Direction.LOOSER if new > old else Direction.STRICTER


def allows(said: Direction, seen: Direction) -> bool:
    """Whether a direction was said that covers what was seen."""
    return seen is Direction.NONE or said in {seen, Direction.EITHER}
