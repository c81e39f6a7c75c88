"""Judges: edits that change no prompt and no score, and the direction of edited levels."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from evalstore.diff.attainable_scores import list_scores
from evalstore.diff.change import Change, Proof
from evalstore.diff.direction import EITHER, LOOSER, STRICTER, join_directions
from evalstore.diff.findings import Direction
from evalstore.diff.limits import COMPARED
from evalstore.diff.plain_data import make_plain
from evalstore.diff.references import ArtifactLoader, is_pinned
from evalstore.diff.rubric_state import CheckState
from evalstore.errors import EvalstoreError
from evalstore.languages.patterns import find_dialect_difference
from evalstore.model import Judge, ScoreType, parse_ref, read_judge
from evalstore.model.judge import BUILTIN_VARIABLES, CRITERIA
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.checks.template import Template

_TEXT = "text"
_MISFITS = (ArithmeticError, AttributeError, KeyError, TypeError, ValueError)


def prove_template_equivalent(change: Change) -> Proof | None:
    """Prove that both templates give the same text, whatever fills them."""
    old, new = (_list_prompt_parts(template) for template in (change.old, change.new))
    if old is None or old != new:
        return None
    return Proof(
        "both templates give the same prompt for every value", rule="judge-template-equivalent"
    )


def prove_judge_reads(change: Change) -> Proof | None:
    """Prove that no text is compared: a judge reads the facts as they are written."""
    if any(check.params.get("judge_prompt_ref") is None for check in change.checks):
        return None
    return Proof("a judge reads the facts as written, so case_sensitive has no effect")


def prove_variable_unread(change: Change) -> Proof | None:
    """Prove that the template reads none of the variables that were added or removed."""
    if not all(isinstance(names, list) for names in (change.old, change.new)):
        return None
    read = [find_prompt_names(side) for side in _require_judges(change)]
    old, new = change.old, change.new
    differ = [name for name in (*old, *new) if (name in old) is not (name in new)]
    if None in read:
        return None
    if any(is_variable_unread(name, names) is False for name in differ for names in read):
        return None
    return Proof("the template does not read it, so no text changes", Bump.MINOR)


def prove_scale_equivalent(change: Change) -> Proof | None:
    """Prove that both scales have the same ends, or that the judge uses no scale."""
    old, new = _read_judges(change)
    if old is None or new is None:
        return None
    if not old.score_type is new.score_type is ScoreType.CONTINUOUS:
        return Proof(
            f"a judge of {_name_other_type(old, new, ScoreType.CONTINUOUS)} does not use the scale"
        )
    if (old.least, old.most) != (new.least, new.most):
        return None
    return Proof(f"both scales run from {old.least} to {old.most}")


def _name_other_type(old: Judge, new: Judge, known: ScoreType) -> ScoreType:
    """Return the score type, of the two, that is not `known`."""
    return old.score_type if old.score_type is not known else new.score_type


def prove_domain_unread(change: Change) -> Proof | None:
    """Prove that no score depends on a domain that a judge no longer claims."""
    if not isinstance(change.old, list) or change.new is not None:
        return None
    return Proof("only people read the claim: no rubric and no question names a domain", Bump.MINOR)


def prove_levels_equivalent(change: Change) -> Proof | None:
    """Prove that every level keeps its name and its value; a template cannot show the list."""
    before, after = _read_judges(change)
    if before and after and not before.score_type is after.score_type is ScoreType.LEVELS:
        return Proof(
            f"a judge of {_name_other_type(before, after, ScoreType.LEVELS)} does not use levels"
        )
    old, new = read_level_values(change)
    return Proof("every level keeps its name and its value") if old and old == new else None


def prove_pattern_equivalent(change: Change) -> Proof | None:
    """Prove that both patterns find the same answer in every reply."""
    old, new = (_parse_pattern(pattern) for pattern in (change.old, change.new))
    if old is not None and old == new:
        return Proof("both patterns find the same answer in every reply")
    return None


def find_levels_direction(change: Change) -> Direction:
    """Return in which direction the values of the levels move; both sides have the same names."""
    old, new = read_level_values(change)
    if not old or not new or set(old) != set(new):
        return EITHER
    # A reply that names two levels can be read only if both have the same value.
    if any((old[a] == old[b]) is not (new[a] == new[b]) for a, b in combinations(old, 2)):
        return EITHER
    rises = [new[name] > value for name, value in old.items() if new[name] != value]
    return join_directions(*(LOOSER if is_rise else STRICTER for is_rise in rises))


def bound_level_shift(change: Change) -> Fraction | None:
    """Return how far the value of one level moves at most."""
    old, new = read_level_values(change)
    if not old or not new or set(old) != set(new):
        return None
    return max(abs(new[name] - value) for name, value in old.items())


def list_possible_scores(check: CheckState, load: ArtifactLoader | None) -> tuple[Fraction, ...]:
    """Return every score that a check can have; nothing if they are many, or not known.

    They are few for a single judge that answers yes or no, or by levels, if it is asked once and
    not about a list of statements.
    """
    if not check.grading.is_judgement or load is None or check.params["samples"] != 1:
        return list_scores(check)
    # If `on` leaves nothing, the score is 0, which may be none of the judge's levels.
    if check.reads_part:
        return ()
    if not check.params["jury"] is check.params["each"] is None:
        return list_scores(check)
    try:
        ref = check.params["judge_prompt_ref"]
        judge = read_judge(make_plain(load(ref).value)) if is_pinned(parse_ref(ref)) else None
    except (*_MISFITS, EvalstoreError):
        return ()
    if judge is None or judge.score_type is ScoreType.CONTINUOUS:
        return ()
    return (
        (Fraction(0), Fraction(1))
        if judge.levels is None
        else tuple(sorted(set(judge.levels.values())))
    )


def read_level_values(
    change: Change,
) -> tuple[Mapping[str, Fraction] | None, Mapping[str, Fraction] | None]:
    """Return the value of each level, old and new; None if a judge has no levels or is invalid."""
    old, new = _read_judges(change)
    if old is None or new is None or not old.score_type is new.score_type is ScoreType.LEVELS:
        return None, None
    return old.levels, new.levels


def find_prompt_names(judge: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the names that the prompts of a judge show; None if a prompt cannot be read."""
    from evalstore.checks.template import list_shown_names

    template, first = _compile(judge.get("template")), judge.get("first")
    if template is None or first is None:
        return None if template is None else list_shown_names(template)
    before = _compile(first.get("template")) if isinstance(first, dict) else None
    return None if before is None else list_shown_names(template, before, first.get("fills"))


