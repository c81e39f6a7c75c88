"""A question of a dataset, and a sample: an output with its question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from evalstore.documents import compute_digest
from evalstore.errors import SchemaError
from evalstore.model.artifact import COSMETIC_KEYS
from evalstore.model.outcome import Output
from evalstore.model.tool_call import ToolCall, read_call
from evalstore.text import SLIPS, find_near_word, make_excerpt, spell_out

# What the model saw (editing it moves a score through the outputs), and what else a grader may
# read.
INPUT_KEYS = ("input", "messages")
REFERENCE_KEYS = (
    "criteria",
    "context",
    "expected",
    "also_valid",
    "expected_facts",
    "expected_tools",
)
# Other tools' words for a key of a question.
SYNONYMS: Mapping[str, str] = {
    **dict.fromkeys(("prompt", "query", "question", "user_input"), "input"),
    **dict.fromkeys(
        (
            "answer",
            "expected_answer",
            "expected_output",
            "ground_truth",
            "ideal",
            "reference",
            "target",
        ),
        "expected",
    ),
    "facts": "expected_facts",
    **dict.fromkeys(("expected_tool_calls", "tools"), "expected_tools"),
    **dict.fromkeys(("conversation", "turns"), "messages"),
}
_TEXT_KEYS = ("id", "input", "rubric_ref")
# What belongs to a question, whatever the defaults of its dataset say; and what grades it, or is
# meant for people.
_OWN_KEYS = frozenset({"id", "input", "messages"})
_UNREAD_KEYS = _OWN_KEYS | COSMETIC_KEYS | {"rubric_ref", "bundle", "group"}
_DIGEST_OF_NOTHING = compute_digest({})


# No slots, because cached properties need a `__dict__`.
@dataclass(frozen=True)
class Sample:
    """One output and its question, if there is one."""

    output: Output
    question: Question | None = None

    @property
    def text(self) -> str:
        """The output's text."""
        return self.output.text

    @cached_property
    def lowercase_text(self) -> str:
        """The output's text in lower case, computed once for all checks."""
        return self.output.text.lower()

    @cached_property
    def tool_calls(self) -> tuple[ToolCall, ...] | None:
        """The output's tool calls in order; None if none were recorded."""
        calls = self.output.tool_calls
        return None if calls is None else tuple(read_call(call) for call in calls)


def _find_no_line() -> int | None:
    return None


def compute_asked_digest(text: str) -> str:
    """Return the SHA-256 over what a model saw instead of a question's own input.

    White space makes no difference.
    """
    return compute_digest({"input": " ".join(text.split())})


def drop_blanks(value: Any) -> Any:
    """Return a value without any white space in its texts."""
    if isinstance(value, str):
        return "".join(value.split())
    if isinstance(value, Mapping):
        return {key: drop_blanks(item) for key, item in value.items()}
    return [drop_blanks(item) for item in value] if isinstance(value, list | tuple) else value


def is_read_by_checks(key: str) -> bool:
    """Whether a check may read this key of a question, as a reference or a value for its rubric."""
    return key not in _UNREAD_KEYS and key[:2] != "x_"


