"""Reads an aggregate's results: rubrics and judges if models scored, notes on all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalstore.documents import Pointer, compute_digest
from evalstore.migration.artifact_names import make_slug
from evalstore.migration.case_reading import draft_rubric
from evalstore.migration.extraction import ArtifactDraft, LegacyCase, MigrationNote
from evalstore.migration.outcome import JudgeFacts, MigrationOutcome, classify_losses
from evalstore.migration.prompts.template_braces import escape_braces, find_template_variables
from evalstore.migration.value_readings import describe_type, is_number
from evalstore.model import Kind
from evalstore.runs.eee_versions import find_aggregate_doubt
from evalstore.runs.record_fields import get_mapping
from evalstore.text import make_excerpt

SAMPLES = "detailed_evaluation_results_per_samples"
_ALONE = "a score without the rows behind it: it is kept in the run, and nothing can grade it again"
_FACTS = JudgeFacts(
    "it is kept letter by letter, and what belongs in its places follows it in our words"
)
_KEPT = "it is kept in the run"


@dataclass(frozen=True, slots=True)
class ResultRubric:
    """A result's judges, the rubric that asks them, and why new scores can differ from its own."""

    judges: tuple[ArtifactDraft, ...]
    rubric: ArtifactDraft
    reasons: tuple[str, ...]


Result = tuple[Pointer, Any, ResultRubric | str | None]


def pair_results(root: Mapping[str, Any], form: Mapping[str, Any]) -> list[Result]:
    """Return each result with its rubric, or why it can have none."""
    pairs: list[Result] = []
    for index, result in enumerate(root["evaluation_results"]):
        pointer = ("evaluation_results", index)
        if isinstance(result, dict):
            pairs.append((pointer, result, _build_result_rubric(result, pointer, form)))
        else:
            problem = f"the result is {describe_type(result)} where an object belongs; {_KEPT}"
            pairs.append((pointer, result, problem))
    return pairs


def list_rubrics(
    results: Iterable[Result],
) -> tuple[tuple[LegacyCase, ...], tuple[ArtifactDraft, ...]]:
    """Return a rubric case for each result that models scored, and their judges, each once."""
    cases: list[LegacyCase] = []
    judges: list[ArtifactDraft] = []
    for pointer, result, rubric in results:
        if isinstance(rubric, ResultRubric):
            cases.append(_make_rubric_case(pointer, result, rubric))
            judges += rubric.judges
    # Reversed twice: the first of equal judges stays, in the place of the last.
    by_ref = {judge.ref: judge for judge in reversed(judges)}
    return tuple(cases), tuple(reversed(by_ref.values()))


def _make_rubric_case(
    pointer: Pointer, result: Mapping[str, Any], rubric: ResultRubric
) -> LegacyCase:
    return LegacyCase(
        pointer,
        result,
        classify_losses(rubric.reasons),
        rubric.reasons,
        rubric=rubric.rubric,
        remarks=tuple(_describe_odd_score(result)),
    )


def find_result_notes(
    root: Mapping[str, Any], results: Iterable[Result]
) -> Iterator[MigrationNote]:
    """Yield a note on every result without a rubric, and on a mismatched schema version."""
    if doubt := find_aggregate_doubt(root):
        yield MigrationNote(("schema_version",), MigrationOutcome.MIGRATED, doubt, in_run=True)
    if not root["evaluation_results"]:
        yield MigrationNote(
            ("evaluation_results",),
            MigrationOutcome.UNMAPPED,
            "it has no result; it is kept as a run",
        )
    with_rows = isinstance(root.get(SAMPLES), list) or bool(
        get_mapping(root, "detailed_evaluation_results")
    )
    for pointer, result, rubric in results:
        if isinstance(rubric, ResultRubric):
            continue
        has_rows = with_rows and not rubric
        reasons = [rubric or ("" if with_rows else _ALONE), *_describe_odd_score(result)]
        outcome = MigrationOutcome.MIGRATED if has_rows else MigrationOutcome.UNMAPPED
        yield MigrationNote(pointer, outcome, "; ".join(filter(None, reasons)), in_run=has_rows)


