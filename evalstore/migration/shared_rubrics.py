"""Writes a rubric once for cases whose checks differ only in values, which go to the questions.

A value that a check can take from the question always goes there, whatever the other cases have: an
edit of a value at the source is an edit of one question, and the rubric stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from evalstore.checks import find_check_kind
from evalstore.checks.question_values import fill_values, find_value_problems
from evalstore.checks.template import find_tags
from evalstore.documents import Pointer
from evalstore.errors import RefusedError
from evalstore.migration.artifact_names import number_names, shorten_slug
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase
from evalstore.migration.merging.artifact_merge import list_refs
from evalstore.migration.prompts.template_braces import BRACES
from evalstore.migration.table import FormatTable
from evalstore.model.question import INPUT_KEYS, REFERENCE_KEYS
from evalstore.model.question_params import (
    QUESTION_PARAMS,
    find_question_key,
    is_empty,
    list_question_values,
    list_value_keys,
)
from evalstore.model.refs import ID_LENGTH

# Keys of a question that have a fixed meaning.
_RESERVED = frozenset(
    {*INPUT_KEYS, *REFERENCE_KEYS, "id", "rubric_ref", "bundle", "group", "format"}
) | frozenset({"title", "description", "metadata", "tags", "owner"})
# The parameters that say what a check is about: their value has the name of the check.
_MAIN = frozenset({"values", "targets", "pattern", "schema", "facts", "tools", "variables", "each"})
_NAME_LENGTH = 30  # characters of an id that the names of checks may take
_EACH, _STATEMENT = "each", "statement"
_STATEMENTS = "statements"
# The key of a check, and of its judge, that names the variable through which the source's grader is
# asked.
_VARIABLE = "x_variable"


class Share(StrEnum):
    """Who shares a rubric.

    It is cases with equal checks, or with equal shapes within a suite, or in all suites.
    """

    CASES = "cases"
    SUITE = "suite"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class SharedCase:
    """The rubric of a case, and the values that its question has for it.

    `judge` is a judge that is made for it.
    """

    rubric: ArtifactDraft | None
    values: Mapping[str, Any] = field(default_factory=dict)
    judge: ArtifactDraft | None = None


def share_extraction(
    extraction: Extraction, table: FormatTable, has_own_rubric: Callable[[LegacyCase], bool]
) -> tuple[list[SharedCase], tuple[ArtifactDraft, ...]]:
    """Return each usable case's rubric as its suite shares it.

    The drafts that these rubrics need come with them. A case that has its own rubric keeps it as it
    is.
    """
    cases = extraction.usable_cases
    taken = {key for case in cases for key in case.question}
    judges = {draft.ref: draft for draft in extraction.drafts if draft.is_common}
    shares = [_share_case(case, table, taken, judges) for case in cases]
    for place, case in enumerate(cases):
        if shares[place].values and has_own_rubric(case):
            shares[place] = SharedCase(case.rubric)
    made = {share.judge.ref: share.judge for share in shares if share.judge}
    if not made:
        return shares, extraction.drafts
    users = [*(share.rubric for share in shares if share.rubric), *extraction.drafts]
    used = {ref for user in users for ref in list_refs(user.value)}
    return shares, (
        *made.values(),
        *(draft for draft in extraction.drafts if not draft.is_common or draft.ref in used),
    )


def _share_case(
    case: LegacyCase,
    table: FormatTable,
    taken: Collection[str],
    judges: Mapping[str, ArtifactDraft],
) -> SharedCase:
    """Return the rubric of a case without the values that its question can hold, and these."""
    if case.rubric is None:
        return SharedCase(None)
    gathered = _gather_statements(
        case.rubric.value, table.form.get(_STATEMENTS, _STATEMENTS), judges
    )
    value, judge = gathered or (case.rubric.value, None)
    keys = _ValueKeys(table, {*taken, *_RESERVED})
    params = QUESTION_PARAMS if gathered else QUESTION_PARAMS - {_EACH}
    checks = [_take_values(check, keys, params) for check in value["checks"]]
    name = _name_shape(checks)
    shape = replace(case.rubric, value={**value, "checks": checks}, name=name, is_shape=True)
    return SharedCase(shape, keys.values, judge)


@dataclass(slots=True)
class _ValueKeys:
    """The keys by which the question of one case has values, and the values."""

    table: FormatTable
    used: set[str]
    values: dict[str, Any] = field(default_factory=dict)

    def put(self, check: Mapping[str, Any], pointer: Pointer, value: Any) -> dict[str, str]:
        """Note a value of a check, and return what takes its place there."""
        key = next(key for key in self._list_names(check, pointer) if key not in self.used)
        self.used.add(key)
        self.values[key] = value
        return {"from": key}

    def _list_names(self, check: Mapping[str, Any], pointer: Pointer) -> Iterator[str]:
        """Yield names for a value.

        They are those of its check, of its key at the source, and of its parameter.
        """
        param = str(pointer[-1])
        own = check.get("id")
        row = next(
            (row for row in self.table.checks if row.kind == check["kind"] and not row.options),
            None,
        )
        name = own or (param if pointer[0] == "variables" or row is None else row.key)
        if pointer[0] not in _MAIN:
            name = f"{own}_{param}" if own and own != param else param
        elif own and pointer[0] == "variables" and len(check["variables"]) > 1:
            name = f"{own}_{param}"
        short = shorten_slug(name, ID_LENGTH - 4)  # room for a number
        yield short
        yield from number_names(shorten_slug(f"{short}_{param}", ID_LENGTH - 4))


def _take_values(
    check: Mapping[str, Any], keys: _ValueKeys, params: Collection[str]
) -> dict[str, Any]:
    shape = dict(check)
    for name, value in check.items():
        if name == "variables":
            shape[name] = dict(value)
            for variable, text in value.items():
                place = (name, variable)
                if variable not in BRACES and _is_takeable(check, place, text):
                    shape[name][variable] = keys.put(check, place, text)
        elif name in params and _is_takeable(check, (name,), value):
            shape[name] = keys.put(check, (name,), value)
    if shape != check:
        # A sentence about the values of one case.
        shape.pop("description", None)
    return shape


def _is_takeable(check: Mapping[str, Any], pointer: Pointer, value: Any) -> bool:
    return (
        not is_empty(value)
        and next(find_value_problems(check["kind"], pointer, value), None) is None
    )


def _gather_statements(
    rubric: Mapping[str, Any], name: str, judges: Mapping[str, ArtifactDraft]
) -> tuple[dict[str, Any], ArtifactDraft | None] | None:
    """Return a rubric that asks one judge each statement in one check; None if the score differs.

    The score is the same if the rubric is the weighted mean of only such checks, no single one of
    which decides, and a failing one does not count as 0 by itself. With it comes the judge, if its
    variable has another name.
    """
    checks, scoring = rubric["checks"], rubric.get("scoring", {})
    if (
        scoring.get("combine") != "weighted_avg"
        or scoring.get("required")
        or scoring.get("errors", "skip") == "zero"
    ):
        return None
    variables = {_find_variable(check) for check in checks}
    variable, weights = variables.pop(), scoring.get("weights", {})
    if variables or not variable or not all(isinstance(check.get("id"), str) for check in checks):
        return None
    if not all(
        check["variables"][variable] and check.get("negate", True) is True for check in checks
    ):
        return None
    plain = [_without_statement(check, variable) for check in checks]
    if any(one != plain[0] for one in plain):
        return None
    if any(check.get("negate") and weights.get(check["id"], 2) in {0, 1} for check in checks):
        return None
    shared, judge = plain[0], None
    if variable != _STATEMENT:
        judge = ask_about_each(judges.get(shared.get("judge_prompt_ref", "")), variable)
        if judge is None:
            return None
        shared = {**shared, "judge_prompt_ref": judge.ref, _VARIABLE: variable}
    statements = [_make_statement(check, variable, weights) for check in checks]
    rest = {key: item for key, item in scoring.items() if key != "weights"}
    return {**rubric, "checks": [{"id": name, **shared, _EACH: statements}], "scoring": rest}, judge


def _find_variable(check: Mapping[str, Any]) -> str:
    """Return the variable that has the statement of a check.

    It is empty if the check has none, or several.
    """
    variables = check.get("variables")
    names = (
        [name for name in variables if name not in BRACES] if isinstance(variables, dict) else []
    )
    return (
        names[0]
        if find_check_kind(check["kind"]).is_judgement and len(names) == 1 and _EACH not in check
        else ""
    )


def _without_statement(check: Mapping[str, Any], variable: str) -> dict[str, Any]:
    others = {key: item for key, item in check["variables"].items() if key != variable}
    left_out = {"id", "description", "negate", "variables"}
    rest = {key: item for key, item in check.items() if key not in left_out}
    return {**rest, **({"variables": others} if others else {})}


def ask_about_each(judge: ArtifactDraft | None, variable: str) -> ArtifactDraft | None:
    """Return a judge that reads its statement under the name in `each`.

    Returns None if that is impossible.
    """
    if judge is None:
        return None
    renamed = _rename_variable(judge.value, variable, _STATEMENT)
    if variable in _list_tags(renamed) or _STATEMENT in _list_tags(judge.value):
        return None
    return replace(judge, id=f"{judge.id}_each", value={**renamed, _VARIABLE: variable})


def _rename_variable(judge: Mapping[str, Any], old: str, new: str) -> dict[str, Any]:
    """Return a judge whose prompts show a variable under another name."""
    place, other = f"{{{{ {old} }}}}", f"{{{{ {new} }}}}"
    first = judge.get("first")
    return {
        **judge,
        "template": judge["template"].replace(place, other),
        "variables": [new if name == old else name for name in judge["variables"]],
        **(
            {"first": {**first, "template": first["template"].replace(place, other)}}
            if first
            else {}
        ),
    }


def _list_tags(judge: Mapping[str, Any]) -> set[str]:
    texts = [judge["template"], judge.get("first", {}).get("template", "")]
    return {tag.name for text in texts for tag in find_tags(text)}


def restore_judge(judge: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a judge as it is when asked about one statement of a check."""
    if not isinstance(variable := judge.get(_VARIABLE), str):
        return judge
    rest = {key: item for key, item in judge.items() if key != _VARIABLE}
    return _rename_variable(rest, _STATEMENT, variable)


