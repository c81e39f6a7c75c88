"""Writes a comparison as a page: the bump that it needs, and each change with what it moves, why, and an example."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.diff.findings import Direction, Witness
from evalstore.report.diff_words import (
    can_accept_changes,
    describe_example,
    describe_finding,
    describe_other_causes,
    describe_places,
    describe_total,
    format_exchange,
    sort_by_level,
    summarize_measurement,
    summary,
)
from evalstore.report.pages.filters import FilterMenu, format_filtered
from evalstore.report.pages.html import Markup, join_markup, make_element, make_page
from evalstore.report.pages.tables import format_cell, format_head, format_items, format_row, format_table
from evalstore.report.text_layout import count_noun
from evalstore.report.value_diff import Mark
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.diff import Diff, DiffFinding, RunMeasurement

_BUDGET = 250_000  # bytes for all findings: a page stays below 300 kB
_WIDTH = 100  # characters of a line of a compared value
_FEW = 6  # findings that are looked through without a filter
_MOST_RULES, _MOST_CHILDREN = 60, 100
_LONG = 60  # characters of an output that its sentence has already
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


def write_page(diff: Diff) -> str:
    """Return the page of one comparison."""
    findings, rules = _format_findings(diff, _BUDGET)
    return make_page(
        f"Diff: {' to '.join(_name_sides(diff))}",
        make_element("h1", " \u2192 ".join(_name_sides(diff))),
        make_element("p", f"{_capitalize(summary(diff))}.", class_="answer"),
        *_format_causes(diff),
        *_format_total(diff),
        *([make_element("h2", "Changes"), findings] if findings else []),
        *(_format_measurement(measurement) for measurement in diff.measured),
        rules=rules,
    )


def write_store_page(diffs: Sequence[Diff], sentence: str, others: Sequence[str]) -> str:
    """Return the page of all comparisons of a store; `others` are the artifacts that could not be compared."""
    parts, rules = list[Markup](), dict[str, None]()
    for diff in diffs:
        findings, css = _format_findings(diff, _BUDGET // len(diffs))
        rules |= dict.fromkeys(css.splitlines(keepends=True))
        parts += [
            make_element("h2", " \u2192 ".join(_name_sides(diff))),
            make_element("p", f"{_capitalize(summary(diff))}."),
            *_format_total(diff),
            *_format_causes(diff),
            findings,
        ]
    return make_page(
        "Diff of a store",
        make_element("h1", "Changed since the last releases"),
        make_element("p", f"{_capitalize(sentence)}.", class_="answer"),
        format_items(others),
        *parts,
        rules="".join(rules),
    )


def _name_sides(diff: Diff) -> tuple[str, str]:
    return diff.old.ref or "old", diff.new.ref or "new"


def _format_causes(diff: Diff) -> Iterator[Markup]:
    """Yield what else may move scores."""
    if causes := [*describe_other_causes(diff)]:
        yield format_items(causes)


def _format_total(diff: Diff) -> Iterator[Markup]:
    """Yield what all changes do together."""
    if sentence := describe_total(diff):
        yield make_element("p", f"{sentence}.")


def _capitalize(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _format_findings(diff: Diff, budget: int) -> tuple[Markup, str]:
    """Return the changes with their filters, as many as have `budget` bytes, and the rules of CSS for them."""
    if not diff.findings:
        return Markup(), ""
    findings = sort_by_level(diff.findings)
    counts = Counter(finding.rule for finding in findings)
    rules = {rule: f"r{number}" for number, (rule, _) in enumerate(counts.most_common(_MOST_RULES))}
    can_accept = can_accept_changes(diff)
    items, size = list[Markup](), 0
    for finding in findings:
        item = _format_finding(finding, rules.get(finding.rule, ""), can_accept=can_accept)
        size += len(item.encode())
        if size > budget:
            break
        items.append(item)
    present = {finding.direction for finding in findings}, {finding.level for finding in findings}
    menus = (
        FilterMenu("level", "any level", {key: str(level) for level, key in _LEVELS.items() if level in present[1]}),
        FilterMenu("scores", "any", {key: word for one, (key, word) in _DIRECTIONS.items() if one in present[0]}),
        FilterMenu("rule", "any rule", {key: f"{rule} ({counts[rule]:,})" for rule, key in rules.items()}),
    )
    left = len(findings) - len(items)
    more = f" {count_noun(left, 'more change')}: --format json has all of them." if left else ""
    return format_filtered(menus if len(findings) > _FEW else (), items, f"Major changes first.{more}")


def _format_finding(finding: DiffFinding, rule: str, *, can_accept: bool) -> Markup:
    labels = [
        part
        for label, sentence in describe_finding(finding, can_accept=can_accept)
        for part in (make_element("dt", label), make_element("dd", sentence))
    ]
    children = sort_by_level(finding.children)
    more = [f"and {len(children) - _MOST_CHILDREN:,} more"] if len(children) > _MOST_CHILDREN else []
    inner = [f"{child.level}: {child.message}" for child in children[:_MOST_CHILDREN]]
    about = f" {describe_places(finding)}, {finding.fingerprint}"
    classes = " ".join(filter(None, ["q", "change", _LEVELS[finding.level], _DIRECTIONS[finding.direction][0], rule]))
    return make_element(
        "div",
        make_element("h3", format_level(finding.level), " ", finding.message),
        make_element("p", make_element("code", finding.rule), about, class_="quiet"),
        *_format_exchange(finding),
        make_element("dl", *labels),
        *_format_witness(finding),
        format_items([*inner, *more]),
        class_=classes,
    )


def format_level(level: Bump) -> Markup:
    """Return a level as a badge."""
    return make_element("span", str(level), class_=f"badge {_COLOURS.get(level, 'quiet')}")


def _format_exchange(finding: DiffFinding) -> Iterator[Markup]:
    exchange = format_exchange(finding, _WIDTH)
    if isinstance(exchange, str):
        yield from [make_element("pre", Markup("\n"), exchange, tabindex="0")] if exchange else []
        return
    lines = (
        make_element(_MARKS.get(line.mark, "span"), f"{line.mark} {line.text}\n".replace("\n", ""), Markup("\n"))
        for line in exchange
    )
    if exchange:
        yield make_element("pre", Markup("\n"), *lines, class_="exchange", tabindex="0")


def _format_witness(finding: DiffFinding) -> Iterator[Markup]:
    """Yield the output that moves, where its sentence has only the beginning of it."""
    witness = finding.witness
    if isinstance(witness, Witness) and len(witness.output) > _LONG:
        text = witness.output[:_MOST_CHARACTERS]
        more = " (its beginning)" if len(witness.output) > _MOST_CHARACTERS else ""
        body = make_element("div", make_element("pre", Markup("\n"), text, tabindex="0"))
        yield make_element("details", make_element("summary", f"that output{more}"), body)


def _format_measurement(measurement: RunMeasurement) -> Markup:
    head = ("question", "score", "verdict", "place")
    rows = [
        format_row(format_head(id_), *(format_cell(name, word) for name, word in zip(head[1:], rest, strict=True)))
        for id_, *rest in map(describe_example, measurement.examples)
    ]
    more = measurement.moved - len(rows)
    return join_markup(
        make_element("h2", "On stored outputs"),
        make_element("p", summarize_measurement(measurement)),
        format_table(head, rows) if rows else Markup(),
        make_element("p", f"and {more:,} more", class_="quiet") if more else Markup(),
    )
