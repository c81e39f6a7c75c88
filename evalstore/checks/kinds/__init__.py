"""The check kinds: one module per kind, found by its name, each with one value `KIND`.

To add a kind, write `<kind>.py` here with a `CheckKind`, and `schema/checks/<kind>.schema.json`; no
other module names it. `evalstore/diff/kinds/<kind>.py` says how its edits are judged. A module is
imported on the first use of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction, grade_always
from evalstore.checks.phrases import Phrase
from evalstore.lazy_names import KindTable
from evalstore.model.outcome import grade_error
from evalstore.text import find_nearest

# A check's mapping as it is written.
Params = Mapping[str, Any]


class JudgeInputs(NamedTuple):
    """What a check gives its judges, of any shape: `refs` name these, `variables` are its own.

    `subject` is the variable for the one thing that each question is about, empty if that is the
    output, and `subject_key` the key of the check that says so. A variable that nothing fills is
    reported at `key`, with a `hint`.
    """

    refs: Sequence[Any]
    variables: Mapping[str, Any]
    key: str
    hint: str
    subject: str = ""
    subject_key: str = ""


def _find_no_problems(_: Params) -> Iterator[CheckProblem]:
    yield from ()


def _read_no_phrase(_: object, __: Params) -> Phrase | None:
    return None


def _ask_no_judge(_: Params) -> JudgeInputs | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckKind:
    """One kind: how it grades, and facts that other rooms ask for, which hold for all its checks.

    `prepare_grading(params, context)` returns a check as a function of samples, before `negate` and
    `threshold`, with everything prepared that can be; `find_problems(params)` yields what a schema
    cannot see. Both get a mapping that the kind's schema accepts.

    `reads_text`: it grades the text of an output, so that `on` may say which part of it.
    `reads_measures`: it grades numbers that were recorded about an output, which a run then keeps.
    `word`: what it asks for, in a word. `is_binary`: its score is 0 or 1. `is_judgement`: its score
    is what one judge, or a jury, says. `may_ask_judges`: it is graded by a judge's model, if need
    be through a rubric that it names. `holds_rubric`: it contains another rubric, which
    `rubric_ref` names. `find_judge_inputs(params)`: what it gives judges. `exact_engine`: the
    program that grades it exactly, which other machines may lack. `quotes_found`: if it fails, its
    reason quotes what it found. `has_free_params`: each parameter can be edited without the others;
    of them, `item_lists` are lists in which neither order nor repetition counts. `read_phrase(item,
    params)`: the text that is searched for such an item. `idle_score`: the score of a check with
    one item that is not in the output. `reference_keys`: the key of a question that a parameter is
    read from if the check does not have it. `other_words`: how to write with it what people know
    under other names, by a pattern of these names, in lower case and with `_` between the words.
    """

    prepare_grading: Callable[[Params, CheckContext], GradeFunction]
    find_problems: Callable[[Params], Iterator[CheckProblem]] = _find_no_problems
    reads_text: bool = True
    reads_measures: bool = False
    word: str = ""
    is_binary: bool = False
    is_judgement: bool = False
    may_ask_judges: bool = False
    holds_rubric: bool = False
    find_judge_inputs: Callable[[Params], JudgeInputs | None] = _ask_no_judge
    exact_engine: str = ""
    quotes_found: bool = False
    has_free_params: bool = True
    item_lists: frozenset[str] = frozenset()
    read_phrase: Callable[[object, Params], Phrase | None] = _read_no_phrase
    idle_score: Fraction = Fraction(1)
    reference_keys: Mapping[str, str] = field(default_factory=dict)
    other_words: Mapping[str, str] = field(default_factory=dict)


KINDS: Mapping[str, CheckKind] = KindTable(__name__, __path__, CheckKind)

_UNKNOWN = CheckKind(prepare_grading=lambda *_: grade_always(grade_error("unknown check kind")))


def find_check_kind(name: str) -> CheckKind:
    """Return a kind by its name; an unknown kind has no facts."""
    return KINDS.get(name, _UNKNOWN)


def suggest_kind(name: str) -> str:
    """Return a hint on an unknown kind: how to write what it means, else the nearest name.

    It is empty if neither is known.
    """
    if said := find_other_words(name):
        return said
    guess = find_nearest(name, KINDS)
    return f"did you mean {guess}?" if guess else ""


def find_other_words(name: str) -> str:
    """Return how to write what people know under another name; empty if no kind knows it."""
    words = re.sub(r"[\W_]+", "_", name).lower()
    known = (one for kind in KINDS.values() for one in kind.other_words.items())
    return next((hint for pattern, hint in known if re.fullmatch(pattern, words)), "")


def find_inner_ref(check: Any) -> str | None:
    """Return the reference to the rubric inside a check of any shape; None if it has none."""
    kind = check.get("kind") if isinstance(check, Mapping) else None
    if not isinstance(kind, str) or not find_check_kind(kind).holds_rubric:
        return None
    ref = check.get("rubric_ref")
    return ref if isinstance(ref, str) else None
