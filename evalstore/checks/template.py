"""A judge's template, Mustache as far as the contract has it: read once, filled in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from evalstore.errors import LimitError

# A longer prompt is not a question to a model; a template that repeats a long output would fill the
# memory.
PROMPT_LIMIT = 8 << 20

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TO_NEXT_LINE = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_SIGILS, _SECTIONS, _ALONE, _UNKNOWN = (
    frozenset("#^/!&>="),
    frozenset("#^"),
    frozenset("#^/!"),
    frozenset("&>="),
)
TEXT_PART, _VALUE = "text", "value"


class TemplateTag(NamedTuple):
    """One tag: its text from `start`, its number, its sigil, its name, and what is wrong."""

    written: str
    start: int
    number: int
    sigil: str = ""
    name: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A template ready to be filled: its parts as (text, value or sigil; what), and its names."""

    parts: tuple[tuple[str, str], ...]
    names: tuple[str, ...]


def find_tags(template: str) -> Iterator[TemplateTag]:
    """Yield the tags in order, including comments (`!`).

    Open sections come once more at the end.
    """
    open_: list[TemplateTag] = []
    for number, start in enumerate(find_tag_starts(template)):
        written = _read_tag_text(template, start)
        tag = TemplateTag(written, start, number, *_split_tag(written))
        if tag.sigil == "!":
            yield tag
        elif not written.endswith("}}"):
            yield tag._replace(problem="a tag is opened and never closed")
        elif tag.sigil in _UNKNOWN or not _NAME.fullmatch(tag.name):
            yield tag._replace(problem=f"{written} is not a valid template tag")
        elif tag.sigil == "/":
            matches = bool(open_) and open_.pop().name == tag.name
            yield (
                tag
                if matches
                else tag._replace(problem=f"{written} closes a section that is not open")
            )
        else:
            open_ += [tag] if tag.sigil in _SECTIONS else []
            yield tag
    for tag in open_:
        yield tag._replace(problem=f"the section {tag.written} is never closed")


def find_tag_starts(template: str) -> Iterator[int]:
    """Yield where the tags begin; nothing is searched after one that is never closed."""
    start = template.find("{{")
    while start >= 0:
        yield start
        end = template.find(_find_closing(template, start), start)
        start = template.find("{{", end) if end >= 0 else -1


def compile_template(template: str) -> Template | str:
    """Return the template ready to be filled, or a sentence that says what is wrong with it."""
    tags = list(find_tags(template))
    problem = next((tag.problem for tag in tags if tag.problem), None)
    if problem is not None:
        return problem
    parts: list[tuple[str, str]] = []
    done = 0
    for tag in tags:
        text, done = _split_before_tag(template, tag, done)
        parts.append((TEXT_PART, text))
        if tag.sigil != "!":
            parts.append((tag.sigil or _VALUE, tag.name))
    parts.append((TEXT_PART, template[done:]))
    names = dict.fromkeys(tag.name for tag in tags if tag.name and tag.sigil != "!")
    return Template(tuple(part for part in parts if part != (TEXT_PART, "")), tuple(names))


def fill_template(template: Template, values: Mapping[str, str]) -> str:
    """Fill in the text of every name; a text is never read as a template.

    Raises `LimitError` if it gets too long.

    A section is shown if the text of its name is not empty, an inverted one if it is.
    """
    texts: list[str] = []
    # `hidden` counts the open sections that are not shown, so that an end within them ends the
    # right one.
    hidden, room = 0, PROMPT_LIMIT
    for part, what in template.parts:
        if part in _SECTIONS:
            hidden += 1 if hidden or bool(values[what]) is (part == "^") else 0
        elif part == "/":
            hidden -= 1 if hidden else 0
        elif not hidden:
            texts.append(values[what] if part == _VALUE else what)
            room -= len(texts[-1])
            if room < 0:
                raise LimitError(f"the prompt is longer than {PROMPT_LIMIT:,} characters")
    return "".join(texts)


def list_shown_names(
    template: Template, first: Template | None = None, fills: str = ""
) -> tuple[str, ...]:
    """Return the names that a judge's prompts show, each once.

    That excludes `fills`, which the reply to the first prompt fills in the other.
    """
    own = (name for name in template.names if first is None or name != fills)
    return tuple(dict.fromkeys((*(first.names if first else ()), *own)))


def _split_before_tag(template: str, tag: TemplateTag, done: int) -> tuple[str, int]:
    """Return the text between `done` and the tag, and where the text after the tag begins.

    A section's tag or a comment that is alone on its lines is removed with the white space around
    it, as in Mustache.
    """
    text, end = template[done : tag.start], tag.start + len(tag.written)
    line = text.rfind("\n") + 1
    begins = line > 0 or done == 0 or template[done - 1] == "\n"
    rest = _TO_NEXT_LINE.match(template, end)
    if tag.sigil in _ALONE and begins and rest and not text[line:].strip(" \t"):
        return text[:line], rest.end()
    return text, end


def _find_closing(template: str, start: int) -> str:
    return "}}}" if template.startswith("{{{", start) else "}}"


def _read_tag_text(template: str, start: int) -> str:
    close = _find_closing(template, start)
    end = template.find(close, start)
    return template[start : end + len(close)] if end >= 0 else template[start : start + 2]


def _split_tag(written: str) -> tuple[str, str]:
    if written.startswith("{{{"):
        return "", written[3:-3].strip()
    inner = written[2:-2]
    sigil = inner[:1] if inner[:1] in _SIGILS else ""
    return sigil, inner[len(sigil) :].strip()
