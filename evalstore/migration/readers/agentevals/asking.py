"""From a case to its question: what is asked, what is expected, and what makes an answer good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from evalstore.documents import canonical
from evalstore.migration.readers.agentevals.filling import VARIABLE, describe_open_places
from evalstore.migration.readers.agentevals.said import CaseScope
from evalstore.migration.remainder import encode_keys, is_same_data

Raw = Mapping[str, Any]
_CRITERIA = ("criteria", "expected_outcome", "outcome")
_SEVERAL = "a judge reads the messages as one text, in another layout than the runner's"
_LAYOUT = "a judge reads the expected answer in another layout than the runner's"
_FORMATS = ("json", "text")  # no set: what stands there may have no hash


def find_input(raw: Raw, root: Raw) -> Any:
    """Return the input of a case as it is written: a text, or messages; None where there is none."""
    variables = collect_variables(raw, root)
    given = next((raw[key] for key in ("input", "input_messages") if raw.get(key) is not None), None)
    if given is not None:
        return given
    prompts = root.get("prompts")
    prompt = prompts[0] if isinstance(prompts, list) and prompts else prompts
    if isinstance(prompt, dict):
        prompt = prompt.get("raw", prompt.get("content"))
    if isinstance(prompt, str) and (alone := VARIABLE.fullmatch(prompt.strip())):
        return variables.get(alone[1])
    if isinstance(prompt, str):
        return VARIABLE.sub(lambda match: render_input(variables.get(match[1], match[0])), prompt)
    return variables.get("input", root.get("input"))


def find_expected(raw: Raw, root: Raw) -> Any:
    """Return what a case expects; a single message is its content."""
    keys = ("expected_output", "expected_messages")
    given = next(
        (raw[key] for key in keys if raw.get(key) is not None), collect_variables(raw, root).get("expected_output")
    )
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], dict) and "role" in given[0]:
        return given[0].get("content")
    return given


def find_criteria(raw: Raw) -> str | None:
    """Return what makes an answer good, in words; None where the case does not say."""
    return next((raw[key] for key in _CRITERIA if isinstance(raw.get(key), str)), None)


def collect_variables(raw: Raw, root: Raw) -> dict[str, Any]:
    """Return the variables of a test, with the defaults of its suite."""
    default = root.get("default_test")
    holders = [default if isinstance(default, dict) else {}, raw]
    found = [holder["vars"] for holder in holders if isinstance(holder.get("vars"), dict)]
    return {str(key): value for variables in found for key, value in variables.items()}


def build_question(raw: Raw, scope: CaseScope, asked: Any, *, reads: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the question of a case (its id is the caller's), and what is lost where judges read these names of it."""
    messages = _messages(asked)
    expected, criteria = scope.expected, find_criteria(raw)
    question: dict[str, Any] = {
        "input": render_input(asked),
        **({"messages": asked} if messages else {}),
        **({"criteria": criteria} if criteria is not None else {}),
        **({"context": criteria} if criteria is not None and "context" in reads else {}),
        **({"expected": expected} if expected is not None and _free(expected) else {}),
    }
    metadata = raw.get("metadata")
    holds = isinstance(metadata, dict) and metadata and is_same_data(encode_keys(metadata), metadata)
    lost = [_SEVERAL] if "input" in reads and messages and not _is_plain(messages) else []
    lost += [_LAYOUT] if "expected" in reads and not isinstance(expected, str | None) else []
    read = [question["input"], *(question.get(name) for name in ("context", "expected") if name in reads)]
    lost += [
        f"{open_}; it stays as it is"
        for text in read
        if isinstance(text, str) and (open_ := describe_open_places(text, scope))
    ]
    return question | ({"metadata": metadata} if holds else {}), lost


def render_input(asked: Any) -> str:
    """Return an input as one text: that of a single message, else each message under its role."""
    if asked is None or isinstance(asked, str):
        return asked or ""
    messages = _messages(asked)
    if not messages:
        return canonical(encode_keys(asked))
    if _is_plain(messages):
        return _content(messages[0].get("content"))
    return "\n\n".join(f"{message['role']}: {_content(message.get('content'))}" for message in messages)


def _messages(asked: Any) -> list[Raw]:
    known = isinstance(asked, list) and all(
        isinstance(message, dict) and isinstance(message.get("role"), str) and message["role"] for message in asked
    )
    return asked if known and is_same_data(encode_keys(asked), asked) else []


def _is_plain(messages: list[Raw]) -> bool:
    return len(messages) == 1 and messages[0]["role"] == "user"


def _content(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_blocks(content)) if isinstance(content, list) else canonical(encode_keys(content))


def _blocks(blocks: list[Any]) -> Iterator[str]:
    for block in blocks:
        value = block.get("value", block.get("text")) if isinstance(block, dict) else block
        if isinstance(block, dict) and block.get("type") != "text":
            yield f"[{block.get('type')}: {value if isinstance(value, str) else canonical(encode_keys(value))}]"
        else:
            yield value if isinstance(value, str) else canonical(encode_keys(value))


def _free(expected: Any) -> bool:
    """Whether a dataset can hold it: there, a mapping's `format` has a meaning of its own."""
    if not is_same_data(encode_keys(expected), expected):
        return False
    return not isinstance(expected, dict) or expected.get("format", "text") in _FORMATS
