"""Renders what changed between two documents, or in a whole store, as text and pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.release.dependencies.renames import describe_proposal
from evalstore.report.diff_words import (
    SUPPOSED,
    can_accept_changes,
    describe_adjustments,
    describe_asked,
    describe_example,
    describe_finding,
    describe_flip,
    describe_movement,
    describe_other_causes,
    describe_places,
    describe_total,
    describe_turned,
    format_exchange,
    sort_by_level,
    summarize_examples,
    summarize_measurement,
    summary,
)
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    join_blocks,
    join_names,
)
from evalstore.report.value_diff import Mark
from evalstore.text import count_noun, make_printable
from evalstore.versions import Bump
from evalstore.word_diff import compare_words, is_reworded

if TYPE_CHECKING:
    from evalstore.diff import AskedChange, Diff, DiffFinding, RunMeasurement
    from evalstore.diff.findings import ExampleEffect
    from evalstore.release.changes.store_diff import StoreDiff

_MARGIN = " " * 7
_LABEL = 8
_INDENT = len(_MARGIN) + _LABEL + 2
_CHILDREN = 8
_MANY = 12  # more findings than fit a screen
_ORIGIN = "x_source"
_ALIKE = 3  # findings that form one block
# Rules whose messages begin with a name and contain the text.
_SUBJECT_FIRST = (
    "check-",
    "phrase-",
    "metadata-",
)
_MORE = "--verbose shows each in full: why, what shows it, and how to accept it"
_INSTANCE = 9  # characters before a finding that is one line of a block
_GONE, _COME = re.compile(r"\[-.*?-\]", re.DOTALL), re.compile(r"\{\+.*?\+\}", re.DOTALL)
_LEVELS = {Bump.MAJOR: Part.MAJOR, Bump.MINOR: Part.MINOR, Bump.PATCH: Part.PATCH}
_MARKS = {Mark.OLD: Part.OLD, Mark.NEW: Part.NEW, Mark.MORE: Part.QUIET}


def text(diff: Diff, screen: Screen = PAPER) -> str:
    """Return the findings, major first, and the bump that they need.

    Many findings get a summary first.
    """
    head = screen.paint(
        Part.HEAD, f"{_name_side(diff.old.ref, 'old')} → {_name_side(diff.new.ref, 'new')}"
    )
    total, bump = screen.wrap(describe_total(diff)), screen.wrap(summary(diff), part=Part.HEAD)
    is_brief = not screen.whole and len(diff.findings) >= _ALIKE
    return join_blocks(
        head,
        _format_examples(diff.examples, screen) if diff.examples else "",
        _format_overview(diff, screen) if len(diff.findings) > _MANY else "",
        *_format_findings(diff, screen, can_accept=can_accept_changes(diff)),
        *([[*total, *bump]] if is_brief else [total, bump]),
        *map(screen.wrap, describe_other_causes(diff)),
        *(_format_measurement(measurement, screen) for measurement in diff.measured),
        _format_asked(diff.asked, screen) if diff.asked else "",
    )


def html(diff: Diff) -> str:
    """Return the same as a page, with every change in full."""
    from evalstore.report.pages.diff import write_page

    return write_page(diff)


def _format_examples(effect: ExampleEffect, screen: Screen) -> list[str]:
    """Return how many examples a change turns, and a line for each."""
    part = Part.MAJOR if any(not one.met for one in effect.turned) else Part.HEAD
    rows = screen.wrap(*map(describe_turned, effect.turned), lead="  ", inner="    ")
    return [*screen.wrap(summarize_examples(effect), part=part), *screen.shorten_list(rows)]


def _format_measurement(measurement: RunMeasurement, screen: Screen) -> list[str]:
    """Return one sentence, wrapped, and a line for each example."""
    files = dict.fromkeys(make_printable(example.place.file) for example in measurement.examples)
    lines = [
        *screen.wrap(summarize_measurement(measurement)),
        *(f"  as in {file}:" for file in files),
    ]
    rows = [describe_example(example) for example in measurement.examples]
    more = measurement.moved - len(rows)
    below = [f"  {line}" for line in format_columns(rows).split("\n")] if rows else []
    return [*lines, *below, *([f"  and {more:,} more"] if more else [])]


def _format_asked(asked: AskedChange, screen: Screen) -> list[str]:
    """Return what judges said under old and new wording, and the first flips.

    The sentence is wrapped, and each flip has a line.
    """
    lines = screen.wrap(describe_asked(asked))
    below = format_columns([*map(describe_flip, asked.flips)]).split("\n") if asked.flips else []
    more = asked.flipped - len(asked.flips)
    return [
        *lines,
        *(f"  {line}" for line in below),
        *([f"  and {more:,} more"] if more and below else []),
    ]


def _format_overview(diff: Diff, screen: Screen) -> list[str]:
    rules = Counter(finding.rule for finding in sort_by_level(diff.findings))
    rule_counts = (f"{number} {rule}" for rule, number in rules.items())
    return screen.wrap(summary(diff), ", ".join(rule_counts))


def format_finding(
    finding: DiffFinding, screen: Screen, *, can_accept: bool, ask: str = ""
) -> Iterator[str]:
    """Yield the lines of one finding: headline, place, what changed, and what can be done."""
    yield from _paint_level(finding.level, finding.message, screen)
    about = f"{finding.rule}, {describe_places(finding)}, {finding.fingerprint}"
    yield from screen.wrap(about, lead=_MARGIN, inner=_MARGIN * 2, part=Part.QUIET)
    yield from _format_exchange_lines(finding, screen)
    for label, sentence in describe_finding(finding, can_accept=can_accept, ask=ask):
        lead = f"{label.ljust(_LABEL)}  "
        yield from _wrap_line(lead + sentence, screen, _MARGIN, inner=len(lead))
    children = sort_by_level(finding.children)[: None if screen.whole else _CHILDREN]
    for child in children:
        yield from _paint_level(child.level, child.message, screen, f"{_MARGIN}  ")
    if more := len(finding.children) - len(children):
        yield f"{_MARGIN}  and {more:,} more"


def _format_findings(diff: Diff, screen: Screen, *, can_accept: bool) -> Iterator[Iterable[str]]:
    """Yield one or two findings in full.

    With more, each has a line, and similar ones of a rule form one block.
    """
    ordered = sort_by_level(diff.findings)
    notes = [finding for finding in ordered if _is_note(finding) and not screen.whole]
    findings = [finding for finding in ordered if finding not in notes]
    if screen.whole or len(findings) < _ALIKE:
        for finding in findings:
            yield format_finding(finding, screen, can_accept=can_accept, ask=diff.ask_command)
        yield from [[*_format_notes(notes, screen)]] if notes else []
        return
    groups: dict[object, list[DiffFinding]] = {}
    for finding in findings:
        groups.setdefault(_read_likeness(finding), []).append(finding)
    lines: list[str] = []
    for group in groups.values():
        if len(group) < _ALIKE:
            lines += (line for finding in group for line in _format_brief(finding, screen))
        else:
            lines += _format_group(group, screen, diff.ask_command)
    lines += _format_notes(notes, screen) if notes else ()
    yield [*lines, screen.paint(Part.QUIET, f"{_MARGIN}{_MORE}")]


def _format_brief(finding: DiffFinding, screen: Screen) -> Iterator[str]:
    """Yield one finding on a line: what changed and where, and which way scores can go."""
    effect = describe_movement(finding)
    certainty = "" if finding.is_certain else " (possible)"
    adjusted = "".join(f"; {label} {sentence}" for label, sentence in describe_adjustments(finding))
    moves = f": {effect}{certainty}" if effect else certainty
    yield from _paint_level(
        finding.level, f"{_word_instance(finding, screen.width)}{moves}{adjusted}", screen
    )


def _is_note(finding: DiffFinding) -> bool:
    """Whether only people read what changed: a title, or the origin of an artifact."""
    return finding.rule == "metadata-changed" and not finding.adjusted


def _format_notes(notes: Sequence[DiffFinding], screen: Screen) -> Iterator[str]:
    """Yield a single note on a line; for more, their number and the keys that they are under."""
    if len(notes) == 1 and _find_note_key(notes[0]) != _ORIGIN:
        yield from _format_brief(notes[0], screen)
        return
    counts = Counter(map(_find_note_key, notes))
    keys = (f"{key} ({number})" if number > 1 else key for key, number in counts.items())
    said = f"{count_noun(len(notes), 'note')} for people: {join_names(keys, _MANY)}"
    yield from _paint_level(Bump.PATCH, said, screen)


def _find_note_key(finding: DiffFinding) -> str:
    steps = finding.pointer.split("/")
    return _ORIGIN if _ORIGIN in steps else make_printable(steps[-1])


def _read_likeness(finding: DiffFinding) -> tuple[object, ...]:
    adjusted = finding.overridden, finding.accepted, bool(finding.children)
    return (
        finding.rule,
        finding.level,
        describe_movement(finding),
        finding.certainty,
        finding.reason,
        *adjusted,
    )


def _format_group(group: Sequence[DiffFinding], screen: Screen, ask: str) -> Iterator[str]:
    """Yield once what holds for all findings of a group, then a line for each."""
    first, subjects = group[0], {finding.message.partition(" ")[0] for finding in group}
    owner = (
        f" of {first.message.partition(' ')[0]}"
        if len(subjects) == 1 and _begins_with_name(first)
        else ""
    )
    yield from _paint_level(
        first.level, f"{len(group)} changes{owner} like this: {first.rule}", screen
    )
    for label, sentence in describe_finding(first, can_accept=False, ask=ask):
        if label == SUPPOSED:  # for one of them alone
            continue
        lead = f"{label.ljust(_LABEL)}  "
        yield from _wrap_line(lead + sentence, screen, _MARGIN, inner=len(lead))
    for finding in group:
        words, inner = _word_instance(finding, screen.width, is_named=not owner), f"{_MARGIN}  "
        yield from _paint_words(screen.wrap(words, lead=f"{_MARGIN}- ", inner=inner), screen)


def _word_instance(finding: DiffFinding, width: int, *, is_named: bool = True) -> str:
    """Return what changed, and its line.

    For a reworded text, that is how its words differ, on one line if it fits.
    """
    place = finding.new or finding.old
    line = f"line {place.line}" if place and place.line else ""
    where, message, old, new = (
        f" ({line})" if line else "",
        finding.message,
        finding.before,
        finding.after,
    )
    if not is_reworded(old, new):
        return f"{message}{where}"
    words = compare_words(old, new)
    if not is_named and line:
        return f"{line}: {compare_words(old, new, width - _INSTANCE - len(line))}"
    if words not in message:
        lead = f"{message}{where}: "
        return lead + compare_words(old, new, width - _INSTANCE - len(lead))
    rest = len(message) - len(words) + len(where)
    return message.replace(words, compare_words(old, new, width - _INSTANCE - rest)) + where


def _begins_with_name(finding: DiffFinding) -> bool:
    return finding.rule.startswith(_SUBJECT_FIRST)


def _paint_words(lines: Iterable[str], screen: Screen) -> list[str]:
    """Return lines with old and new words in their colours; an edit may span lines."""
    text = _GONE.sub(lambda found: _paint_each(Part.OLD, found[0], screen), "\n".join(lines))
    return _COME.sub(lambda found: _paint_each(Part.NEW, found[0], screen), text).split("\n")


def _paint_each(part: Part, text: str, screen: Screen) -> str:
    return "\n".join(screen.paint(part, line) for line in text.split("\n"))


def _paint_level(level: Bump, sentence: str, screen: Screen, margin: str = "") -> Iterator[str]:
    """Yield a sentence after its coloured level, wrapped."""
    word = (str(level).upper() if level is Bump.MAJOR else str(level)).ljust(5)
    first, *rest = _paint_words(_wrap_line(f"{word}  {sentence}", screen, margin), screen)
    yield margin + screen.paint(_LEVELS.get(level), word) + first[len(margin + word) :]
    yield from rest


def _format_exchange_lines(finding: DiffFinding, screen: Screen) -> Iterator[str]:
    lead = f"{_MARGIN}{'changed'.ljust(_LABEL)}  "
    exchange = format_exchange(finding, screen.width - _INDENT - len("- "))
    if isinstance(exchange, str):
        yield from [lead + exchange] if exchange else []
        return
    for line in exchange:
        yield (
            lead + screen.paint(_MARKS.get(line.mark), f"{line.mark} {line.text}".rstrip())
        ).rstrip()
        lead = " " * len(lead)


def _name_side(ref: str | None, word: str) -> str:
    return make_printable(ref) if ref else word


def _wrap_line(line: str, screen: Screen, margin: str, inner: int = len(_MARGIN)) -> Sequence[str]:
    return screen.wrap(line, lead=margin, inner=margin + " " * inner)


def text_store(result: StoreDiff, screen: Screen = PAPER) -> str:
    """Return a store's changes, one per line, what is new, gone or broken, and their counts."""
    rule = screen.paint(Part.QUIET, "─" * min(screen.width, PAPER.width))
    blocks = [text(diff, screen) for diff in result.diffs]
    rest = screen.wrap(*_list_others(result))
    end = "\n".join([*rest, *screen.wrap(summarize_store(result))])
    return f"\n\n{rule}\n".join([*blocks, end])