def is_variable_unread(name: str, names: tuple[str, ...] | None) -> bool:
    """Whether a variable reaches no text: it is unread, or the question or the output fills it."""
    return names is not None and (
        name not in names or (name in BUILTIN_VARIABLES and name != CRITERIA)
    )


def _compile(template: Any) -> Template | None:
    from evalstore.checks.template import compile_template

    compiled = compile_template(template) if isinstance(template, str) else ""
    return None if isinstance(compiled, str) else compiled


def _list_prompt_parts(template: Any) -> list[tuple[str, str]] | None:
    if (compiled := _compile(template)) is None:
        return None
    rendered: list[tuple[str, str]] = []
    for part, content in compiled.parts:
        # A comment splits a text in two: join them again.
        joins = rendered and part == rendered[-1][0] == _TEXT
        rendered[-1:] = (
            [(part, rendered[-1][1] + content)] if joins else [*rendered[-1:], (part, content)]
        )
    return rendered


def _parse_pattern(pattern: Any) -> tuple[str, int] | None:
    """Return a pattern's parsed form, with groups; None if two engines could differ on it."""
    from evalstore.checks.reply_patterns import find_pattern_problem

    if (
        not isinstance(pattern, str)
        or len(pattern) > COMPARED.pattern
        or find_pattern_problem(pattern)
        or find_dialect_difference(pattern, "")
    ):
        return None
    from evalstore.languages.pattern_comparison import (
        Expression,
        UndecidedError,
        build_pattern_language,
    )

    try:
        build_pattern_language(Expression(pattern, "", "search"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # `re` has no public function that parses a pattern.
            tree = re._parser.parse(pattern)  # type: ignore[attr-defined]  # noqa: SLF001
    except (UndecidedError, re.error, RecursionError, OverflowError):
        return None
    return repr(tree), tree.state.flags


def _require_judges(change: Change) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if change.judges is None:
        raise LookupError(f"{change.rule} is not a change of a judge")
    return change.judges


def _read_judges(change: Change) -> tuple[Judge | None, Judge | None]:
    old, new = (read_judge_value(side) for side in _require_judges(change))
    return old, new


def read_judge_value(value: Mapping[str, Any]) -> Judge | None:
    """Return a judge; None if its schema refuses the value."""
    try:
        return read_judge(value)
    except _MISFITS:
        return None
