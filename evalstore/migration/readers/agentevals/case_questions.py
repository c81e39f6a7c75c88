"""Builds a case's question from its fields and its suite's: input, expected answer and criteria."""

from __future__ import annotations

from typing import Any

from evalstore.migration.readers.agentevals.grading import (
    VARIABLE,
    CaseScope,
    Raw,
    describe_open_places,
)
from evalstore.migration.remainder import encode_value, is_same_data
from evalstore.migration.value_readings import (
    is_plain,
    is_question_value,
    read_messages,
    render_input,
)

_CRITERIA = ("criteria", "expected_outcome", "outcome")
_SEVERAL = "a judge reads the messages as one text, in another layout than the runner's"
_LAYOUT = "a judge reads the expected answer in another layout than the runner's"


def find_input(raw: Raw, root: Raw) -> Any:
    """Return a case's raw input, a text or messages, or None if it has none.

    Its prompt's variables are filled in.
    """
    variables = collect_variables(raw, root)
    text = next((raw[key] for key in ("input", "input_messages") if raw.get(key) is not None), None)
    if text is not None:
        return text
    # Only the first prompt of a suite is asked; the caller reports further ones.
    prompts = root.get("prompts")
    prompt = prompts[0] if isinstance(prompts, list) and prompts else prompts
    if isinstance(prompt, dict):
        prompt = prompt.get("raw", prompt.get("content"))
    # A prompt that is one variable alone passes its value on unchanged, even messages.
    if isinstance(prompt, str) and (variable := VARIABLE.fullmatch(prompt.strip())):
        return variables.get(variable[1])
    if isinstance(prompt, str):
        return VARIABLE.sub(lambda match: render_input(variables.get(match[1], match[0])), prompt)
    return variables.get("input", root.get("input"))


def find_expected(raw: Raw, root: Raw) -> Any:
    """Return the expected output of a case; a single message is represented by its content."""
    keys = ("expected_output", "expected_messages")
    value = next(
        (raw[key] for key in keys if raw.get(key) is not None),
        collect_variables(raw, root).get("expected_output"),
    )
    if (
        isinstance(value, list)
        and len(value) == 1
        and isinstance(value[0], dict)
        and "role" in value[0]
    ):
        return value[0].get("content")
    return value


def find_criteria(raw: Raw) -> str | None:
    """Return the criteria of a case in words; None if it has none."""
    return next((raw[key] for key in _CRITERIA if isinstance(raw.get(key), str)), None)


def collect_variables(raw: Raw, root: Raw) -> dict[str, Any]:
    """Return the variables of a test, with the defaults of its suite."""
    default = root.get("default_test")
    # Variables of the test override those of the suite.
    holders = [default if isinstance(default, dict) else {}, raw]
    mappings = [holder["vars"] for holder in holders if isinstance(holder.get("vars"), dict)]
    return {str(key): value for variables in mappings for key, value in variables.items()}


def build_question(
    raw: Raw, scope: CaseScope, input_: Any, *, reads: set[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return a case's question without its id, and its losses.

    There are losses if its judges read the fields in `reads`.
    """
    messages = read_messages(input_)
    expected, criteria = scope.expected, find_criteria(raw)
    question: dict[str, Any] = {
        "input": render_input(input_),
        **({"messages": input_} if messages else {}),
        **({"criteria": criteria} if criteria is not None else {}),
        **({"context": criteria} if criteria is not None and "context" in reads else {}),
        **({"expected": expected} if expected is not None and _fits_dataset(expected) else {}),
    }
    metadata = raw.get("metadata")
    holds = (
        isinstance(metadata, dict) and metadata and is_same_data(encode_value(metadata), metadata)
    )
    losses = [_SEVERAL] if "input" in reads and messages and not is_plain(messages) else []
    losses += [_LAYOUT] if "expected" in reads and not isinstance(expected, str | None) else []
    texts = [question["input"]]
    texts += [question.get(name) for name in ("context", "expected") if name in reads]
    for text in texts:
        if isinstance(text, str) and (open_ := describe_open_places(text, scope)):
            losses.append(f"{open_}; it stays as it is")
    return question | ({"metadata": metadata} if holds else {}), losses


def _fits_dataset(expected: Any) -> bool:
    """Whether a question can hold an expected value.

    In a question, a mapping's `format` has another meaning.
    """
    return is_same_data(encode_value(expected), expected) and is_question_value(
        "expected", expected
    )
