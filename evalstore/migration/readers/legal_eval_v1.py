"""Reads legal_eval_v1: rows graded by weighted criteria, references, or choice.

A criterion with a negative weight asks for absence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.artifact_names import make_check_ids
from evalstore.migration.case_reading import CaseRow, RowLabel, draft_rubric, read_rows
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.outcome import classify_losses
from evalstore.migration.prompts.template_braces import find_template_variables
from evalstore.migration.table import FormatTable, PromptRow
from evalstore.migration.value_readings import describe_type, describe_unknown_keys
from evalstore.model import Kind
from evalstore.text import make_excerpt

_TEXTS = ("id", "dataset", "task_type", "prompt")
_ROLES = ("user", "assistant", "system")  # a tuple: raw values may not be hashable
_CRITERION = ("id", "title", "description", "weight")
_TYPES: Mapping[str, type] = {
    "context": str,
    "messages": list,
    "attachments": list,
    "metadata": dict,
}
_FORBIDDEN: Mapping[str, tuple[str, ...]] = {
    "rubric_qa": ("choices", "correct_choice_ids"),
    "reference_qa": ("rubric", "choices", "correct_choice_ids"),
    "mcq": ("rubric", "reference_answers"),
}
_LENIENT = (
    "the program finds its JSON object amid other text, too; here it is the whole output or its "
    "fenced block"
)
# Other words may follow the id on its line, as in `B. The court held`.
_ANSWER = r"\A[^A-Za-z0-9_]*(?:{names})(?:[^A-Za-z0-9_][^\n]*)?\s*\Z"
_ROUNDED = (
    "the program rounds the judge's number to tenths and takes its own word on passing where it "
    "gives one"
)
_DEFAULT = "the policy {!r} is unknown: the program takes its default without a word"

_NAMES: Mapping[str, str] = {"rubric_qa": "criteria", "reference_qa": "reference", "mcq": "choice"}

RubricParts = tuple[dict[str, Any], tuple[str, ...]]


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the questions of a file of rows, each with the rubric of its task type."""
    root: Any = legacy.document.value
    at: Pointer = () if isinstance(root, list) else ("rows",)
    rows = root if isinstance(root, list) else root["rows"]
    dataset = ArtifactDraft(Kind.DATASET, "suite", {}, at)
    judges = {judge["id"]: legacy.prompts.draft_judge(judge) for judge in table.judges}
    cases = read_rows(rows, at, _label_row, partial(_read_row, table=table, judges=judges))
    return Extraction("v1", dataset, cases, tuple(judges.values()))


def _label_row(row: Any, _: int) -> RowLabel:
    problem = next(_find_problems(row), "")
    return RowLabel("", problem) if problem else RowLabel(row["id"])


def _read_row(case: CaseRow, table: FormatTable, judges: Mapping[str, ArtifactDraft]) -> LegacyCase:
    row: Mapping[str, Any] = case.raw
    value, reasons = _RUBRIC_BUILDERS[row["task_type"]](row, table.form, judges)
    losses = tuple(reason for reason in reasons if reason in {_LENIENT, _ROUNDED})
    remarks = (reason for reason in reasons if reason not in losses)
    own = _find_own_prompt(row, table, judges)
    return LegacyCase(
        case.pointer,
        row,
        classify_losses(losses),
        losses,
        _build_question(row, case.label, table) | _build_context(row, own),
        draft_rubric(value, _NAMES[row["task_type"]]),
        remarks=(*remarks, *_list_unknown_keys(row, table), *case.remarks),
        unseen=() if own else tuple(_list_unseen(row)),
    )


def _build_question(row: Mapping[str, Any], name: str, table: FormatTable) -> dict[str, Any]:
    question: dict[str, Any] = {}
    for key, field in table.mirrors.items():
        if field and row.get(key) is not None:
            question[field] = row[key]
    question["id"] = name
    answers = row.get("reference_answers")
    if answers and row["task_type"] == "reference_qa":
        question["expected"] = "\n".join(answers)
    return question


def _find_own_prompt(
    row: Mapping[str, Any], table: FormatTable, judges: Mapping[str, ArtifactDraft]
) -> PromptRow | None:
    """Return the program's prompt by which a row is judged.

    Returns None if the row is judged in words of ours.
    """
    policy, _ = _find_policy(row, table.form)
    is_own = row["task_type"] == "rubric_qa" and "x_source" in judges[policy["judge"]].value
    return (
        next(prompt for prompt in table.prompts if prompt.judge == policy["judge"])
        if is_own
        else None
    )


def _build_context(row: Mapping[str, Any], prompt: PromptRow | None) -> dict[str, Any]:
    """Return the context that a prompt shows: the conversation in the program's layout, trimmed."""
    if prompt is None or prompt.context is None:
        return {}
    turns = row.get("messages") or [{"role": "user", "content": row["prompt"]}]
    return {"context": "\n".join(f"{turn['role']}: {turn['content'].strip()}" for turn in turns)}


