"""What checks that look for text say of any text, by the languages that it is in; and two such checks compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from evalstore.budget import SharedBudget
from evalstore.checks.phrases import PHRASE_LIMIT
from evalstore.diff.limits import PROOFS
from evalstore.diff.rubric_state import CheckState
from evalstore.languages import (
    pattern_comparison,  # its names are imported where a pattern is compared
)
from evalstore.languages.patterns import compile_matcher
from evalstore.model import Output, Sample

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import (
        Expression,
        LanguageComparison,
        Membership,
        RegexTree,
    )


class TextScore(NamedTuple):
    """The score of a check, before it is turned round: of whether a text is in each of its languages, in order."""

    languages: tuple[RegexTree, ...]
    compute: Callable[[Membership], Fraction]


def read_text_score(check: CheckState) -> TextScore | None:
    """Return a check as a function of the text alone; None for one that reads more, or whose languages are unknown."""
    read = _READERS.get(check.kind)
    try:
        return read(check.params) if read else None
    except pattern_comparison.UndecidedError:
        return None


def _read_phrases(params: Any) -> TextScore | None:
    values, needed = list(dict.fromkeys(params["values"])), params["min_matches"]
    if not 0 < needed <= len(values):
        return TextScore((), lambda _: Fraction(needed <= 0))
    if needed == 1:
        return TextScore((_build_phrases(values, params),), _find_all)
    if len(values) > PROOFS.counted_phrases:
        return None
    languages = tuple(_build_phrases([value], params) for value in values)
    return TextScore(languages, lambda found: Fraction(sum(found) >= needed))


def _read_bans(params: Any) -> TextScore:
    if not params["values"]:
        return TextScore((), lambda _: Fraction(1))
    return TextScore(
        (_build_phrases(params["values"], params),), lambda found: Fraction(not any(found))
    )


def _read_pattern(params: Any) -> TextScore:
    return TextScore(
        (pattern_comparison.build_pattern_language(_read_expression(params)),), _find_all
    )


def _read_facts(params: Any) -> TextScore | None:
    facts = params["facts"]
    if not facts or params["judge_prompt_ref"] is not None or len(facts) > PROOFS.counted_phrases:
        return None
    spell = partial(
        pattern_comparison.build_words_language, case_sensitive=params["case_sensitive"]
    )
    return TextScore(tuple(map(spell, facts)), lambda found: Fraction(sum(found), len(found)))


def _read_format(params: Any) -> TextScore | None:
    # Lengths are counted in characters, too many for an automaton; one that the format asks for
    # anyway is none.
    if (
        params["format"] != "text"
        or params["max_chars"] is not None
        or (params["min_chars"] or 0) > 1
    ):
        return None
    return TextScore(
        (
            pattern_comparison.build_pattern_language(
                pattern_comparison.Expression(r"[^\s\x1c-\x1f]")
            ),
        ),
        _find_all,
    )


def _find_all(found: Membership) -> Fraction:
    return Fraction(all(found))


def _build_phrases(values: list[str], params: Any) -> RegexTree:
    return pattern_comparison.build_phrase_language(values, case_sensitive=params["case_sensitive"])


_READERS: dict[str, Callable[[Any], TextScore | None]] = {
    "must_contain_any": _read_phrases,
    "must_not_contain": _read_bans,
    "regex": _read_pattern,
    "fact_match": _read_facts,
    "format": _read_format,
}


def compare_checks(old: CheckState, new: CheckState, budget: SharedBudget) -> LanguageComparison:
    """Return what the outputs that `new` passes are to those of `old`; undecided for kinds that seek no text."""
    question = SharedBudget(min(pattern_comparison.QUESTION_STEPS, budget.left))
    try:
        return _compare_outputs(old, new, question)
    except pattern_comparison.UndecidedError as error:
        return pattern_comparison.LanguageComparison(
            pattern_comparison.LanguageRelation.UNDECIDED, why=str(error)
        )
    finally:
        # What the last request asked for beyond the limit is not taken from the questions to come.
        budget.spend(question.spent)


def _compare_outputs(
    old: CheckState, new: CheckState, question: SharedBudget
) -> LanguageComparison:
    compared = pattern_comparison.compare_languages(
        _build_language(old), _build_language(new), question
    )
    if not compared.is_confirmed_by(partial(_passes_text, old), partial(_passes_text, new)):
        why = "the scorer and the comparison disagree"
        return pattern_comparison.LanguageComparison(
            pattern_comparison.LanguageRelation.UNDECIDED, why=why
        )
    if _find_limit(old) != _find_limit(new):
        why = "one of them can take too many steps on a very long output"
        return replace(compared, relation=pattern_comparison.LanguageRelation.UNDECIDED, why=why)
    return compared


def _find_limit(check: CheckState) -> object:
    """Return what says on which outputs a check takes too many steps; None where it never does."""
    if check.kind != "regex":
        count = len(check.params["values"])
        return count if count > PHRASE_LIMIT else None
    expression = _read_expression(check.params)
    matcher = compile_matcher(*expression)
    return expression if isinstance(matcher, str) else matcher.ordinary_length


def _build_language(check: CheckState) -> RegexTree:
    """Return the outputs that a check passes."""
    found, absent = _build_found_language(check), check.kind == "must_not_contain"
    return found if check.negate is absent else pattern_comparison.build_complement(found)


def _build_found_language(check: CheckState) -> RegexTree:
    params = check.params
    if check.kind == "regex":
        return pattern_comparison.build_pattern_language(_read_expression(params))
    if _needs_one_phrase(check):
        return _build_phrases(params["values"], params)
    raise pattern_comparison.UndecidedError("it is not a check for one text of a list")


def _needs_one_phrase(check: CheckState) -> bool:
    """Whether it looks for one phrase of a list, whichever."""
    return check.kind == "must_not_contain" or (
        check.kind == "must_contain_any" and check.params["min_matches"] == 1
    )


def _read_expression(params: Any) -> Expression:
    return pattern_comparison.Expression(params["pattern"], params["flags"], params["mode"])


def _passes_text(check: CheckState, text: str) -> bool | None:
    from evalstore.checks import prepare_check

    score = prepare_check(check.to_check())(Sample(Output(text))).score
    return None if score is None else score == 1
