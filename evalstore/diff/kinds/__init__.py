"""What a comparison knows about each check kind: one module for each kind, with one value `KIND`.

To add a kind, write `<kind>.py` here with a `ComparedKind`; nothing else in `evalstore.diff` names
it. What grading knows about the kind is in its `CheckKind`. An edit of a parameter gets the rule
that its `Param` names. Rules for limits (`format-changed` for lengths, `markdown-bound-changed` for
structure, `limits-changed` for recorded numbers) and for case (`match-case-changed`) fit any kind.
Each parameter has a reader, which returns a value in its normal spelling, or refuses what the
schema refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from evalstore.checks import find_check_kind
from evalstore.checks.steps import NOTHING_KEY, STEPS_KEY
from evalstore.diff.answers.raw_answers import JointRawAnswers
from evalstore.diff.answers.read_parts import (
    may_exceed_steps,
    may_lack_part,
    read_outcome,
    read_step_list,
    simplify_nothing,
    wrap_texts,
)
from evalstore.diff.limits import CANDIDATES
from evalstore.documents import Pointer, write_canonical
from evalstore.documents.document import DEPTH_LIMIT
from evalstore.lazy_names import KindTable
from evalstore.model.question_params import (
    QUESTION_PARAMS,
    find_question_key,
    list_question_values,
)
from evalstore.text import make_excerpt

if TYPE_CHECKING:
    from evalstore.diff.answers.text_scores import TextScore
    from evalstore.languages.pattern_comparison import RegexTree
    from evalstore.model.measures import Measures

Params = Mapping[str, Any]
Typed = TypeVar("Typed")
REQUIRED: Any = ...  # the `default` of a parameter that must be given
_UPWARDS = frozenset({1})
# JSON that is nested too deep to be read.
DEEP_JSON = "[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1)
# This is added to the kind of a check that takes values from the question: no decider knows it.
_OF_QUESTION = " with values of the question"
# What such a check may read from a question besides these values.
_REFERENCE_PARTS: tuple[Pointer, ...] = (
    ("expected",),
    ("also_valid",),
    ("expected_facts",),
    ("expected_tools",),
)


class UnreadableError(ValueError):
    """A value that the schema refuses.

    Its document is then compared as plain data: any change of it is major.
    """


def read_text(value: Any) -> str:
    """Return a text."""
    return read_typed(value, str)


def read_switch(value: Any) -> bool:
    """Return true or false."""
    return read_typed(value, bool)


def read_integer(value: Any) -> int:
    """Return an integer; 2.0 counts as one."""
    if isinstance(value, bool) or not hasattr(value, "as_integer_ratio") or value != int(value):
        raise UnreadableError(f"{value!r} is not an integer")
    return int(value)


def read_count(value: Any) -> int:
    """Return an integer that is not negative."""
    if (number := read_integer(value)) < 0:
        raise UnreadableError(f"{number} is below 0")
    return number


def read_texts(value: Any) -> list[str]:
    """Return a list of texts."""
    return [read_text(item) for item in read_typed(value, list)]


def read_mapping(value: Any) -> dict[str, Any]:
    """Return a mapping as it is."""
    return read_typed(value, dict)


def read_one_of(*words: str) -> Callable[[Any], str]:
    """Return a reader of one of `words`."""

    def read(value: Any) -> str:
        if value not in words:
            raise UnreadableError(f"{value!r} is not one of {words}")
        return read_text(value)

    return read


def read_typed(value: Any, type_: type[Typed]) -> Typed:
    """Return a value of exactly this type: a bool is not an int."""
    if type(value) is not type_:
        raise UnreadableError(f"{value!r} is not a {type_.__name__}")
    return value


Row = Mapping[str, Any]
Predicate = Callable[[Params], bool]
# (EditScript, the check's token) -> its Changes. These types cannot be imported: their modules
# import this one.
EditFinder = Callable[[Any, str], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound on a number: `of` returns the effective one, which another parameter may imply.

    `ends_grading`: an output beyond it fails at once, before anything else could stop the grading.
    """

    of: Callable[[Params], float]
    is_minimum: bool
    ends_grading: bool = False


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter: its default, its normal spelling, and how its edits are judged.

    `rule` is for an edit of the whole value, `items` are for an added and a removed item of a list,
    and `rewording` is for one item exchanged for another. `edits` finds the changes itself. Without
    any of these an edit is unclassified, and major. If `comes_first(old, new)` is true, the
    parameter is edited before the others, else after them: how much can be proved about an edit
    depends on the values that the others have meanwhile. `is_set`: neither order nor repetition
    counts. `reads_sources`: `edits` also handles a value that comes from the question.
    """

    default: Any
    read: Callable[[Any], Any]
    rule: str | None = None
    items: tuple[str, str] | None = None
    rewording: str | None = None
    edits: EditFinder | None = None
    comes_first: Callable[[Any, Any], bool] | None = None
    limit: Limit | None = None
    is_set: bool = False
    reads_sources: bool = False


# The other parameters are compared while case is ignored, because then most can be proved.
CASE_SENSITIVE = Param(
    False, read_switch, rule="match-case-changed", comes_first=lambda old, _: bool(old)
)


def make_phrases_param(added: str, removed: str) -> Param:
    """Return a parameter that lists phrases, given the rules for added and removed ones."""
    return Param(
        REQUIRED, read_texts, items=(added, removed), rewording="phrase-reworded", is_set=True
    )


def say_always(_: Params) -> bool:
    """Return true, whatever the parameters are."""
    return True


def say_never(_: Params) -> bool:
    """Return false, whatever the parameters are."""
    return False


def count_upwards(_: Params) -> frozenset[int]:
    """Return that the score rises with what judges say, whatever the parameters are."""
    return _UPWARDS


def read_no_question(_: Params) -> Iterator[Pointer]:
    """Yield nothing, because the kind reads no part of a question."""
    yield from ()


def _yield_nothing(_: Params) -> Iterator[Any]:
    yield from ()


def _know_nothing(_: object) -> None:
    return None


def _fill_nothing(_: Params, __: Row) -> dict[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedKind:
    """One kind. What a function says about parameters is true for every output and every question.

    `is_binary`: the score is 0 or 1. `may_miss`: some output or question leaves nothing to grade
    (unscored, missing). `may_err`: a limit, a judge, another engine or another artifact can stop
    the grading (unscored, error). `question_parts`: pointers to what the check reads from a
    question; `fill_from_reference(check, row)` returns parameters that ask for the same as these
    (None: drop the parameter). `sample_texts`: outputs that two forms of the check may score
    differently; the first one passes. `ungraded_texts`: outputs that exceed a limit on any machine.
    `bans`: the check fails if it finds what it looks for. `score_parts`: of how many equal parts
    the score is a share; 0 if unknown. `passes_all`: everything that is graded scores 1.
    `simplify`: simpler parameters with the same answer to every output. `signs`: 1 if the score
    rises with what judges say, -1 if it falls; both if it depends on the statement, none if it
    depends on the question. `reads_threshold`: the threshold changes the score, not only the
    verdict. `asks_judges`, `reads_more_than_text`: a text alone cannot show that the score moves.
    `cost`: what grading one output takes from the budget for witnesses.

    `text_score`: the score as a function of the languages that contain a text; None if unknown.
    `found_language`: the texts in which the check finds what it looks for. `step_limit`: a value
    that decides on which texts this takes too many steps (None: on none). `joint_answers(checks)`:
    what several checks of this kind, given their parameters, can answer together to one output,
    because they read the same traits of it. Each way has the greatest length of an output with
    these answers, blanks at the ends not counted. None if the traits are unknown or too many. Some
    ways may be impossible for any output: a conclusion from all ways is still true without them.
    `demands_calls`: the check wants the calls that its `tools` and `forbidden` describe.
    `sample_measures`: recorded numbers at and beyond its limits, one in each; the first one passes.
    `assembly_order`: below 0 for what a text begins with, above 0 for what comes last.
    `piece_sign(params)`: -1 if a piece of a text never scores more than the text, 1 if it never
    scores less, 0 if neither is known.
    """

    params: Mapping[str, Param]
    is_binary: Predicate
    may_miss: Predicate
    may_err: Predicate
    question_parts: Callable[[Params], Iterator[Pointer]]
    sample_texts: Callable[[Params], Iterator[str]] = _yield_nothing
    fill_from_reference: Callable[[Params, Row], dict[str, Any]] = _fill_nothing
    ungraded_texts: Sequence[str] = ()
    bans: bool = False
    score_parts: Callable[[Params], int] = lambda _: 0
    simplify: Callable[[Params], Params] = lambda params: params
    reads_threshold: Predicate = say_never
    passes_all: Predicate = say_never
    signs: Callable[[Params], frozenset[int]] = count_upwards
    asks_judges: Predicate = say_never
    reads_more_than_text: Predicate = say_never
    cost: int = 10
    text_score: Callable[[Params], TextScore | None] = _know_nothing
    found_language: Callable[[Params], RegexTree | None] = _know_nothing
    step_limit: Callable[[Params], object] = _know_nothing
    joint_answers: Callable[[Sequence[Params]], Mapping[JointRawAnswers, int] | None] = (
        _know_nothing
    )
    demands_calls: bool = False
    sample_measures: Callable[[Params], Iterator[Measures]] = _yield_nothing
    assembly_order: int = 0
    piece_sign: Callable[[Params], int] = lambda _: 0


class _Kinds(KindTable[ComparedKind]):
    """The kinds by name, and for each of them a second one with values from the question.

    A kind that reads text describes the text after the steps of `on`; the entry describes outputs.
    """

    def __getitem__(self, kind: str) -> ComparedKind:
        if kind in self._entries:
            return self._entries[kind]
        if kind.endswith(_OF_QUESTION):
            found = _leave_open(self[find_plain_kind(kind)])
        else:
            found = super().__getitem__(kind)
            if find_check_kind(kind).reads_text:
                found = _read_by_steps(found)
        self._entries[kind] = found
        return found


def _read_by_steps(known: ComparedKind) -> ComparedKind:
    """Return a kind whose checks may read a part of an output, or nothing, by the steps of `on`.

    It is unknown which texts the steps leave, so nothing is said about several such checks
    together. What is true for every text is true for these texts as well.
    """
    return replace(
        known,
        params={
            **known.params,
            STEPS_KEY: Param(None, read_step_list, rule="check-target-changed"),
            NOTHING_KEY: Param("fail", read_outcome, rule="check-applicability-changed"),
        },
        may_miss=lambda params: known.may_miss(params) or may_lack_part(params),
        may_err=lambda params: known.may_err(params) or may_exceed_steps(params),
        simplify=lambda params: known.simplify(simplify_nothing(params)),
        sample_texts=wrap_texts(known.sample_texts),
        passes_all=lambda params: known.passes_all(params) and not params[STEPS_KEY],
        text_score=lambda params: None if params[STEPS_KEY] else known.text_score(params),
        joint_answers=lambda checks: (
            None if any(one[STEPS_KEY] for one in checks) else known.joint_answers(checks)
        ),
    )


def find_plain_kind(kind: str) -> str:
    """Return the kind that scoring runs for a kind of `KINDS`."""
    return kind.removesuffix(_OF_QUESTION)


def find_compared_kind(check: Params) -> str:
    """Return the kind by which a check's mapping is compared.

    A judge is asked whatever the question says. About any other check that takes values from the
    question, almost nothing is known without them.
    """
    kind = str(check["kind"])
    if find_plain_kind(kind) != kind:
        raise UnreadableError(f"{kind} is not a kind that a file may have")
    is_judged = KINDS[kind].asks_judges is say_always
    return f"{kind}{_OF_QUESTION}" if list_question_values(check) and not is_judged else kind


def _leave_open(known: ComparedKind) -> ComparedKind:
    """Return a kind for checks with values that are unknown until there is a question.

    All other parameters are read and judged as usual.
    """
    return ComparedKind(
        params={name: _open_param(name, param) for name, param in known.params.items()},
        # Whether scores between 0 and 1 are possible may depend on the values.
        is_binary=known.is_binary if known.is_binary is say_always else say_never,
        may_miss=say_always,
        may_err=say_always,
        question_parts=_list_open_parts,
        bans=known.bans,
        asks_judges=known.asks_judges,
        reads_more_than_text=say_always,
        cost=known.cost,
    )


def _open_param(name: str, param: Param) -> Param:
    """Return a parameter that may name a key of the question instead of a value."""

    def read(value: Any) -> Any:
        key = find_question_key(value)
        return {"from": key} if key else param.read(value)

    return replace(param, read=read) if name in QUESTION_PARAMS else param


def _list_open_parts(params: Params) -> Iterator[Pointer]:
    yield from ((value.key,) for value in list_question_values(params))
    yield from _REFERENCE_PARTS


def describe_source(value: Any) -> str:
    """Return a parameter in words: the key of the question that it comes from, or its value."""
    if key := find_question_key(value):
        return f"the question's {make_excerpt(key)}"
    if value is None:
        return "unset"
    return make_excerpt(value if isinstance(value, str) else write_canonical(value))


KINDS: Mapping[str, ComparedKind] = _Kinds(__name__, __path__, ComparedKind)


def read_params(kind: str, value: Params) -> dict[str, Any]:
    """Return a check's parameters in their normal spelling, with defaults written out."""
    read: dict[str, Any] = {}
    for name, param in KINDS[kind].params.items():
        if name not in value and param.default is REQUIRED:
            raise UnreadableError(f"{name} is missing")
        read[name] = param.read(value[name]) if name in value else param.default
    return read


