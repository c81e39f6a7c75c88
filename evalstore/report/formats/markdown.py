"""Renders problems as Markdown for a comment on a pull request; escapes text from outside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evalstore.errors import Place
from evalstore.report.problems import Problem, ProblemReport, sort_by_severity
from evalstore.text import make_printable

_LIMIT = 60_000  # characters; GitHub allows 65,536 in a comment
# Notes that readers copy, so they are code.
_COMMANDS = frozenset({"accept", "fingerprint", "hint"})
_MARKS = {"error": "\u274c", "warning": "\u26a0\ufe0f", "info": "\u2139\ufe0f"}
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&$@!^])")
# GitHub and GitLab link these (mentions, issues, emoji, URLs) even if a Markdown backslash escapes
# them.
_REFERENCES = re.compile(r"(?i)([@#!$&~%^:*]|\bgh-|\bgl-|www)(?=\S)")
_BREAK = "\u200b"  # a zero-width space, which breaks the reference
_RUNS = re.compile(r"`+")
# What makes a paragraph a list or a rule if it begins with it.
_LIST = re.compile(r"^(\d*)([-+=.)])")


def render(report: ProblemReport) -> str:
    """Return the comment; problems beyond its limit are counted, not listed."""
    about = [" \u2192 ".join(map(format_code, report.about))] if report.about else []
    remarks = (_LIST.sub(r"\1\\\2", escape_prose(remark)) for remark in report.remarks)
    head = (
        "\n\n".join(
            [
                f"### evalstore {report.command}",
                *about,
                f"**{escape_prose(report.summary)}**",
                *remarks,
            ]
        )
        + "\n"
    )
    parts, size = [head], len(head)
    problems = sort_by_severity(report.problems)
    for number, problem in enumerate(problems):
        part = "\n".join(_problem_item(problem))
        size += len(part) + 1
        if size > _LIMIT:
            parts.append(f"\n\u2026 and {len(problems) - number} more.")
            break
        parts.append(part)
    return "\n".join(parts)


def escape_prose(text: str) -> str:
    """Return outside text as plain words: no markup, HTML, link, mention or emoji."""
    broken = _REFERENCES.sub(lambda match: match[1] + _BREAK, make_printable(text))
    return _MARKUP.sub(r"\\\1", broken)


def format_code(text: str) -> str:
    """Return outside text as a code span, fenced by more backticks than it has in a row."""
    safe = make_printable(text)
    fence = "`" * (1 + max(map(len, _RUNS.findall(safe)), default=0))
    edge = " " if safe.startswith(("`", " ")) or safe.endswith(("`", " ")) or not safe else ""
    return f"{fence}{edge}{safe}{edge}{fence}"


def format_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table whose cells are outside text."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(map(escape_prose, row))} |" for row in rows)


def _problem_item(problem: Problem) -> Iterator[str]:
    place = problem.place
    where = f" \u2014 {format_code(str(Place(place.file, place.line)))}" if place else ""
    more = [*_lines_of_change(problem), *_note_lines(problem)]
    rule = "" if more else f" ({format_code(problem.rule)})"
    yield (
        f"- {_MARKS[problem.severity]} **{problem.level}** "
        f"{escape_prose(problem.message)}{where}{rule}"
    )
    if not more:
        return
    yield ""
    yield f"  <details><summary><code>{problem.rule}</code></summary>"
    yield ""
    yield from (f"  {line}".rstrip() for line in more)
    yield ""
    yield "  </details>"
    yield ""


def _lines_of_change(problem: Problem) -> Iterator[str]:
    if not problem.changed:
        return
    if isinstance(problem.changed, str):
        yield f"- changed: {format_code(problem.changed)}"
        return
    lines = [f"{line.mark} {line.text}".rstrip() for line in problem.changed]
    fence = "`" * max(3, 1 + max(map(len, _RUNS.findall("\n".join(lines))), default=0))
    yield from (f"{fence}diff", *lines, fence, "")


def _note_lines(problem: Problem) -> Iterator[str]:
    for label, sentence in problem.notes:
        yield (
            f"- {label}: {format_code(sentence) if label in _COMMANDS else escape_prose(sentence)}"
        )