@lru_cache(maxsize=256)  # rows have few different keys
def _list_read_keys(keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(filter(is_read_by_checks, keys))


# No slots, as above.
@dataclass(frozen=True)
class Question:
    """One row: its id, its input, and the whole mapping as written, with defaults filled in.

    `find_line` returns the line of the file on which it begins. `broken` says why it is not a
    question at all; `id` is then what it is called instead. Digests are computed on demand.
    """

    id: str
    input: str
    row: Mapping[str, Any]
    find_line: Callable[[], int | None] = field(default=_find_no_line, compare=False, repr=False)
    broken: str = field(default="", compare=False)

    @property
    def rubric_ref(self) -> str | None:
        """The reference of the rubric that grades this question."""
        ref = self.row.get("rubric_ref")
        return ref if isinstance(ref, str) else None

    @property
    def place(self) -> str:
        """Its line as the end of a sentence, such as ` (line 12)`; empty if unknown."""
        line = self.find_line()
        return f" (line {line})" if line else ""

    @cached_property
    def input_digest(self) -> str:
        """SHA-256 over what the model saw."""
        return self._digest(INPUT_KEYS)

    @property
    def words_digest(self) -> str:
        """SHA-256 over what the model saw, ignoring white space; empty if it saw nothing."""
        shown = {key: drop_blanks(self.row.get(key)) for key in INPUT_KEYS}
        return compute_digest(shown) if any(shown.values()) else ""

    @cached_property
    def reference_digest(self) -> str:
        """SHA-256 over what else a grader may read: the reference, and keys that rubrics read."""
        return self._digest(_list_read_keys(tuple(self.row)))

    def explain_absence(self, key: str, *, within: str | None = None) -> str:
        """Return the words to add if `key` is missing and may have been misspelt.

        With `within`, it is about the key of the mapping under that key.

        For example ` (did you mean expected_facts? line 12 has expecteed_facts)`; empty if nothing
        looks like it.
        """
        part = self.row if within is None else self.row.get(within)
        if not isinstance(part, Mapping):
            return ""
        slip = find_slip(part, key, SYNONYMS if within is None else {})
        return self.describe_slip(key, slip) if slip is not None else ""

    def describe_slip(self, meant: str, found: str) -> str:
        """Return the words for a name that the row has instead of the one that was meant."""
        line = self.find_line()
        where = f"line {line}" if line else "the question"
        shown = spell_out(make_excerpt(found))
        shown = shown if found == found.strip() else f"'{shown}'"
        return f" (did you mean {make_excerpt(meant)}? {where} has {shown})"

    def _digest(self, keys: Sequence[str]) -> str:
        shown = {key: self.row[key] for key in keys if key in self.row}
        return compute_digest(shown) if shown else _DIGEST_OF_NOTHING


def find_slip(part: Mapping[str, Any], key: str, synonyms: Mapping[str, str]) -> str | None:
    """Return the key of a mapping that was probably meant to be `key`; None if there is none."""
    for other in part:
        if not isinstance(other, str) or other == key:
            continue
        if synonyms.get(other) == key or find_near_word(other, (key,), SLIPS):
            return other
    return None


def make_question(
    row: Any,
    defaults: Mapping[str, Any],
    *,
    find_line: Callable[[], int | None] = _find_no_line,
    broken: str = "",
) -> Question:
    """Return a row of any shape as a question; without a text `id` it is named by its line."""
    whole = {**defaults, **row} if isinstance(row, Mapping) else {}
    texts = {key: value for key in _TEXT_KEYS if isinstance(value := whole.get(key), str)}
    if "id" in texts and "input" in texts and ("rubric_ref" in texts or "rubric_ref" not in whole):
        return Question(texts["id"], texts["input"], whole, find_line)
    found = Question(texts.get("id", ""), texts.get("input", ""), whole, find_line)
    broken = f"{broken}{found.place}" if broken else _explain_broken(found)
    return replace(found, id=found.id or f"the row{found.place}", broken=broken)


def _explain_broken(found: Question) -> str:
    """Return why a row is not a question that can be graded, with its line."""
    if not found.row:
        return f"a question must be a mapping with `id` and `input`{found.place}"
    for key in _TEXT_KEYS:
        if key in found.row and not isinstance(found.row[key], str):
            return f"`{key}` is not a string{found.place}"
    key = "input" if found.id else "id"
    return f"the question has no {key}{found.explain_absence(key) or found.place}"


def iterate_questions(
    value: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]] | None = None,
    *,
    find_line: Callable[[int], int | None] = lambda _: None,
) -> Iterator[Question]:
    """Yield the questions of a dataset's mapping, or of `rows` read from the file next to it.

    `find_line` returns the line on which the question at a position of `questions` begins. Raises
    `SchemaError` if `questions` is not a list.
    """
    listed = value.get("questions", ()) if rows is None else rows
    if rows is None and not isinstance(listed, list | tuple):
        raise SchemaError("`questions` is not a list", hint="`evalstore validate` shows the place")
    defaults = read_defaults(value)
    for number, row in enumerate(listed):
        yield make_question(row, defaults, find_line=partial(find_line, number))


def read_defaults(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that all questions of a dataset have by default."""
    written = value.get("defaults")
    # A row's own keys override the dataset's defaults.
    return (
        {key: item for key, item in written.items() if key not in _OWN_KEYS}
        if isinstance(written, Mapping)
        else {}
    )