def html_store(result: StoreDiff) -> str:
    """Return all changes of a store as a page, each in full."""
    from evalstore.report.pages.diff import write_store_page

    return write_store_page(result.diffs, summarize_store(result), [*_list_others(result)])


def _list_others(result: StoreDiff) -> Iterator[str]:
    """Yield a sentence for each artifact that is broken, was never released, or is gone."""
    for broken in result.broken:
        yield (
            f"{broken.ref} cannot be compared: "
            f"{broken.place or ''}{': ' if broken.place else ''}{broken.message}"
        )
    yield from list_uncompared(result)


def list_uncompared(result: StoreDiff) -> Iterator[str]:
    """Yield a sentence for each artifact without two versions to compare.

    It was never released, or is gone.
    """
    for name in result.new:
        former = result.renames.get(name)
        yield f"{make_printable(name)} is new, never released" + (
            f"; {describe_proposal(name, former)}" if former else ""
        )
    for name in result.removed:
        yield f"{make_printable(name)} is gone from the working tree; its releases stay"


def summarize_store(result: StoreDiff) -> str:
    """Return how many artifacts changed, and which bumps they need."""
    levels = Counter(diff.required_bump for diff in result.diffs)
    counts = ", ".join(
        f"{levels[level]} {level or 'no bump'}" for level in sorted(levels, reverse=True)
    )
    of = count_noun(result.total, "artifact")
    changed = (
        f"{len(result.diffs):,} of {of} changed since the last release: {counts}"
        if result.diffs
        else ""
    )
    others = (
        (len(result.new), "new"),
        (len(result.removed), "gone"),
        (len(result.broken), "not compared"),
    )
    parts = [
        *([changed] if changed else []),
        *(f"{number} {word}" for number, word in others if number),
    ]
    return "; ".join(parts) if parts else f"{of}, all unchanged since release"
