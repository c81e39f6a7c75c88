"""llm_judge: what a language model, or a jury of several, says about the output, from 0 to 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction, grade_always
from evalstore.checks.judges import (
    CALL_LIMIT,
    JudgeAnswer,
    PreparedJudge,
    ask_judge,
    grade_answers,
    prepare_judge,
)
from evalstore.checks.kinds import CheckKind, JudgeInputs, Params
from evalstore.checks.statements import (
    Statement,
    build_statement_sum,
    find_weight_problem,
    read_statements,
)
from evalstore.checks.votes import AGGREGATES, WEIGHTED_AGGREGATES, JudgeVote, compute_mean_score
from evalstore.documents import Pointer
from evalstore.model import Grade, Sample, parse_fraction
from evalstore.model.judge import BUILTIN_VARIABLES, CRITERIA, STATEMENT_VARIABLE
from evalstore.model.outcome import grade_error
from evalstore.model.question_params import find_question_key
from evalstore.model.rubric import JUDGED_THRESHOLD


@dataclass(frozen=True, slots=True)
class _Panel:
    """How often each judge is asked about what, and how the answers make one score."""

    samples: int
    weights: Sequence[Fraction]  # one for each member of the jury
    aggregate: str
    threshold: Fraction
    statements: Sequence[Statement]  # none: the output is judged as a whole
    statement_aggregate: str


def prepare_grading(params: Mapping[str, Any], context: CheckContext) -> GradeFunction:
    """Ask every member `samples` times, and make one score from the members' averages.

    All are asked whatever any of them answers, and one reply that cannot be read leaves the check
    unscored (error). For `majority`, a member passes the output if its score is at least the
    check's threshold. With `each`, all are asked about every statement, and `aggregate` makes one
    score from the statements' scores; if a statement has weight 0, an unreadable reply costs
    nothing.
    """
    panel = _read_panel(params)
    variables = params.get("variables", {})
    names = [*variables, STATEMENT_VARIABLE] if panel.statements else [*variables]
    judges: list[PreparedJudge] = []
    for ref in _list_judge_refs(params):
        judge = prepare_judge(ref, context, model=params.get("model", {}), variable_names=names)
        if isinstance(judge, Grade):
            return grade_always(judge)
        judges.append(judge)
    if problem := (
        _find_obstacle(panel)
        or _find_unread_statement(panel.statements, judges)
        or find_weight_problem(panel.statement_aggregate, panel.statements)
    ):
        return grade_always(grade_error(problem))

    def ask(sample: Sample, texts: Mapping[str, str]) -> Iterator[JudgeAnswer]:
        for judge in judges:
            yield from ask_judge(judge, sample, texts, context, times=panel.samples)

    def ask_about_statements(sample: Sample) -> Iterator[JudgeAnswer]:
        for one in panel.statements:
            for answer in ask(sample, {**variables, STATEMENT_VARIABLE: one.text}):
                yield replace(answer, about=one.id, counts=bool(one.weight))

    def grade(sample: Sample) -> Grade:
        if panel.statements:
            answers = [*ask_about_statements(sample)]
            return grade_answers(answers, partial(_combine_statements, panel))
        return grade_answers([*ask(sample, variables)], partial(_combine_replies, panel))

    return grade


def _combine_replies(panel: _Panel, scores: Sequence[Fraction | None]) -> Fraction | None:
    """Return the jury's score of one subject, from the replies judge by judge."""
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None  # if one reply says that it is not applicable, there is no vote
    starts = range(0, len(known), panel.samples)
    means = [compute_mean_score(known[start : start + panel.samples]) for start in starts]
    votes = [JudgeVote(score, weight) for score, weight in zip(means, panel.weights, strict=True)]
    return AGGREGATES[panel.aggregate](votes, panel.threshold)