def _describe_odd_score(result: Any) -> Iterator[str]:
    """Yield a sentence on a score that its metric cannot give."""
    metric, details = get_mapping(result, "metric_config"), get_mapping(result, "score_details")
    score, low, high = details.get("score"), metric.get("min_score"), metric.get("max_score")
    if not is_number(score):
        return
    # Records spell infinite bounds as texts.
    below = low == "Infinity" or (is_number(low) and score < low)
    above = high == "-Infinity" or (is_number(high) and score > high)
    if score == -1 and (below or metric.get("has_unknown_level") is True):
        yield "its score is -1, which says unknown"
    elif below or above:
        score_text, low, high = (make_excerpt(str(number), 40) for number in (score, low, high))
        yield f"its score {score_text} is outside of its bounds, {low} to {high}"


def _build_result_rubric(
    result: Mapping[str, Any], pointer: Pointer, form: Mapping[str, Any]
) -> ResultRubric | str | None:
    """Return a result's rubric, or why it can have none; None if no model scored it."""
    metric = get_mapping(result, "metric_config")
    scoring = metric.get("llm_scoring")
    if scoring is None:
        return None
    answer = _read_answer_form(metric, form)
    if isinstance(answer, str):
        return f"{answer}; {_KEPT}"
    if problem := _find_scoring_problem(scoring):
        return f"{problem}; {_KEPT}"
    at = (*pointer, "metric_config", "llm_scoring", "judges")
    title = result.get("evaluation_name")
    head = f"{title} " if isinstance(title, str) else ""
    judges: list[ArtifactDraft] = []
    for index, member in enumerate(scoring["judges"]):
        draft = _draft_judge(scoring["input_prompt"], member, answer, form)
        judges.append(replace(draft, pointer=(*at, index), name=f"{head}{draft.name}"))
    graders: dict[str, Any] | str = {"judge_prompt_ref": judges[0].ref}
    if len(judges) > 1:
        graders = _build_jury(scoring, judges, form)
    if isinstance(graders, str):
        return f"{graders}; {_KEPT}"
    variables = find_template_variables(judges[0].value["template"])
    negate = {"negate": True} if metric.get("lower_is_better") is True else {}
    check = graders | ({"variables": variables} if variables else {}) | negate
    losses = (*_list_judge_losses(metric, scoring), *_list_jury_losses(scoring))
    return ResultRubric(tuple(judges), _draft_rubric(result, check), losses)


def _find_scoring_problem(scoring: Any) -> str:
    if not isinstance(scoring, dict):
        return f"llm_scoring is {describe_type(scoring)} where an object belongs"
    if not isinstance(scoring.get("input_prompt"), str) or not scoring["input_prompt"].strip():
        return "llm_scoring has no input_prompt"
    members = scoring.get("judges")
    if (
        not isinstance(members, list)
        or not members
        or not all(isinstance(member, dict) for member in members)
    ):
        return "llm_scoring has no list of judges"
    return ""


def _read_answer_form(metric: Mapping[str, Any], form: Mapping[str, Any]) -> dict[str, Any] | str:
    """Return a judge's answer form for this metric, or why it is unknown.

    The form is a score type, with levels or a scale.
    """
    type_ = metric.get("score_type")
    if type_ is None:
        return "it has no score_type, so it is unknown what its judges answer"
    if not isinstance(type_, str) or type_ not in form["replies"]:
        return (
            f"its score_type is {make_excerpt(str(type_), 40)}, so it is unknown what its judges "
            "answer"
        )
    if type_ == "binary":
        return {"score_type": type_}
    if type_ == "continuous":
        low, high = metric.get("min_score"), metric.get("max_score")
        if not (is_number(low) and is_number(high) and low < high):
            return (
                f"its bounds {make_excerpt(str(low), 40)} and {make_excerpt(str(high), 40)} are "
                "not a scale"
            )
        return {"score_type": type_, "scale": {"min": low, "max": high}}
    levels = metric.get("level_names")
    names = levels if isinstance(levels, list) else []
    if len({name for name in names if isinstance(name, str) and name}) < max(2, len(names)):
        return "its level_names are not a list of two or more different names"
    return {"score_type": type_, "level_names": names}


