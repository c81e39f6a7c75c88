"""Writes a comparison as a page: the bump, and each change with its effect, reason and example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.diff.findings import Direction, Witness
from evalstore.report.diff_words import (
    can_accept_changes,
    describe_asked,
    describe_example,
    describe_finding,
    describe_flip,
    describe_other_causes,
    describe_places,
    describe_total,
    describe_turned,
    format_exchange,
    sort_by_level,
    summarize_examples,
    summarize_measurement,
    summary,
    write_step,
)
from evalstore.report.pages.filters import FilteredList, FilterMenu, filter_items, select_items
from evalstore.report.pages.html import render_page, render_template
from evalstore.report.value_diff import Line, Mark, compare_values
from evalstore.text import SHORT_DIGEST, count_noun
from evalstore.versions import Bump

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalstore.audits import EditSource
    from evalstore.audits.edits.edit_files import EditFiles
    from evalstore.diff import AskedChange, Diff, DiffFinding, RunMeasurement
    from evalstore.diff.findings import ExampleEffect

_BUDGET = 250_000  # bytes for all findings: a page stays below 300 kB
_WIDTH = 100  # characters of a line of a compared value
_FEW = 6  # findings that can be browsed without a filter
_MOST_RULES, _MOST_CHILDREN = 60, 100
_LONG = 60  # characters of an output that are in its sentence already
_MOST_CHARACTERS = 5_000
_COLOURS = {Bump.MAJOR: "down", Bump.MINOR: "tell"}
_LEVELS = {Bump.MAJOR: "l3", Bump.MINOR: "l2", Bump.PATCH: "l1", Bump.NONE: "l0"}
_DIRECTIONS = {
    Direction.STRICTER: ("d0", "can only fall"),
    Direction.LOOSER: ("d1", "can only rise"),
    Direction.EITHER: ("d2", "can go either way"),
    Direction.NONE: ("d3", "stay"),
}
_MARKS = {Mark.OLD: "del", Mark.NEW: "ins"}


def write_page(diff: Diff, trail: str = "") -> str:
    """Return the page of one comparison; in a site, `trail` leads to where it belongs."""
    found = _prepare_diff(diff, _BUDGET)
    return render_page(
        "diff",
        trail=trail,
        title=f"Diff: {' to '.join(found['sides'])}",
        rules=found["found"].rules if found["found"] else "",
        diff=found,
        measured=[
            *map(_prepare_measurement, diff.measured),
            *map(_prepare_asked, [diff.asked] if diff.asked else []),
        ],
    )


def write_store_page(diffs: Sequence[Diff], sentence: str, others: Sequence[str]) -> str:
    """Return the page of all comparisons in a store.

    `others` are artifacts that were not compared.
    """
    found = [_prepare_diff(diff, _BUDGET // len(diffs)) for diff in diffs]
    lists = [one["found"] for one in found if one["found"]]
    rules = dict.fromkeys(rule for one in lists for rule in one.rules.splitlines(keepends=True))
    return render_page(
        "store_diff",
        title="Diff of a store",
        rules="".join(rules),
        sentence=f"{_capitalize(sentence)}.",
        others=others,
        diffs=found,
    )


def _prepare_diff(diff: Diff, budget: int) -> dict[str, Any]:
    """Return what a page shows of a comparison; its changes get `budget` bytes."""
    return {
        "sides": (diff.old.ref or "old", diff.new.ref or "new"),
        "sentence": f"{_capitalize(summary(diff))}.",
        "causes": [*describe_other_causes(diff)],
        "total": describe_total(diff),
        "examples": _prepare_examples(diff.examples) if diff.examples else None,
        "found": _filter_findings(diff, budget) if diff.findings else None,
    }


def _prepare_examples(effect: ExampleEffect) -> dict[str, Any]:
    rows = [describe_turned(one) for one in effect.turned[:_MOST_CHILDREN]]
    more = len(effect.turned) - len(rows)
    return {
        "sentence": f"{_capitalize(summarize_examples(effect))}.",
        "rows": [*rows, *([f"and {more:,} more"] if more else [])],
    }


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _filter_findings(diff: Diff, budget: int) -> FilteredList:
    findings = sort_by_level(diff.findings)
    counts = Counter(finding.rule for finding in findings)
    rules = {rule: f"r{number}" for number, (rule, _) in enumerate(counts.most_common(_MOST_RULES))}
    accept, ask = can_accept_changes(diff), diff.ask_command

    def render(finding: DiffFinding) -> tuple[Markup, int]:
        key = rules.get(finding.rule, "")
        return _render_finding(finding, key, can_accept=accept, ask=ask), 0

    items = select_items(map(render, findings), budget)
    menus = _list_menus(
        findings, {key: f"{rule} ({counts[rule]:,})" for rule, key in rules.items()}
    )
    left = len(findings) - len(items)
    more = f" {count_noun(left, 'more change')}: --format json has all of them." if left else ""
    return filter_items(menus if len(findings) > _FEW else (), items, f"Major changes first.{more}")


def _render_finding(finding: DiffFinding, rule: str, *, can_accept: bool, ask: str) -> Markup:
    children = sort_by_level(finding.children)
    more = (
        [f"and {len(children) - _MOST_CHILDREN:,} more"] if len(children) > _MOST_CHILDREN else []
    )
    # The sentence about a witness has the beginning of its output.
    output = finding.witness.output if isinstance(finding.witness, Witness) else ""
    return render_template(
        "finding",
        finding=finding,
        classes=[
            *filter(
                None,
                ("q", "change", _LEVELS[finding.level], _DIRECTIONS[finding.direction][0], rule),
            )
        ],
        look=_COLOURS.get(finding.level, "quiet"),
        places=describe_places(finding),
        sentences=[*describe_finding(finding, can_accept=can_accept, ask=ask)],
        exchange=_mark_lines(format_exchange(finding, _WIDTH)),
        output=output if len(output) > _LONG else "",
        most=_MOST_CHARACTERS,
        children=[
            *(f"{child.level}: {child.message}" for child in children[:_MOST_CHILDREN]),
            *more,
        ],
    )


def _list_menus(
    findings: Sequence[DiffFinding], rules: Mapping[str, str]
) -> tuple[FilterMenu, ...]:
    """Return the menus that find a change: the levels and directions that occur, and the rules."""
    levels, directions = {one.level for one in findings}, {one.direction for one in findings}
    scores = {key: word for one, (key, word) in _DIRECTIONS.items() if one in directions}
    return (
        FilterMenu(
            "level", "any level", {_LEVELS[one]: str(one) for one in _LEVELS if one in levels}
        ),
        FilterMenu("scores", "any", scores),
        FilterMenu("rule", "any rule", rules),
    )


def _mark_lines(exchange: str | list[Line]) -> str | list[tuple[str, str]]:
    """Return a one-line exchange, or each of its lines with the element that marks it."""
    if isinstance(exchange, str):
        return exchange
    marks = [_MARKS.get(line.mark, "span") for line in exchange]
    texts = [f"{line.mark} {line.text}".replace("\n", "") for line in exchange]
    return list(zip(marks, texts, strict=True))


def has_diff(source: EditSource) -> bool:
    """Whether an edit has a diff: it changed an artifact, and a rule of the diff found it."""
    return bool(source.origin.ref and source.rule)


def prepare_edit(source: EditSource, links: Mapping[str, str], files: EditFiles) -> dict[str, Any]:
    """Return the lines that an edit changed, where they are, and what shows the whole step.

    `links` lead to the pages of steps.
    """
    origin = source.origin
    step = write_step(origin.ref, origin.old, origin.new) if has_diff(source) else ""
    return {
        "exchanges": [_prepare_exchange(one, files, origin.commit) for one in source.findings],
        "step": step,
        "link": links.get(step, ""),
    }


def prepare_finding(finding: DiffFinding, files: EditFiles, commit: str) -> dict[str, Any]:
    """Return what one edit changed in words, its rule, the changed lines, and where they are."""
    return {
        "message": finding.message,
        "rule": finding.rule,
        "level": str(finding.level),
        **_prepare_exchange(finding, files, commit),
    }


def _prepare_exchange(finding: DiffFinding, files: EditFiles, commit: str | None) -> dict[str, Any]:
    """Return the changed lines, the place, and the commit's page.

    A value on one line comes with its context.
    """
    excerpts = [files.excerpts.get(place) for place in (finding.old, finding.new) if place]
    values = [value for value in (finding.before, finding.after) if value is not None]
    is_short = not any(isinstance(value, list | dict) or "\n" in str(value) for value in values)
    in_file = is_short and excerpts and all(excerpts)
    return {
        "exchange": _mark_excerpts(finding, files) if in_file else _mark_values(finding),
        "place": describe_places(finding),
        "page": files.find_page(commit),
        "commit": (commit or "")[:SHORT_DIGEST],
    }


def _mark_excerpts(finding: DiffFinding, files: EditFiles) -> list[tuple[str, str]]:
    """Return the lines around an edit, numbered: the old line, and the new one in context."""
    old, new = (files.excerpts.get(one) if one else None for one in (finding.old, finding.new))
    old = old or (files.others.get(finding.new) if finding.new else None)
    new = new or (files.others.get(finding.old) if finding.old else None)
    shown = new or old
    if shown is None:
        return []
    marked: list[tuple[str, str]] = []
    for number, text in enumerate(shown.lines, shown.first):
        if number != shown.line:
            marked.append(("span", f"{number:>5}   {text}"))
            continue
        if old:
            marked.append(("del", f"{old.line:>5} - {old.lines[old.line - old.first]}"))
        if new:
            marked.append(("ins", f"{new.line:>5} + {text}"))
    return marked


def _mark_values(finding: DiffFinding) -> str | list[tuple[str, str]]:
    return _mark_lines(
        format_exchange(finding, _WIDTH) or compare_values(finding.before, finding.after, _WIDTH)
    )


def _prepare_asked(asked: AskedChange) -> dict[str, Any]:
    rows = [*map(describe_flip, asked.flips)]
    more = asked.flipped - len(rows) if rows else 0
    return {"sentence": describe_asked(asked), "rows": rows, "more": more, "last": "check"}


def _prepare_measurement(measurement: RunMeasurement) -> dict[str, Any]:
    rows = [*map(describe_example, measurement.examples)]
    return {
        "sentence": summarize_measurement(measurement),
        "rows": rows,
        "more": measurement.moved - len(rows),
        "last": "place",
    }
