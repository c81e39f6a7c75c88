"""The steps of `on:`, by name: each makes another text from an output before a check reads it.

A step finds a text, or nothing, or raises `LimitError` if it cannot say. To add one, add a row to
`STEPS`, and its name to `$defs/step` in the schemas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from string import punctuation
from typing import Any, NamedTuple
from unicodedata import combining, normalize

from evalstore.checks.context import CheckProblem
from evalstore.checks.json_path import find_json_values, parse_json_path
from evalstore.documents import read_value, write_canonical
from evalstore.errors import LimitError, LoadError
from evalstore.languages import patterns  # a lazy package: names load on first use
from evalstore.model import Grade, Sample
from evalstore.model.outcome import grade_binary, grade_error, grade_missing
from evalstore.text import EXCERPT, make_excerpt

STEPS_KEY, NOTHING_KEY = "on", "on_nothing"
# Marks combined with one letter: sorting more takes Unicode too long (the square of their number).
MARKS_LIMIT = 1_000

Params = Mapping[str, Any]
# The text that a step makes from a text; None if it finds nothing.
TextStep = Callable[[str], str | None]

_ARTICLES = re.compile(r"\b(?:a|an|the)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:(?<!\w)[-+])?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,6}(?![0-9]))?"
)
# Groups of three digits; the comma, the two apostrophes and the no-break blanks.
_THOUSANDS = re.compile(
    r"(?<![0-9])[0-9]{1,3}(?:([,'\u2019\u00a0\u2009\u202f])[0-9]{3})(?:\1[0-9]{3})*(?![0-9])"
)
_THOUSANDS_MARK = re.compile(r"[^0-9]")
_OPENING_FENCE = re.compile(r"(`{3,}|~{3,})[^`]*")
# HTML tags, then what Markdown writes around words: links, code, emphasis, headings, quotations.
_MARKUP = (
    (re.compile(r"<[!/?A-Za-z][^<>]*>"), ""),
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)"), r"\1"),
    (re.compile(r"(?m)^ {0,3}(?:#{1,6}|>)(?: |$)"), ""),
    (re.compile(r"[*`]+|~~"), ""),
)
_ALL = "findall"  # a step that deletes searches for every match
_ABOVE_PLANE = re.compile("[\U00010000-\U0010ffff]")
_UNDERSCORES = re.compile(r"_+")
_NO_MARKS = str.maketrans("", "", punctuation)
_JSON_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "any": lambda _: True,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": lambda value: not isinstance(value, bool | str | list | dict | None),
}


def _find_no_problems(_: Params) -> Iterator[CheckProblem]:
    yield from ()


def _never(_: Params) -> bool:
    return False


def _always(_: Params) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKind:
    """One step: `prepare(options)` returns it, with everything prepared that can be.

    `picks`: what it finds is a piece of the text, unchanged. `respells`: it unifies spellings, so
    that a target is respelled, too. `may_find_nothing`: some texts give it nothing;
    `may_err(options)`: some text is beyond its limits. `wrap(text, options)`: a text from which it
    may make this one. `short`: the option that may be written alone.
    """

    prepare: Callable[[Params], TextStep]
    picks: bool = False
    respells: bool = False
    may_find_nothing: bool = False
    may_err: Callable[[Params], bool] = _never
    find_problems: Callable[[Params], Iterator[CheckProblem]] = _find_no_problems
    wrap: Callable[[str, Params], str] = lambda text, _: text
    short: str = ""


class Step(NamedTuple):
    """A step in a check: its name, and its options by name."""

    name: str
    options: Params

    @property
    def kind(self) -> StepKind:
        """What the step does."""
        return STEPS[self.name]


def read_steps(written: Sequence[Any]) -> tuple[Step, ...]:
    """Return the steps in `on`: a name, or a mapping from a name to its options."""
    return tuple(map(_read_step, written))


def _read_step(item: Any) -> Step:
    if isinstance(item, str):
        return Step(item, {})
    ((name, options),) = item.items()
    return Step(name, options if isinstance(options, Mapping) else {STEPS[name].short: options})


@dataclass(frozen=True, slots=True)
class ReadPart:
    """What a check with `on` reads of an output: a sample, or its grade if it reads nothing."""

    steps: Sequence[tuple[str, TextStep]]
    is_missing: bool = field(default=False)

    def __call__(self, sample: Sample) -> Sample | Grade:
        """Run the steps in order."""
        text = sample.text
        for number, (name, apply) in enumerate(self.steps, 1):
            try:
                found = apply(text)
            except LimitError as limit:
                return grade_error(f"step {number} of `on`, {name}: {make_excerpt(limit.message)}")
            if found is None:
                reason = f"step {number} of `on`, {name}, finds nothing"
                return grade_missing(reason) if self.is_missing else grade_binary(False, reason)
            if len(found) > patterns.OUTPUT_LIMIT:
                return grade_error(
                    f"step {number} of `on`, {name}, makes a text of more than "
                    f"{patterns.OUTPUT_LIMIT:,} characters"
                )
            text = found
        return replace(sample, output=sample.output._replace(text=text))


def prepare_reading(params: Params) -> ReadPart | None:
    """Return what a check reads of an output; None for a check without `on`, which reads all."""
    steps = read_steps(params.get(STEPS_KEY, ()))
    if not steps:
        return None
    prepared = [(step.name, step.kind.prepare(step.options)) for step in steps]
    return ReadPart(prepared, params.get(NOTHING_KEY, "fail") == "missing")


def apply_respelling(text: str, written: Sequence[Any]) -> str:
    """Return a text as the respelling steps of `on` write it; the other steps read outputs only."""
    for step in read_steps(written):
        if step.kind.respells:
            text = step.kind.prepare(step.options)(text) or ""
    return text


def find_step_problems(params: Params) -> Iterator[CheckProblem]:
    """Yield why a step of `on` cannot be run, and what it never does."""
    for index, (written, step) in enumerate(
        zip(params.get(STEPS_KEY, ()), read_steps(params.get(STEPS_KEY, ())), strict=True)
    ):
        for problem in step.kind.find_problems(step.options):
            is_long = isinstance(written, Mapping) and isinstance(written[step.name], Mapping)
            inner = problem.pointer if is_long else ()
            yield problem._replace(pointer=(STEPS_KEY, index, step.name, *inner))
    if NOTHING_KEY in params and not any(
        step.kind.may_find_nothing for step in read_steps(params.get(STEPS_KEY, ()))
    ):
        yield CheckProblem(
            (NOTHING_KEY,), "no step of `on` can find nothing, so this is never read", "remove it"
        )


def _strip_fence(text: str) -> str:
    """Return the content of a text that is entirely one fenced block; else the text."""
    first, *rest = text.strip().split("\n")
    opening = _OPENING_FENCE.fullmatch(first.rstrip())
    if not opening or not rest:
        return text
    closing = next(
        (at for at, line in enumerate(rest) if _closes_fence(line.strip(), opening[1])), None
    )
    return "\n".join(rest[:-1]) if closing == len(rest) - 1 else text


def _closes_fence(line: str, fence: str) -> bool:
    return len(line) >= len(fence) and set(line) == {fence[0]}


def _prepare_json_path(options: Params) -> TextStep:
    path = parse_json_path(options["path"])
    fits = _JSON_TYPES[options.get("type", "any")]

    def find_text(text: str) -> str | None:
        if path is None:
            raise LimitError("the path is not a singular query of RFC 9535")
        try:
            values = [] if text.startswith("\ufeff") else [read_value(text, "output")]
        except LimitError:
            raise
        except LoadError:
            values = []
        found = [one for value in values for one in find_json_values(value, path) if fits(one)]
        if not found:
            return None
        return found[0] if isinstance(found[0], str) else write_canonical(found[0])

    return find_text


def _find_path_problems(options: Params) -> Iterator[CheckProblem]:
    if parse_json_path(options["path"]) is None:
        yield CheckProblem(
            ("path",),
            f"{make_excerpt(options['path'], EXCERPT)!r} is not a JSONPath to one value",
            "write $, then .name, ['a name'] or [0] for each step (RFC 9535, singular queries)",
            blocks=True,
        )


def _wrap_json(text: str, options: Params) -> str:
    """Return JSON with the text at a path.

    For a path with positions other than 0 and -1, it is the text itself.
    """
    value: Any = text
    if options.get("type") in {"number", "boolean"}:
        try:
            value = read_value(text, "text")
        except LoadError:
            return text
    for step in reversed(parse_json_path(options["path"]) or ()):
        if step not in {0, -1} and isinstance(step, int):
            return text
        value = {step: value} if isinstance(step, str) else [value]
    return write_canonical(value)


def _compile_group(options: Params, mode: str = "search") -> patterns.PatternMatcher | str:
    flags = options.get("flags", "")
    return patterns.compile_matcher(options["pattern"], "".join(sorted(set("".join(flags)))), mode)


def _prepare_group(options: Params) -> TextStep:
    matcher, group = _compile_group(options), options.get("group", 1)

    def find_text(text: str) -> str | None:
        if isinstance(matcher, str):
            raise LimitError(matcher)
        if group > matcher.groups:
            raise LimitError(f"the pattern has no group {group}")
        found = matcher.find_groups(text)
        if found is None:
            raise LimitError(f"the pattern {matcher.describe_excess(text)}")
        return found[group] if found else None

    return find_text


def _find_group_problems(options: Params) -> Iterator[CheckProblem]:
    matcher, group = _compile_group(options), options.get("group", 1)
    if not isinstance(matcher, str) and group > matcher.groups:
        hint = "put what is wanted in parentheses, or write group: 0 for the whole match"
        yield CheckProblem(
            ("group",) if "group" in options else ("pattern",),
            f"the pattern has no group {group}",
            hint,
            blocks=True,
        )
    yield from _find_pattern_problems(options)


def _find_pattern_problems(options: Params, mode: str = "search") -> Iterator[CheckProblem]:
    matcher = _compile_group(options, mode)
    if isinstance(matcher, str):
        yield CheckProblem(
            ("pattern",), matcher, "write it in the syntax of Python's re", blocks=True
        )
        return
    flags = "".join(sorted(set("".join(options.get("flags", "")))))
    if other := patterns.find_dialect_difference(options["pattern"], flags):
        yield CheckProblem(("pattern",), other, "write it so that both read it alike")
    if limit := matcher.limit_problem:
        yield CheckProblem(("pattern",), limit, patterns.LIMIT_HINT)


def _group_may_err(options: Params) -> bool:
    matcher = _compile_group(options)
    return _pattern_may_err(options) or (
        not isinstance(matcher, str) and options.get("group", 1) > matcher.groups
    )


def _pattern_may_err(options: Params, mode: str = "search") -> bool:
    matcher = _compile_group(options, mode)
    return isinstance(matcher, str) or matcher.may_exceed


def _prepare_removal(options: Params) -> TextStep:
    matcher, only_first = _compile_group(options, _ALL), options.get("only_first", False)

    def remove(text: str) -> str:
        if isinstance(matcher, str):
            raise LimitError(matcher)
        rest = matcher.remove(text, 1 if only_first else 0)
        if rest is None:
            raise LimitError(f"the pattern {matcher.describe_excess(text)}")
        return rest

    return remove


def _split_pairs(text: str) -> str:
    """Return a text with each character above U+FFFF split into its two UTF-16 halves."""
    return _ABOVE_PLANE.sub(_split_pair, text)


def _split_pair(found: re.Match[str]) -> str:
    high, low = divmod(ord(found[0]) - 0x10000, 0x400)
    return chr(0xD800 + high) + chr(0xDC00 + low)


def _find_number(text: str) -> str | None:
    found = _NUMBER.search(text)
    return found[0] if found else None


def _find_last_line(text: str) -> str | None:
    return next((line for line in reversed(text.splitlines()) if line.strip()), None)


def _compose_letters(text: str) -> str:
    if text.isascii():
        return text
    marks = 0
    for char in text:
        marks = marks + 1 if combining(char) else 0
        if marks > MARKS_LIMIT:
            raise LimitError(f"more than {MARKS_LIMIT:,} marks are combined with one letter")
    return normalize("NFKC", text)


def _join_thousands(text: str) -> str:
    return _THOUSANDS.sub(lambda found: _THOUSANDS_MARK.sub("", found[0]), text)


def _remove_markup(text: str) -> str:
    for pattern, instead in _MARKUP:
        text = pattern.sub(instead, text)
    return _UNDERSCORES.sub(lambda found: found[0] if _is_within_word(found) else "", text)


def _is_within_word(found: re.Match[str]) -> bool:
    """Whether letters or digits are on both sides, as in `snake_case`."""
    text, start, end = found.string, found.start(), found.end()
    return start > 0 and end < len(text) and text[start - 1].isalnum() and text[end].isalnum()


def _plainly(step: TextStep) -> Callable[[Params], TextStep]:
    """Return the `prepare` of a step without options."""
    return lambda _: step


STEPS: Mapping[str, StepKind] = {
    "strip": StepKind(prepare=_plainly(str.strip), picks=True, respells=True),
    "strip_fence": StepKind(
        prepare=_plainly(_strip_fence), picks=True, wrap=lambda text, _: f"```\n{text}\n```"
    ),
    "json_path": StepKind(
        prepare=_prepare_json_path,
        may_find_nothing=True,
        may_err=_always,
        find_problems=_find_path_problems,
        wrap=_wrap_json,
        short="path",
    ),
    "regex_group": StepKind(
        prepare=_prepare_group,
        picks=True,
        may_find_nothing=True,
        may_err=_group_may_err,
        find_problems=_find_group_problems,
        short="pattern",
    ),
    "remove": StepKind(
        prepare=_prepare_removal,
        may_err=partial(_pattern_may_err, mode=_ALL),
        find_problems=partial(_find_pattern_problems, mode=_ALL),
        short="pattern",
    ),
    "first_number": StepKind(prepare=_plainly(_find_number), picks=True, may_find_nothing=True),
    "last_line": StepKind(
        prepare=_plainly(_find_last_line),
        picks=True,
        may_find_nothing=True,
        wrap=lambda text, _: f"An answer.\n{text}",
    ),
    # Some letters have a longer lower case, or a longer plain form, so a text may grow too long.
    "lower": StepKind(prepare=_plainly(str.lower), respells=True, may_err=_always),
    "nfkc": StepKind(prepare=_plainly(_compose_letters), respells=True, may_err=_always),
    "no_punctuation": StepKind(
        prepare=_plainly(lambda text: text.translate(_NO_MARKS)), respells=True
    ),
    "no_articles": StepKind(prepare=_plainly(lambda text: _ARTICLES.sub(" ", text)), respells=True),
    "collapse_space": StepKind(
        prepare=_plainly(lambda text: " ".join(text.split())), respells=True
    ),
    "no_thousands": StepKind(prepare=_plainly(_join_thousands), respells=True),
    "no_markup": StepKind(prepare=_plainly(_remove_markup), respells=True),
    "utf16": StepKind(prepare=_plainly(_split_pairs), respells=True, may_err=_always),
}