def _list_unseen(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the inputs of a row that no template shows to a judge."""
    # The last turn is the prompt again.
    if len(row.get("messages") or ()) > 1:
        yield "the earlier turns of the conversation"
    if row.get("attachments"):
        yield "the attached files"


def _list_unknown_keys(row: Mapping[str, Any], table: FormatTable) -> Iterator[str]:
    """Yield sentences on keys of a row and of its criteria that the program does not know."""
    criteria = dict.fromkeys(key for criterion in row.get("rubric") or () for key in criterion)
    for keys, known in ((row, table.mirrors), (criteria, _CRITERION)):
        yield from describe_unknown_keys((key for key in keys if key not in known), known)


def _find_problems(row: Any) -> Iterator[str]:
    """Yield the problems for which the program rejects a row."""
    if not isinstance(row, dict):
        yield f"the row is {describe_type(row)} where an object belongs"
        return
    if row.get("schema_version") != "legal_eval_v1":
        yield "schema_version is not legal_eval_v1: the program does not take the row"
    for key in _TEXTS:
        if not isinstance(row.get(key), str):
            yield (
                f"{key} is {describe_type(row[key]) if key in row else 'missing'} where a text "
                "belongs"
            )
        elif not row[key]:
            yield f"{key} is empty"
    for key, kind in _TYPES.items():
        if row.get(key) is not None and not isinstance(row[key], kind):
            yield f"{key} is {describe_type(row[key])}: the program does not take the row"
    # A tuple, because the task may be a value that is not hashable.
    if row.get("task_type") not in tuple(_FORBIDDEN):
        yield (
            f"the task {make_excerpt(str(row.get('task_type')))!r} is not one that the program "
            "knows"
        )
        return
    if forbidden := [key for key in _FORBIDDEN[row["task_type"]] if row.get(key) is not None]:
        yield (
            f"{forbidden[0]} has no place in a row of {row['task_type']}: the program does not "
            "take it"
        )
    yield from _check_messages(row.get("messages") or ())
    if not all(_has_texts(item, "path") for item in row.get("attachments") or ()):
        yield "an attachment has no path"
    yield from _TASK_CHECKS[row["task_type"]](row)


def _check_messages(messages: Any) -> Iterator[str]:
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            yield "a message has no role of user, assistant or system"
        elif not _has_texts(message, "content") or not message["content"]:
            yield "a message has no content"


def _has_texts(item: Any, *keys: str) -> bool:
    return isinstance(item, dict) and all(isinstance(item.get(key), str) for key in keys)


def _check_criteria(row: Mapping[str, Any]) -> Iterator[str]:
    rubric = row.get("rubric")
    if not isinstance(rubric, list) or not rubric:
        yield "rubric is not a list of criteria"
        return
    for criterion in rubric:
        if not _has_texts(criterion, "id", "title"):
            yield "a criterion has no id and title"
        elif not isinstance(criterion.get("description") or "", str):
            kind = describe_type(criterion["description"])
            yield f"the description of {make_excerpt(criterion['title'])!r} is {kind}"
        elif not isinstance(_read_weight(criterion), int | Decimal):
            yield (
                f"the weight of {make_excerpt(criterion['title'])!r} is "
                f"{describe_type(criterion['weight'])}"
            )
    answers = row.get("reference_answers")
    if answers is not None and not (
        isinstance(answers, list) and all(isinstance(item, str) for item in answers)
    ):
        yield "reference_answers is not a list of texts"
    if not any(_read_weight(criterion) for criterion in rubric if isinstance(criterion, dict)):
        yield "all weights are 0: there is nothing to take an average of"


def _check_answers(row: Mapping[str, Any]) -> Iterator[str]:
    answers = row.get("reference_answers")
    if (
        not isinstance(answers, list)
        or not answers
        or not all(isinstance(item, str) and item for item in answers)
    ):
        yield "reference_answers is not a list of texts"


def _check_choices(row: Mapping[str, Any]) -> Iterator[str]:
    choices, correct = row.get("choices"), row.get("correct_choice_ids")
    if (
        not isinstance(choices, list)
        or len(choices) < 2  # noqa: PLR2004
        or not all(_has_texts(one, "id", "text") for one in choices)
    ):
        yield "choices is not a list of two or more, each with an id and a text"
        return
    ids = [choice["id"] for choice in choices]
    if len(set(ids)) < len(ids):
        yield "two choices have the same id"
    if not isinstance(correct, list) or not correct or not all(item in ids for item in correct):
        yield "correct_choice_ids is not a list of ids of the choices"
    elif len(set(correct)) < len(correct):
        yield "a correct id is listed twice"
    elif not any(map(_trim_id, correct)):
        yield (
            "no correct id has an ASCII letter or digit: the program strips all else from an "
            "answer and finds none"
        )


def _read_weight(criterion: Mapping[str, Any]) -> Any:
    # Python: true counts as the weight 1, false as 0.
    weight = criterion.get("weight")
    if weight is None:
        return 1
    return int(weight) if isinstance(weight, bool) else weight


def _find_policy(
    row: Mapping[str, Any], form: Mapping[str, Any]
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    name = (row.get("metadata") or {}).get("policy_id")
    known = form["policies"].get(name) if isinstance(name, str) else None
    reasons = () if known or name is None else (_DEFAULT.format(make_excerpt(str(name))),)
    return known or form["other"], reasons


def _grade_by_criteria(
    row: Mapping[str, Any], form: Mapping[str, Any], judges: Mapping[str, ArtifactDraft]
) -> RubricParts:
    policy, reasons = _find_policy(row, form)
    judge, criteria = judges[policy["judge"]], row["rubric"]
    places = enumerate(criteria, start=1)
    ids = make_check_ids((one["id"], one["title"], f"criterion_{place}") for place, one in places)
    checks: list[dict[str, Any]] = []
    weights: dict[str, Any] = {}
    for id_, criterion in zip(ids, criteria, strict=True):
        weight = _read_weight(criterion)
        check = {
            "id": id_,
            "kind": "llm_judge",
            "description": criterion["title"],
            "judge_prompt_ref": judge.ref,
            "variables": _fill_variables(criterion, policy, judge),
        }
        checks.append(check | ({"negate": True} if weight < 0 else {}))
        if abs(weight) != 1:
            weights[id_] = abs(weight)
    return _build_rubric(checks, form, weights=weights), reasons


def _fill_variables(
    criterion: Mapping[str, Any], policy: Mapping[str, str], judge: ArtifactDraft
) -> dict[str, str]:
    """Return a check's variables.

    The criterion is in the words that the program uses, trimmed in the same way.
    """
    texts = (str(criterion.get(key) or "").strip() for key in (policy["criterion"], "title", "id"))
    return {
        "criterion": next(filter(None, texts), "criterion"),
        **find_template_variables(judge.value["template"]),
    }


def _grade_by_reference(
    row: Mapping[str, Any], form: Mapping[str, Any], judges: Mapping[str, ArtifactDraft]
) -> RubricParts:
    policy, reasons = _find_policy(row, form)
    check = {
        "id": "reference",
        "kind": "llm_judge",
        "judge_prompt_ref": judges[policy["reference"]].ref,
    }
    return _build_rubric([check], form), (*reasons, _ROUNDED)


def _grade_by_choice(
    row: Mapping[str, Any], form: Mapping[str, Any], _: Mapping[str, ArtifactDraft]
) -> RubricParts:
    # The program reads `answer`, or the first text of a list, up to the first non-word character.
    names = "|".join(
        dict.fromkeys(
            map(_match_letters, sorted(filter(None, map(_trim_id, row["correct_choice_ids"]))))
        )
    )
    text = {"type": "string", "pattern": _ANSWER.format(names=names)}
    answer = {"anyOf": [text, {"type": "array", "prefixItems": [text], "minItems": 1}]}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return _build_rubric([{"id": "choice", "kind": "json_schema", "schema": schema}], form), (
        _LENIENT,
    )


def _trim_id(id_: str) -> str:
    """Return an id as the program compares it with an answer, before case folding."""
    return re.sub(r"[^A-Za-z0-9_].*\Z", "", re.sub(r"\A[^A-Za-z0-9_]+", "", id_.strip()))


def _match_letters(text: str) -> str:
    """Return a case-insensitive pattern for an id.

    Only ASCII letters match in either case: the flag i matches others, too.
    """
    return "".join(
        f"[{c.upper()}{c.lower()}]" if c.isascii() and c.isalpha() else re.escape(c) for c in text
    )


def _build_rubric(
    checks: list[dict[str, Any]], form: Mapping[str, Any], weights: Any = None
) -> dict[str, Any]:
    scoring = {
        "combine": "weighted_avg",
        **({"weights": weights} if weights else {}),
        "threshold": form["threshold"],
    }
    # One judge reply that cannot be parsed makes the whole row 0.
    asks_judge = any("judge_prompt_ref" in check for check in checks)
    return {"checks": checks, "scoring": scoring | ({"errors": "fail"} if asks_judge else {})}


_RUBRIC_BUILDERS: Mapping[
    str, Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, ArtifactDraft]], RubricParts]
] = {
    "rubric_qa": _grade_by_criteria,
    "reference_qa": _grade_by_reference,
    "mcq": _grade_by_choice,
}
_TASK_CHECKS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "rubric_qa": _check_criteria,
    "reference_qa": _check_answers,
    "mcq": _check_choices,
}
