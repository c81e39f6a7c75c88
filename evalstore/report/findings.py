"""Renders findings of validation and of releases as text, each with its source line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from evalstore.errors import Place
from evalstore.model import Finding, Findings, MendedPlace, Severity
from evalstore.model.findings import SHOWN_ALIKE
from evalstore.report.source_excerpt import format_excerpt
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    join_blocks,
    join_names,
)
from evalstore.text import count_noun, make_printable

if TYPE_CHECKING:
    from evalstore.release.integrity.verify import Verification

_SECRET = "secret-written"  # its line is not shown in a log that others read
_UNCHANGED = "all unchanged since their release"
_INDENT = "    "
_MANY = 12  # more findings than fit a screen
_NO_BREAK = "\N{NO-BREAK SPACE}"  # keeps a number and what it counts on one line
_PARTS = {Severity.ERROR: Part.MAJOR, Severity.WARNING: Part.MINOR, Severity.INFO: Part.QUIET}


def text(result: Findings, screen: Screen = PAPER) -> str:
    """Return the findings grouped by file, and a line that counts them."""
    end = [
        *_lines_of_mended(result.mended or (), screen),
        *screen.wrap(summary(result), part=None if result.findings else Part.PATCH),
        *screen.wrap(*result.notes),
        *(_count_by_rule(result.findings, screen) if len(result.findings) > _MANY else []),
    ]
    return join_blocks(format_groups(result.findings, screen), end)


def summary(result: Findings) -> str:
    """Return how many files were read, and how many findings there are."""
    files = count_noun(result.files, "file")
    counts = count_by_severity(result.findings) if result.findings else "no findings"
    off = ", ".join(f"{rule} ({count:,})" for rule, count in result.off)
    return f"{files}: {counts}" + (f"; switched off by evalstore.yaml: {off}" if off else "")


def format_groups(findings: Sequence[Finding], screen: Screen = PAPER) -> str:
    """Return findings in blocks, one per file; empty if there are none."""
    files = groupby(findings, key=lambda finding: finding.file)
    return join_blocks(*(_format_group(list(group), screen) for _, group in files))


def count_by_severity(findings: Sequence[Finding]) -> str:
    """Return how many findings there are, by severity."""
    counts = Counter(finding.severity for finding in findings)
    words = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    parts = [
        count_noun(counts[severity], word) for severity, word in words.items() if counts[severity]
    ]
    return f"{count_noun(len(findings), 'finding')} ({', '.join(parts)})"


def _count_by_rule(findings: Sequence[Finding], screen: Screen) -> list[str]:
    """Return how often each rule found something, most frequent first."""
    counts = Counter(finding.rule for finding in findings).most_common()
    listing = ", ".join(f"{number:,}{_NO_BREAK}{rule}" for rule, number in counts)
    return [line.replace(_NO_BREAK, " ") for line in screen.wrap(listing, lead="  ")]


def _lines_of_mended(mended: Sequence[MendedPlace], screen: Screen) -> list[str]:
    """Return a line for each mended place, and one on whether that can move scores."""
    if not mended:
        return []
    places = [f"fixed {Place(one.file, one.line, one.column)}" for one in mended]
    values = [f"{one.old} -> {one.new}" for one in mended]
    rows = list(zip(places, values, strict=True))
    lines = screen.shorten_list(format_columns(rows).splitlines())
    if moved := {one.file for one in mended if one.moves}:
        subject = count_noun(len(moved), "fixed file")
        count = "counts" if len(moved) == 1 else "count"
        sentence = f"{subject} {count} differently now, and scores can move: evalstore diff"
        lines += screen.wrap(sentence, inner="")
    return [*lines, ""]


def _format_group(findings: list[Finding], screen: Screen) -> Iterator[str]:
    """Return the findings of a file: the first of each rule, and how many more there are."""
    counts, seen = Counter(finding.rule for finding in findings), Counter[str]()
    shown = (
        findings
        if screen.whole
        else [one for one in findings if _count_up(seen, one.rule) <= SHOWN_ALIKE]
    )
    places = [
        make_printable(str(Place(finding.file, finding.line, finding.column))) for finding in shown
    ]
    width, seen = max(map(len, places)), Counter[str]()
    for place, finding in zip(places, shown, strict=True):
        severity = screen.paint(_PARTS[finding.severity], f"{finding.severity:<7}")
        yield f"{place:<{width}}  {severity}  {finding.rule}"
        yield from _lines_of_finding(finding, screen)
        more = counts[finding.rule] - SHOWN_ALIKE
        if more > 0 and not screen.whole and _count_up(seen, finding.rule) == SHOWN_ALIKE:
            yield f"{_INDENT}and {more:,} more like it; --verbose lists them all"


def _count_up(counts: Counter[str], name: str) -> int:
    counts[name] += 1
    return counts[name]


def _lines_of_finding(finding: Finding, screen: Screen) -> list[str]:
    words = f"hint: {finding.hint}" if finding.hint else ""
    message = screen.wrap(finding.message, lead=_INDENT, inner=_INDENT * 2)
    hint = screen.wrap(words, lead=_INDENT, inner=_INDENT * 2)
    if finding.source is None or finding.line is None or finding.rule == _SECRET:
        return [*message, *hint]
    excerpt = format_excerpt(
        finding.source, finding.line, _PARTS[finding.severity], screen, _INDENT
    )
    return [*message, *excerpt, *hint]


def text_verification(result: Verification, screen: Screen = PAPER) -> str:
    """Return what `verify` or `lock --check` found, and how much was checked.

    The layout is that of validate.
    """
    end = screen.wrap(summarize_verification(result), part=None if result.findings else Part.PATCH)
    return join_blocks(format_groups(result.findings, screen), end)


def summarize_verification(result: Verification) -> str:
    """Return how many things were checked, and how many findings there are."""
    counts = (
        (result.releases, "release"),
        (result.ledgers, "ledger"),
        (result.locked, "locked reference"),
    )
    scope = join_names(count_noun(number, word) for number, word in counts)
    found = count_by_severity(result.findings) if result.findings else _UNCHANGED
    return f"{scope}: {found}"