def _draft_judge(
    prompt: str, member: Mapping[str, Any], answer: Mapping[str, Any], form: Mapping[str, Any]
) -> ArtifactDraft:
    names = escape_braces(", ".join(answer.get("level_names", ())))
    reply = form["replies"][answer["score_type"]].format(names=names, **answer.get("scale", {}))
    template = form["judge"].format(prompt=escape_braces(prompt).rstrip("\n"), reply=reply)
    variables = [*find_template_variables(template)]
    model = _read_judge_model(member)
    value = {
        "template": template,
        **({"variables": variables} if variables else {}),
        **answer,
        **({"model": model} if model else {}),
    }
    word = make_slug(str(model.get("id", "")).rpartition("/")[2]) or "judge"
    return ArtifactDraft(
        Kind.JUDGE, f"judge_{compute_digest(value)[:32]}", value, facts=_FACTS, name=word
    )


def _read_judge_model(member: Mapping[str, Any]) -> dict[str, Any]:
    info, temperature = get_mapping(member, "model_info"), member.get("temperature")
    # The id of a model is exact; its name is the fallback.
    names = [info[key] for key in ("id", "name") if isinstance(info.get(key), str) and info[key]]
    settings = {"temperature": temperature} if is_number(temperature) and temperature >= 0 else {}
    return {**({"id": names[0]} if names else {}), **settings}


def _build_jury(
    scoring: Mapping[str, Any], judges: Sequence[ArtifactDraft], form: Mapping[str, Any]
) -> dict[str, Any] | str:
    # Equal judges have equal ids, because the id is made from the content.
    if len({judge.ref for judge in judges}) < len(judges):
        return "two of its judges are the same model with the same settings, which a jury asks once"
    method = scoring.get("aggregation_method")
    if method is not None and (not isinstance(method, str) or method not in form["aggregates"]):
        return f"the aggregation_method {make_excerpt(str(method), 40)} is not one of the format"
    own_weights = [_read_member_weight(member) for member in scoring["judges"]]
    weights = own_weights if method == "weighted_average" else [1] * len(judges)
    if not all(is_number(weight) and weight >= 0 for weight in weights) or not any(weights):
        return "the weights of its judges are not numbers from 0 up with one above 0"
    members: list[dict[str, Any]] = []
    for judge, weight in zip(judges, weights, strict=True):
        own = {} if weight == 1 else {"weight": weight}
        members.append({"judge_prompt_ref": judge.ref, **own})
    return {"jury": {"members": members, "aggregate": form["aggregates"][method or "average"]}}


def _read_member_weight(member: Mapping[str, Any]) -> Any:
    return 1 if member.get("weight") is None else member["weight"]


def _list_jury_losses(scoring: Mapping[str, Any]) -> list[str]:
    if len(scoring["judges"]) == 1:
        return []
    method = scoring.get("aggregation_method")
    reasons = (
        []
        if method
        else ["it does not say how its judges' scores became one; here it is their mean"]
    )
    if method == "majority_vote":
        reasons.append(
            "a majority is more than half of the judges whose score reaches 0.7; the record "
            "names no bar"
        )
    if (
        method != "weighted_average"
        and len({str(_read_member_weight(member)) for member in scoring["judges"]}) > 1
    ):
        reasons.append(f"its judges have weights, which {method or 'no method'} does not read")
    return reasons


def _list_judge_losses(metric: Mapping[str, Any], scoring: Mapping[str, Any]) -> list[str]:
    reasons = []
    if metric.get("has_unknown_level") is True:
        reasons.append("a judge could answer unknown (-1); here such a reply is unscored")
    models = [(member, _read_judge_model(member)) for member in scoring["judges"]]
    if not all("id" in model for _, model in models):
        reasons.append("a judge names no model; here the model of the run that scores is asked")
    heated = [model for member, model in models if member.get("temperature") is not None]
    if not all("temperature" in model for model in heated):
        reasons.append("the temperature of a judge is not a number of 0 or more; here none is sent")
    if scoring.get("expert_baseline") is not None:
        reasons.append("its expert_baseline has no place in a rubric and stays in the run")
    return reasons


def _draft_rubric(result: Mapping[str, Any], check: dict[str, Any]) -> ArtifactDraft:
    title = result.get("evaluation_name")
    value = {
        "checks": [{"id": "judged", "kind": "llm_judge", **check}],
        "scoring": {"combine": "weighted_avg"},
    }
    head = {"title": title} if isinstance(title, str) and title else {}
    draft = draft_rubric(value, str(title) if head else "judged")
    return replace(draft, value=head | value)  # a title is not part of what is asked
