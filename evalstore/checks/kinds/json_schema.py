"""json_schema: the output's JSON is valid by a schema, or has the fields of the question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.checks.kinds.format import grade_json, read_strict_value
from evalstore.checks.markdown import find_fenced_blocks
from evalstore.documents import format_json_pointer, read_javascript_value, write_canonical
from evalstore.errors import LimitError, SchemaError
from evalstore.languages.schemas import (
    Violation,
    compile_untrusted,
    describe_engine,
    find_unread_keywords,
    find_untrusted_flaws,
    list_keywords,
)
from evalstore.model import Grade, Question, Sample
from evalstore.model.outcome import grade_binary, grade_error, grade_missing
from evalstore.text import EXCERPT, find_nearest, make_excerpt

# Reads the JSON of an output, and grades its value by the function given.
_ReadOutput = Callable[[str, Callable[[Any], Grade]], Grade]
_DIALECTS: Mapping[str, Callable[[str], Any]] = {
    "strict": read_strict_value,
    "javascript": read_javascript_value,
}


def prepare_grading(params: Mapping[str, Any], _: CheckContext) -> GradeFunction:
    """Read the output's JSON, then check it by `schema`, or its fields by the question.

    `dialect` says which texts are JSON: strict, or those that JavaScript reads.

    `extract` says which text is the JSON: `whole`, the output, stripped; `fence`, the first fenced
    block marked `json`, else the first fenced block, as CommonMark sees them; `auto`, the fenced
    block if there is one, else the whole (no JSON has a fence in it). If there is no JSON, the
    check fails; JSON larger or deeper than evalstore reads is unscored (error).

    A schema with a flaw, or one that takes too many steps on this JSON, leaves it unscored (error),
    see `checks.untrusted_schemas`. Expected fields are keys of the outermost object, equal as JSON
    (1 is 1.0, true is not 1) to the question's `expected[field]` or to one of its
    `also_valid[field]`. A question that lacks a field leaves the check unscored (missing), whatever
    the output; a field that the output lacks is a fail.
    """
    read_output = partial(
        _grade_json_part,
        extract=params.get("extract", "auto"),
        read_json_value=_DIALECTS[params.get("dialect", "strict")],
    )
    if "expected_fields" in params:
        return _grade_by_fields(params["expected_fields"], read_output)
    return _grade_by_schema(params["schema"], read_output)


def find_problems(params: Mapping[str, Any]) -> Iterator[CheckProblem]:
    """Yield what keeps the schema from being applied, what has no effect, and repeated fields."""
    if params.get("schema") is False:
        yield CheckProblem(
            ("schema",),
            "the schema `false` accepts nothing, so nothing passes",
            "write what the schema should accept",
        )
    elif "schema" in params:
        yield from _find_schema_problems(params["schema"])
    fields = params.get("expected_fields", ())
    for index, name in enumerate(fields):
        if name in fields[:index]:
            yield CheckProblem(
                ("expected_fields", index), f"duplicate field {name!r}", "keep one of the two"
            )


def _find_schema_problems(schema: Any) -> Iterator[CheckProblem]:
    flaws = find_untrusted_flaws(schema)
    blocking = find_untrusted_flaws(schema, strict=False) if flaws else ()
    for flaw in flaws:
        yield CheckProblem(
            ("schema", *flaw.pointer), flaw.message, flaw.hint, blocks=flaw in blocking
        )
    if blocking:
        return
    for pointer, keyword in find_unread_keywords(schema):
        guess = find_nearest(keyword, list_keywords())
        hint = (
            f"did you mean `{guess}`?"
            if guess
            else f"remove it, or write x-{make_excerpt(keyword)}"
        )
        hint = "write what it should mean as a `pattern`" if keyword == "format" else hint
        yield CheckProblem(
            ("schema", *pointer),
            f"`{make_excerpt(keyword)}` has no effect: it rejects no value",
            hint,
        )


def _grade_by_schema(wanted: Any, read_output: _ReadOutput) -> GradeFunction:
    try:
        schema = compile_untrusted(wanted)
    except SchemaError as flaw:
        unread = grade_error(flaw.message)
        return lambda _: unread

    def grade_value(value: Any) -> Grade:
        violation = schema.find_first_violation(value)
        return grade_binary(
            violation is None,
            "valid" if violation is None else _word_violation(violation),
            describe_engine(),
        )

    return lambda sample: read_output(sample.text, grade_value)


def _grade_by_fields(names: list[str], read_output: _ReadOutput) -> GradeFunction:
    def grade(sample: Sample) -> Grade:
        wanted = _find_allowed_values(names, sample.question)
        if isinstance(wanted, Grade):
            return wanted
        return read_output(sample.text, lambda value: _compare_fields(wanted, value))

    return grade


def _grade_json_part(
    text: str,
    grade_value: Callable[[Any], Grade],
    *,
    extract: str,
    read_json_value: Callable[[str], Any],
) -> Grade:
    try:
        json_text = _extract_json(text, extract)
        if json_text is None:
            return grade_binary(False, "there is no fenced block")
        return grade_json(json_text, grade_value, read_json_value)
    except LimitError as limit:
        return grade_error(limit.message)
    except SchemaError as stopped:
        return grade_error(stopped.message, describe_engine())


def _extract_json(text: str, extract: str) -> str | None:
    blocks = [] if extract == "whole" else find_fenced_blocks(text)
    if not blocks:
        return None if extract == "fence" else text
    return next((block for block in blocks if block.language == "json"), blocks[0]).content


def _word_violation(violation: Violation) -> str:
    where = make_excerpt(format_json_pointer(violation.pointer), EXCERPT) or "the JSON"
    wanted = violation.expected
    if violation.keyword == "None":  # the schema `false`
        return f"{where} is not allowed"
    if violation.keyword == "required":
        wanted = [name for name in wanted if name not in violation.instance]
    expectation = (
        ""
        if any(isinstance(part, dict | list) for part in _list_parts(wanted))
        else make_excerpt(write_canonical(wanted), EXCERPT)
    )
    return f"{where} violates {violation.keyword} {expectation}".rstrip()


def _list_parts(wanted: Any) -> Iterable[Any]:
    return wanted if isinstance(wanted, list) else [wanted]


def _find_allowed_values(
    names: list[str], question: Question | None
) -> Mapping[str, list[str]] | Grade:
    """Return the canonical JSON of each field's allowed values, or why there are none."""
    row = question.row if question else {}
    expected, others = row.get("expected"), row.get("also_valid")
    if not isinstance(others, Mapping | None):
        return grade_error("the question's also_valid is not a mapping of fields to lists")
    also = {name: others.get(name, []) if others else [] for name in names}
    # Errors first: it does not matter which field is named first.
    for name in names:
        if not isinstance(also[name], list):
            return grade_error(
                f"the question's also_valid is not a list for {make_excerpt(name, EXCERPT)!r}"
            )
    wanted: dict[str, list[str]] = {}
    for name in names:
        values = [expected[name]] if isinstance(expected, Mapping) and name in expected else []
        wanted[name] = [write_canonical(value) for value in (*values, *also[name])]
        if not wanted[name]:
            slip = _explain_absence(question, name) if question else ""
            return grade_missing(
                f"the question does not say what {make_excerpt(name, EXCERPT)!r} should be{slip}"
            )
    return wanted


def _explain_absence(question: Question, name: str) -> str:
    return question.explain_absence(name, within="expected") or question.explain_absence("expected")


def _compare_fields(wanted: Mapping[str, list[str]], value: Any) -> Grade:
    if not isinstance(value, dict):
        return grade_binary(False, "the JSON is not an object")
    for name, allowed in wanted.items():
        field = make_excerpt(name, EXCERPT)
        if name not in value:
            return grade_binary(False, f"there is no field {field!r}")
        if (found := write_canonical(value[name])) not in allowed:
            return grade_binary(
                False,
                (
                    f"{field} is {make_excerpt(found, EXCERPT)}, "
                    f"{make_excerpt(allowed[0], EXCERPT)} was expected"
                ),
            )
    return grade_binary(True, "every field is as expected")


KIND = CheckKind(
    prepare_grading=prepare_grading,
    find_problems=find_problems,
    word="json",
    is_binary=True,
    has_free_params=False,
)