def _combine_statements(panel: _Panel, scores: Sequence[Fraction | None]) -> Fraction | None:
    """Return one score for the replies, statement by statement.

    A statement that is not applicable is left out.
    """
    replies = len(panel.weights) * panel.samples
    asked, means = [], []
    for index, statement in enumerate(panel.statements):
        start = index * replies
        mean = _combine_replies(panel, scores[start : start + replies])
        if mean is not None:
            asked.append(statement)
            means.append(mean)
    if not asked or find_weight_problem(panel.statement_aggregate, asked):
        return None
    return build_statement_sum(panel.statement_aggregate, asked).compute(means)


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield what keeps the judges from being asked, equal members, and variables nothing reads."""
    panel = _read_panel(params)
    if problem := _find_obstacle(panel):
        too_many = _count_calls(panel) > CALL_LIMIT
        pointer: Pointer = ("samples",) if too_many else ("jury", "members")
        hint = "lower `samples`" if too_many else "give at least one member a weight above 0"
        yield CheckProblem(pointer, problem, hint, blocks=True)
    if problem := find_weight_problem(panel.statement_aggregate, panel.statements):
        yield CheckProblem(("each",), problem, "give a statement a weight above 0", blocks=True)
    if "aggregate" in params and "each" not in params:
        yield CheckProblem(
            ("aggregate",),
            "without `each` there is nothing to aggregate",
            "remove it, or add `each`",
        )
    refs = _list_judge_refs(params)
    first = {ref: index for index, ref in reversed([*enumerate(refs)])}
    for index, ref in enumerate(refs):
        if first[ref] < index:
            pointer = ("jury", "members", index, "judge_prompt_ref")
            message = f"{ref} is listed twice, but it is asked only once"
            yield CheckProblem(pointer, message, "keep one and raise its weight, or use `samples`")
    for name in params.get("variables", {}):
        if name in BUILTIN_VARIABLES and name != CRITERIA:
            message = f"`{name}` comes from the question or the output, so this value has no effect"
            yield CheckProblem(
                ("variables", name), message, "rename the variable, in the judge too"
            )


def make_judge_check(ref: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a check that asks one judge; its variables are texts, or keys of the question."""
    check = {"id": "judge", "kind": "llm_judge", "judge_prompt_ref": ref}
    return {**check, **({"variables": dict(variables)} if variables else {})}


def _find_judge_inputs(params: Params) -> JudgeInputs:
    """Return what the judges get, from a mapping that need not be valid."""
    variables, jury = params.get("variables"), params.get("jury")
    filled = variables if isinstance(variables, dict) else {}
    refs = [params.get("judge_prompt_ref")]
    if "jury" in params:
        members = jury.get("members") if isinstance(jury, dict) else None
        listed = members if isinstance(members, list) else []
        refs = [one.get("judge_prompt_ref") for one in listed if isinstance(one, dict)]
    return JudgeInputs(
        refs=refs,
        variables=filled,
        key="variables" if filled else "",
        hint="add it under `variables:`",
        subject=STATEMENT_VARIABLE if "each" in params else "",
        subject_key="each",
    )


def _read_panel(params: Mapping[str, Any]) -> _Panel:
    """Return the panel of a check; statements that a question supplies are not included yet."""
    return _Panel(
        samples=_read_sample_count(params),
        weights=_read_weights(params),
        aggregate=str(params["jury"]["aggregate"]) if "jury" in params else "mean",
        threshold=parse_fraction(params.get("threshold", JUDGED_THRESHOLD)),
        statements=_read_each(params),
        statement_aggregate=str(params.get("aggregate", "mean")),
    )


def _count_calls(panel: _Panel) -> int:
    return len(panel.weights) * panel.samples * max(1, len(panel.statements))


def _find_obstacle(panel: _Panel) -> str:
    """Return why no reply could make a score; empty if one can."""
    if (calls := _count_calls(panel)) > CALL_LIMIT:
        return f"it asks {calls:,} times about one output, and {CALL_LIMIT:,} is the limit"
    if panel.aggregate in WEIGHTED_AGGREGATES and not any(panel.weights):
        return f"the members' weights add up to 0, so there is no {panel.aggregate}"
    return ""


def _find_unread_statement(statements: Sequence[Statement], judges: Sequence[PreparedJudge]) -> str:
    deaf = next((judge.name for judge in judges if STATEMENT_VARIABLE not in judge.names), "")
    if not statements or not deaf:
        return ""
    return (
        f"the template of {deaf} does not use {{{{ {STATEMENT_VARIABLE} }}}}, so the judge never "
        "sees the statement"
    )


def _read_each(params: Mapping[str, Any]) -> tuple[Statement, ...]:
    if "each" not in params or find_question_key(params["each"]):
        return ()
    return read_statements(params["each"])


def _list_judge_refs(params: Mapping[str, Any]) -> list[str]:
    if ("jury" in params) is ("judge_prompt_ref" in params):
        raise ValueError("either one judge or a jury")
    return [member["judge_prompt_ref"] for member in _list_members(params)]


def _list_members(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    members: list[Mapping[str, Any]] = params["jury"]["members"] if "jury" in params else [params]
    return members


def _read_weights(params: Mapping[str, Any]) -> list[Fraction]:
    if "jury" not in params:
        return [Fraction(1)]
    written = [member.get("weight", 1) for member in _list_members(params)]
    if any(isinstance(weight, bool | str) or weight < 0 for weight in written):
        raise ValueError("a weight is not a number of 0 or more")
    return [parse_fraction(weight) for weight in written]


def _read_sample_count(params: Mapping[str, Any]) -> int:
    samples = params.get("samples", 1)
    if isinstance(samples, bool | str) or samples < 1 or samples != int(samples):
        raise ValueError("samples is not a whole number of 1 or more")
    return int(samples)


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="judged",
    is_judgement=True,
    may_ask_judges=True,
    find_judge_inputs=_find_judge_inputs,
    has_free_params=False,
)
