"""fact_match: the share of the facts that the output states, found as text or judged singly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction, grade_always
from evalstore.checks.judges import CALL_LIMIT, ask_judge, grade_answers, prepare_judge
from evalstore.checks.kinds import CheckKind, JudgeInputs, Params
from evalstore.checks.phrases import Phrase, find_excess, read_phrase
from evalstore.checks.votes import compute_mean_score
from evalstore.model import Grade, Sample
from evalstore.model.judge import FACT_VARIABLE
from evalstore.model.outcome import grade_error, grade_missing
from evalstore.model.question_params import find_question_key
from evalstore.text import make_excerpt

# The key for the facts of a check without any begins like this; no question has such a key.
_NO_FACTS = "nothing for "
# A fact as written, and as it is searched for.
_SpelledFact = tuple[str, str]


def prepare_grading(params: Mapping[str, Any], context: CheckContext) -> GradeFunction:
    """Look for the check's facts, or else the question's; each counts as often as it is listed.

    As text, a fact is found if it occurs in the output, both with every run of white space (as in
    Unicode) made one blank and trimmed. With a judge, every fact is a separate question. Without
    facts: unscored (missing).
    """
    spell = _choose_spelling(params)
    grade_facts = (
        _ask_about_facts(params["judge_prompt_ref"], context)
        if "judge_prompt_ref" in params
        else _search_facts(params, spell)
    )
    own = _read_facts(params["facts"], spell) if "facts" in params else None
    if own and (problem := _find_blank(own)):
        return grade_always(grade_error(f"facts cannot be read: {problem}"))

    def grade(sample: Sample) -> Grade:
        try:
            facts = _read_facts(_find_expected_facts(sample), spell) if own is None else own
        except TypeError as misfit:
            where = sample.question.place if sample.question else ""
            return grade_error(f"the question's expected_facts cannot be read: {misfit}{where}")
        if own is None and (problem := _find_blank(facts)):
            where = sample.question.place if sample.question else ""
            return grade_error(f"the question's expected_facts cannot be read: {problem}{where}")
        if facts:
            return grade_facts(sample, facts)
        slip = sample.question.explain_absence("expected_facts") if sample.question else ""
        return grade_missing(f"the question lists no fact{slip}")

    return grade


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield facts that every output states, and facts that count twice."""
    seen: dict[str, int] = {}
    for index, (written, wanted) in enumerate(
        _read_facts(params.get("facts", []), _choose_spelling(params))
    ):
        if not wanted.strip():
            message = "this fact is only white space, so every output states it"
            yield CheckProblem(
                ("facts", index), message, "write the fact, or remove it", blocks=True
            )
        elif wanted in seen:
            message = (
                f"'{make_excerpt(written)}' is item {seen[wanted] + 1} already, so it would count "
                "twice"
            )
            yield CheckProblem(("facts", index), message, "remove one of the two")
        seen.setdefault(wanted, index)


def make_empty_check(id_: str) -> dict[str, Any]:
    """Return the mapping of a check with nothing to grade: no question has its facts."""
    return {"id": id_, "kind": "fact_match", "facts": {"from": f"{_NO_FACTS}{id_}"}}


def is_empty_check(params: Mapping[str, Any]) -> bool:
    """Whether these are the parameters of a check with nothing to grade."""
    return (find_question_key(params.get("facts")) or "").startswith(_NO_FACTS)


def _find_judge_inputs(params: Params) -> JudgeInputs | None:
    return JudgeInputs(
        refs=(params.get("judge_prompt_ref"),),
        variables={},
        key="judge_prompt_ref",
        hint=f"remove it from the judge: a {params['kind']} check fills only `{FACT_VARIABLE}`",
        subject=FACT_VARIABLE,
        subject_key="judge_prompt_ref",
    )


def _find_blank(facts: list[_SpelledFact]) -> str:
    """Return the fact without text, which every output would state; empty if all have some."""
    blank = next(
        (number for number, (_, wanted) in enumerate(facts, 1) if not wanted.strip()), None
    )
    return "" if blank is None else f"fact {blank} is blank"


def _search_facts(
    params: Mapping[str, Any], spell: Callable[[str], str]
) -> Callable[[Sample, list[_SpelledFact]], Grade]:
    exact = params.get("case_sensitive", False)

    def grade_facts(sample: Sample, facts: list[_SpelledFact]) -> Grade:
        if excess := find_excess(facts, sample.text):
            return grade_error(excess)
        text = spell(sample.text if exact else sample.lowercase_text)
        absent = [written for written, wanted in facts if wanted not in text]
        stated = len(facts) - len(absent)
        reason = f"{stated} of {len(facts)} facts found" + (
            f", not '{make_excerpt(absent[0])}'" if absent else ""
        )
        return Grade(Fraction(stated, len(facts)), reason)

    return grade_facts


def _ask_about_facts(
    ref: str, context: CheckContext
) -> Callable[[Sample, list[_SpelledFact]], Grade]:
    judge = prepare_judge(ref, context, model={}, variable_names=(FACT_VARIABLE,))

    def grade_facts(sample: Sample, facts: list[_SpelledFact]) -> Grade:
        if isinstance(judge, Grade):
            return judge
        if FACT_VARIABLE not in judge.names:
            return grade_error(
                f"the template of {judge.name} does not use {{{{ {FACT_VARIABLE} }}}}, so "
                "the judge never sees the fact"
            )
        if len(facts) > CALL_LIMIT:
            return grade_error(
                f"it asks {len(facts):,} times about one output, and {CALL_LIMIT:,} is the limit"
            )
        texts = [{FACT_VARIABLE: written} for written, _ in facts]
        answers = [one for text in texts for one in ask_judge(judge, sample, text, context)]
        return grade_answers(answers, _average_applicable)

    return grade_facts


def _average_applicable(scores: list[Fraction | None]) -> Fraction | None:
    """Return the mean over the facts that the judge calls applicable; None if there are none."""
    known = [score for score in scores if score is not None]
    return compute_mean_score(known) if known else None


def _choose_spelling(params: Mapping[str, Any]) -> Callable[[str], str]:
    """Return the function that unifies spellings of a fact; a judge reads them as written."""
    if "judge_prompt_ref" in params:
        return str
    lower = not params.get("case_sensitive", False)
    return lambda text: " ".join((text.lower() if lower else text).split())


def _find_expected_facts(sample: Sample) -> Any:
    listed = sample.question.row.get("expected_facts") if sample.question else None
    return [] if listed is None else listed


def _read_facts(listed: Any, spell: Callable[[str], str]) -> list[_SpelledFact]:
    """Return facts as written and as searched for.

    Raises `TypeError` for a list with other things.
    """
    if not isinstance(listed, list | tuple):
        raise TypeError("it is not a list")
    items = [fact.get("value") if isinstance(fact, Mapping) else fact for fact in listed]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise TypeError("an item is not a string or a mapping with a `value`")
    return [(text, spell(text)) for text in texts]


def _read_fact_phrase(fact: object, params: Mapping[str, Any]) -> Phrase | None:
    """Return what is searched for this fact; None if a judge is asked about it."""
    written = fact.get("value") if isinstance(fact, Mapping) else fact
    return None if "judge_prompt_ref" in params else read_phrase(written, params)


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="facts",
    read_phrase=_read_fact_phrase,
    idle_score=Fraction(0),
    reference_keys={"facts": "expected_facts"},
    may_ask_judges=True,
    find_judge_inputs=_find_judge_inputs,
    has_free_params=False,
)