def at_least(name: str, *, implied_by: str = "", ends_grading: bool = False) -> Limit:
    """Return the lower limit of a count; it is at least 1 if the parameter `implied_by` is set."""

    def of(params: Params) -> float:
        return max(params[name] or 0, int(bool(params.get(implied_by))))

    return Limit(of, is_minimum=True, ends_grading=ends_grading)


def at_most(name: str, *, highest: float = inf, ends_grading: bool = False) -> Limit:
    """Return the upper limit of a count; it is `highest` if no lower value is set."""

    def of(params: Params) -> float:
        value: float | None = params[name]
        return highest if value is None else min(value, highest)

    return Limit(of, is_minimum=False, ends_grading=ends_grading)


def yield_phrase_texts(phrases: Sequence[str], needed: int) -> Iterator[str]:
    """Yield texts with as many phrases as needed, one less, and only one, in both cases."""
    enough = "\n".join(phrases[:needed])
    yield from (enough, "\n".join(phrases[: max(0, needed - 1)]), enough.swapcase())
    yield from (text for phrase in phrases for text in (phrase, phrase.swapcase()))


def list_json_outputs(value: Any, extract: str) -> tuple[str, ...]:
    """Return outputs from which `extract` reads the value; the shortest first."""
    text = write_canonical(value)
    fenced = f"```json\n{text}\n```"
    return {"whole": (text,), "fence": (fenced,)}.get(extract, (text, fenced))


def yield_texts_around(*limits: int | None) -> Iterator[str]:
    """Yield texts whose length is each limit, one more, and one less."""
    for limit in limits:
        if limit is not None and limit <= CANDIDATES.asked_length:
            yield from ("x" * length for length in (limit, limit + 1, max(0, limit - 1)))