def _make_statement(
    check: Mapping[str, Any], variable: str, weights: Mapping[str, Any]
) -> dict[str, Any]:
    weight = {"weight": weights[check["id"]]} if check["id"] in weights else {}
    if check.get("negate"):
        weight = {"weight": -weight.get("weight", 1)}
    return {"id": check["id"], "text": check["variables"][variable], **weight}


def _name_shape(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return what the checks ask for, each in a word: its own name, else that of its kind."""
    words = [find_check_kind(check["kind"]).word or check["kind"] for check in checks]
    kinds = "_".join(dict.fromkeys(words))
    own = "_".join(str(check["id"]) for check in checks if "id" in check and _EACH not in check)
    return own if 0 < len(own) <= _NAME_LENGTH else kinds


def restore_values(
    main: Mapping[str, Any], rubrics: Mapping[str, Mapping[str, Any]]
) -> tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Return a dataset and its rubrics by reference, giving each case a rubric with its own values.

    Raises `RefusedError` if a question has no value for its rubric.
    """
    keys = list_value_keys(rubrics.values())
    if not keys:
        return main, rubrics
    questions, filled = [], dict(rubrics)
    for row in main.get("questions", ()):
        ref = row.get("rubric_ref")
        rubric = fill_rubric(rubrics[ref], row) if ref in rubrics else None
        own = {key: item for key, item in row.items() if key not in keys}
        if rubric is not None and rubric is not rubrics[ref]:
            own["rubric_ref"] = f"{ref}#{row['id']}"
            filled[own["rubric_ref"]] = rubric
        questions.append(own)
    return {**main, "questions": questions}, filled


def fill_rubric(rubric: Mapping[str, Any], row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the rubric as it would be for one question alone, with the values written in."""
    if not list_value_keys([rubric]):
        return rubric
    checks, weights = list[dict[str, Any]](), dict[str, Any]()
    for check in rubric["checks"]:
        places = list_question_values(check)
        if missing := [place.key for place in places if place.key not in row]:
            raise RefusedError(
                f"{row.get('id')}: it has no {missing[0]}, which its rubric takes from it"
            )
        filled = fill_values(check["kind"], check, row)
        checks += (
            _list_statement_checks(filled, weights)
            if find_question_key(check.get(_EACH))
            else [filled]
        )
    scoring = {**rubric["scoring"], **({"weights": weights} if weights else {})}
    return {**rubric, "checks": checks, "scoring": scoring}


def _list_statement_checks(
    check: Mapping[str, Any], weights: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield a check for each statement, and add its weight."""
    variable = check.get(_VARIABLE, _STATEMENT)
    rest = {
        key: item for key, item in check.items() if key not in {"id", _EACH, _VARIABLE, "variables"}
    }
    for statement in check[_EACH]:
        weight = statement.get("weight")
        is_negated = isinstance(weight, int | Decimal) and weight < 0
        if weight is not None and not (is_negated and weight == -1):
            weights[statement["id"]] = abs(weight)
        variables = {variable: statement["text"], **check.get("variables", {})}
        negate = {"negate": True} if is_negated else {}
        yield {"id": statement["id"], **rest, "variables": variables, **negate}
