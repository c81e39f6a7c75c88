"""regex: a pattern, its flags and its mode, compared as the set of texts that match."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstore.diff.answers.text_scores import TextScore, is_in_all
from evalstore.diff.changes.pattern_edits import find_pattern_changes
from evalstore.diff.kinds import (
    REQUIRED,
    ComparedKind,
    Param,
    Params,
    UnreadableError,
    read_no_question,
    read_one_of,
    read_text,
    read_texts,
    say_always,
    say_never,
)
from evalstore.languages import (
    pattern_comparison,  # a lazy package: names load on first use
)
from evalstore.languages.patterns import compile_matcher

if TYPE_CHECKING:
    from evalstore.languages.pattern_comparison import Expression, RegexTree

_FLAGS = frozenset("imsx")
_META = frozenset(".^$*+?{}[]()|")


def _read_flags(value: Any) -> str:
    """Return flags, written as a text or a list, as sorted letters.

    Raises `UnreadableError` for an unknown flag.
    """
    flags = set("".join(read_texts(value)) if isinstance(value, list) else read_text(value))
    if not flags <= _FLAGS:
        raise UnreadableError(f"{value!r} are not flags")
    return "".join(sorted(flags))


def _may_exceed(params: Params) -> bool:
    """Whether some output takes too many steps, or the pattern cannot be run at all."""
    matcher = compile_matcher(params["pattern"], params["flags"], params["mode"])
    return isinstance(matcher, str) or matcher.may_exceed


def _yield_texts(params: Params) -> Iterator[str]:
    for branch in params["pattern"].split("|"):
        if (text := _find_literal(branch)) is not None:
            yield text
            yield text.swapcase()


def _find_literal(pattern: str) -> str | None:
    """Return the only text that a pattern of plain characters matches; None for other patterns."""
    text, rest = [], iter(pattern)
    for char in rest:
        escaped = next(rest, None) if char == "\\" else None
        if char in _META or (
            char == "\\" and (escaped is None or escaped.isalnum() or escaped == "_")
        ):
            return None
        text.append(escaped or char)
    return "".join(text)


def _read_expression(params: Params) -> Expression:
    return pattern_comparison.Expression(params["pattern"], params["flags"], params["mode"])


def _build_language(params: Params) -> RegexTree:
    return pattern_comparison.build_pattern_language(_read_expression(params))


def _find_step_limit(params: Params) -> object:
    return pattern_comparison.find_step_limit(_read_expression(params))


KIND = ComparedKind(
    params={
        "pattern": Param(
            REQUIRED, read_text, rule="regex-pattern-changed", edits=find_pattern_changes
        ),
        "flags": Param("", _read_flags, rule="regex-flags-changed", edits=find_pattern_changes),
        "mode": Param(
            "search",
            read_one_of("search", "match", "fullmatch"),
            rule="regex-mode-changed",
            edits=find_pattern_changes,
        ),
    },
    is_binary=say_always,
    may_miss=say_never,
    may_err=_may_exceed,
    question_parts=read_no_question,
    sample_texts=_yield_texts,
    text_score=lambda params: TextScore((_build_language(params),), is_in_all),
    found_language=_build_language,
    step_limit=_find_step_limit,
)
