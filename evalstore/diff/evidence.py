"""Finds what shows a change: examples that it turns, and outputs and replies that each of its edits moves."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from typing import TYPE_CHECKING, Any

from evalstore.checks.reply import read_reply
from evalstore.diff.attempts import Attempt
from evalstore.diff.change import Change, RubricEffect
from evalstore.diff.deciders.judges import read_judge_value
from evalstore.diff.document import ComparedDocument, Sides
from evalstore.diff.effects import join_effects
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
from evalstore.diff.limits import COMPARED, REPLIES
from evalstore.diff.plain_data import is_same
from evalstore.diff.references import ArtifactLoader
from evalstore.diff.witness import Replay
from evalstore.documents import convert_fraction, format_json_pointer, write_canonical
from evalstore.errors import Place
from evalstore.model import Judge, JudgeReply, Kind, ScoreType, select_scoring_part
from evalstore.model.example import EXAMPLES, Example, read_examples
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.checks import CheckContext


# What a model's reply means, and not what the model is sent; levels and their scores are one edit
# where both change.
_READING: Mapping[str, tuple[str, ...]] = {
    "score_type": ("score_type",),
    "scale": ("scale",),
    "level_names": ("level_names", "level_scores"),
    "level_scores": ("level_scores",),
    "reply_pattern": ("reply_pattern",),
}
_WORDS = ("pass", "fail", "yes", "no", "1", "0")
# A digit that is none of 0 to 9: only some patterns take it for one.
_OTHER_DIGIT = "\N{ARABIC-INDIC DIGIT THREE}"


def find_reply(change: Change) -> ReplyWitness | None:
    """Return the shortest reply found that scores otherwise after this one edit; one with two scores comes first."""
    sides = _read_sides(change)
    if sides is None:
        return None
    replies = dict.fromkeys(reply for reply in _list_replies(sides) if len(reply) <= REPLIES.length)
    found = []
    for reply in islice(replies, REPLIES.tried):
        old, new = (read_reply(judge, JudgeReply(reply)).score for judge in sides)
        if old != new:
            found.append(ReplyWitness(reply, old, new))
    return min(found, key=_rank_witness, default=None)


def _rank_witness(witness: ReplyWitness) -> tuple[bool, bool, int]:
    lost = None in {witness.old_score, witness.new_score}
    return lost, not witness.reply.isascii(), len(witness.reply)


def _read_sides(change: Change) -> tuple[Judge, Judge] | None:
    """Return the judge just before and just after the edit; whole, where other edits have to come with this one."""
    if change.judges is None or change.name not in _READING:
        return None
    old, new = change.judges
    keys = _READING[change.name]
    edited = {
        **{key: value for key, value in old.items() if key not in keys},
        **{key: new[key] for key in keys if key in new},
    }
    before = read_judge_value(old)
    after = read_judge_value(edited) or read_judge_value(new)
    return (before, after) if before and after else None


def _list_replies(sides: tuple[Judge, Judge]) -> Iterator[str]:
    """Yield replies as JSON, then as texts that a reply pattern of one side finds an answer in."""
    answers = list(dict.fromkeys(answer for judge in sides for answer in _list_answers(judge)))
    yield from (write_canonical({key: value}) for key, value in answers)
    words = list(dict.fromkeys(word for _, value in answers for word in _spell_answer(value)))
    patterns = dict.fromkeys(judge.reply_pattern for judge in sides if judge.reply_pattern)
    texts = [text for pattern in patterns for text in _write_matches(pattern, words)]
    yield from texts
    for text in texts[: REPLIES.tried]:
        yield from (
            text.lower(),
            text.upper(),
            f"x {text}",
            f"{text} x",
            f"x{text}x",
            f"{text}\n{texts[0]}",
        )
    yield from words


def _list_answers(judge: Judge) -> Iterator[tuple[str, Any]]:
    if judge.score_type is ScoreType.LEVELS:
        yield from (("level", name) for name in judge.levels or {})
    elif judge.score_type is ScoreType.BINARY:
        yield from (("verdict", "pass"), ("verdict", "fail"), ("score", 1), ("score", 0))
    else:
        numbers = [
            judge.most,
            judge.least,
            (judge.most + judge.least) / 2,
            Fraction(1),
            Fraction(0),
        ]
        yield from (("score", convert_fraction(number)) for number in numbers)


def _spell_answer(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (value, *_WORDS)
    else:
        number = str(value)
        yield from (number, f"{number}.5", f"{number}0", f"{number}{_OTHER_DIGIT}")


def _write_matches(pattern: str, words: list[str]) -> Iterator[str]:
    """Yield texts that a pattern may find, with each word as its answer; not every one is a match."""
    if len(pattern) > COMPARED.pattern:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = re._parser.parse(pattern)  # type: ignore[attr-defined]  # noqa: SLF001  # `re` has no public function for it
        yield from [text for word in (*words, None) for text in _write_parts(tree, word)]
    except (re.error, RecursionError, OverflowError):
        return


def _write_parts(tree: Any, answer: str | None) -> list[str]:
    ways = [_write_part(str(name), argument, answer) for name, argument in tree]
    # One character more than is read says that the text is too long.
    return ["".join(parts)[: REPLIES.length + 1] for parts in islice(product(*ways), REPLIES.ways)]


def _write_part(name: str, argument: Any, answer: str | None) -> list[str]:
    if name == "LITERAL":
        return [chr(argument)]
    if name == "IN":
        return [_choose_char(argument)]
    if name == "BRANCH":
        return [text for tree in argument[1] for text in _write_parts(tree, answer)[:2]]
    if name == "SUBPATTERN":
        is_answer = argument[0] == 1 and answer is not None
        return [str(answer)] if is_answer else _write_parts(argument[3], answer)
    if name.endswith("_REPEAT"):
        least, _, tree = argument
        once = _write_parts(tree, answer)[:2]
        return [text * min(least, REPLIES.length + 1) for text in once] + ([] if least else once)
    if name in {"ANY", "NOT_LITERAL"}:
        return ["x" if argument != ord("x") else "y"]
    return _write_parts(argument, answer) if name == "ATOMIC_GROUP" else [""]


_CATEGORIES = {"CATEGORY_DIGIT": "3", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}


def _choose_char(items: list[tuple[Any, Any]]) -> str:
    for name, argument in items:
        if str(name) == "LITERAL":
            return chr(argument)
        if str(name) == "RANGE":
            return chr(argument[0])
        if str(name) == "CATEGORY":
            return _CATEGORIES.get(str(argument), "-")
    return "-"


def prepare_replay(
    changes: list[Change], sides: Sides, load: ArtifactLoader | None
) -> Replay | None:
    """Return what grades outputs under both rubrics; None where no change is one of a rubric."""
    states = [state for change in changes if change.before for state in change.states]
    if not states:
        return None
    examples = [
        Attempt(
            example.sample,
            side.find_place(example.place) or Place(format_json_pointer(example.place)),
        )
        for side, example in list_examples(sides)
    ]
    return Replay(states[0], states[-1], load, examples)


def list_examples(sides: Sides) -> Iterator[tuple[ComparedDocument, Example]]:
    """Yield the examples of the new side, then those that only the old one has, each with its side."""
    known: set[str] = set()
    for side in reversed(sides):
        for example in read_examples(side.value):
            if example.key not in known:
                known.add(example.key)
                yield side, example


def measure_examples(
    sides: Sides, load: ArtifactLoader | None, replies: CheckContext | None
) -> ExampleEffect | None:
    """Return what becomes of the examples of both sides; None without any, or where nothing moves a score."""
    kind = sides[1].kind
    if kind is None or kind is Kind.DATASET or not any(EXAMPLES in side.value for side in sides):
        return None
    if is_same(*(select_scoring_part(kind, side.value) for side in sides)):
        return None
    from evalstore.checks import NO_CONTEXT
    from evalstore.checks.examples import make_grader

    # An engine that only comes close would turn an example on some machines.
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
    """Give each finding that can move a score or a verdict an output or a reply that moves, where one is found."""
    return [
        _show_witness(finding, _find_witness(change, finding, replay))
        if _may_move_output(finding)
        else finding
        for change, finding in zip(changes, findings, strict=True)
    ]


def _show_witness(finding: DiffFinding, witness: Witness | ReplyWitness | None) -> DiffFinding:
    # A reply that was read under both sides is no assumption: the edit moves it.
    shown = isinstance(witness, ReplyWitness) and finding.certainty is Certainty.ASSUMED
    return replace(
        finding, witness=witness, certainty=Certainty.PROVED if shown else finding.certainty
    )


def _find_witness(
    change: Change, finding: DiffFinding, replay: Replay | None
) -> Witness | ReplyWitness | None:
    """Return a reply for an edit of a judge; for one of a question's reference, what its only edited check shows."""
    if change.judges:
        return find_reply(change)
    if change.before:
        return replay.find(change, finding.direction) if replay else None
    if (
        change.question is None
        or change.imported_diff is None
        or len(change.imported_diff.findings) != 1
    ):
        return None
    return change.imported_diff.findings[0].witness


def find_total(
    changes: list[Change],
    findings: list[DiffFinding],
    effect: RubricEffect | None,
    replay: Replay | None,
) -> TotalEffect:
    """Return what all edits do together, with an output that moves where one is found."""
    total = join_effects(changes, findings, effect)
    if replay is None or {*total.directions} == {Direction.NONE}:
        return total
    shown = [finding.witness for finding in findings if isinstance(finding.witness, Witness)]
    return replace(total, witness=replay.find_total(effect, shown, total.direction))


def _may_move_output(finding: DiffFinding) -> bool:
    return finding.level is Bump.MAJOR and {*finding.directions} != {Direction.NONE}
