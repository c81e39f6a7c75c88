"""What changed between two documents, as text and JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.diff.plain_data import describe_value as written
from evalstore.documents import write_canonical
from evalstore.errors import Place
from evalstore.model import format_decimal
from evalstore.report.measured import measured_document, measured_text
from evalstore.report.numbers import number
from evalstore.report.screen import PAPER, Part, Screen
from evalstore.report.sides import Line, Mark, one_line, sides
from evalstore.report.words import wrapped
from evalstore.text import make_excerpt, make_printable
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.diff import AcceptedLevel, Diff, DiffFinding, Witness

_MARGIN = " " * 7
_LABEL = 8
_INDENT = len(_MARGIN) + _LABEL + 2
_QUOTED = 60
_CHILDREN = 8
_MANY = 12  # findings that no screen holds
_WORKING = "@worktree"  # what is accepted is a change of the working tree since the last release
_SCORES = {
    "stricter": "scores can only fall",
    "looser": "scores can only rise",
    "either": "scores can go either way",
}
_ASSUMED = "assumed"
_CERTAINTY = {"proved": "proved", "by-definition": "by definition", "assumed": "assumed"}
_VERDICTS = {
    "stricter": "scores stay, fewer pass",
    "looser": "scores stay, more pass",
    "either": "scores stay, other outputs pass",
}
_LEVELS = {Bump.MAJOR: Part.MAJOR, Bump.MINOR: Part.MINOR, Bump.PATCH: Part.PATCH}
_MARKS = {Mark.OLD: Part.OLD, Mark.NEW: Part.NEW, Mark.MORE: Part.QUIET}


def text(diff: Diff, screen: Screen = PAPER) -> str:
    """Return the findings, the heaviest first, and the bump that they need together; of many findings that first."""
    head = screen.paint(Part.HEAD, f"{_name(diff.old.ref, 'old')} → {_name(diff.new.ref, 'new')}")
    gist = [_gist(diff, screen)] if len(diff.findings) > _MANY else []
    here = (diff.new.ref or "").endswith(_WORKING)
    blocks = ("\n".join(_finding(finding, screen, here=here)) for finding in heaviest(diff.findings))
    measured = (measured_text(one, screen.width) for one in diff.measured)
    notes = ("\n".join(wrapped(note, width=screen.width, inner="  ")) for note in noted(diff))
    return "\n\n".join([head, *gist, *blocks, screen.paint(Part.HEAD, summary(diff)), *notes, *measured])


def noted(diff: Diff) -> Iterator[str]:
    """Yield what moves scores beside the two sides."""
    return (f"And yet scores may move: {note}" for note in diff.notes)


def _gist(diff: Diff, screen: Screen) -> str:
    rules = Counter((finding.level, finding.rule) for finding in heaviest(diff.findings))
    told = (f"{number} {rule}" for (_, rule), number in rules.items())
    return "\n".join(wrapped(summary(diff), ", ".join(told), width=screen.width, inner="  "))


def document(diff: Diff) -> Any:
    """Return the JSON document."""
    return {
        "old": {"ref": diff.old.ref, "digest": diff.old.digest},
        "new": {"ref": diff.new.ref, "digest": diff.new.digest},
        "rule_set": diff.rule_set,
        "profile": str(diff.profile),
        "required_bump": str(diff.required_bump),
        "next_version": diff.next_version,
        "findings": [_entry(finding) for finding in diff.findings],
        "measured": [measured_document(one) for one in diff.measured],
        "notes": list(diff.notes),
    }


def _entry(finding: DiffFinding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "level": str(finding.level),
        "level_before": str(finding.level_before),
        "overridden": finding.overridden,
        "accepted": accepted(finding.accepted) if finding.accepted else None,
        "direction": str(finding.direction),
        "verdict_direction": str(finding.verdict_direction),
        "certainty": str(finding.certainty),
        "pointer": finding.pointer,
        "file": finding.new.file if finding.new else None,
        "line": finding.new.line if finding.new else None,
        "old_file": finding.old.file if finding.old else None,
        "old_line": finding.old.line if finding.old else None,
        "message": finding.message,
        "reason": finding.reason,
        "witness": _witness(finding.witness) if finding.witness else None,
        **number("max_shift", finding.max_shift),
        "fingerprint": finding.fingerprint,
        "children": [_entry(child) for child in finding.children],
    }


def accepted(acceptance: AcceptedLevel) -> dict[str, Any]:
    """Return the JSON of an acceptance, which status tells too."""
    return {
        "reason": acceptance.reason,
        "by": acceptance.by,
        "day": str(acceptance.day),
        "until": str(acceptance.until) if acceptance.until else None,
    }


def adjustments(finding: DiffFinding) -> Iterator[tuple[str, str]]:
    """Yield what made a finding's level another than its rule's own: a word for it, and the rest of the sentence."""
    if finding.overridden:
        yield "override", f"from {finding.level_before} by {finding.overridden} in evalstore.yaml"
    if told := finding.accepted:
        until = f", until {told.until}" if told.until else ""
        name = told.by.partition(" <")[0]
        yield "accepted", f"as {told.level}, was {told.was}, by {name} on {told.day}{until}: {told.reason}"


def _witness(witness: Witness) -> dict[str, Any]:
    return {
        "output": witness.output,
        **({} if witness.tool_calls is None else {"tool_calls": json.loads(write_canonical(list(witness.tool_calls)))}),
        **number("old_score", witness.old_score),
        **number("new_score", witness.new_score),
        "old_verdict": str(witness.old_verdict),
        "new_verdict": str(witness.new_verdict),
    }


def _finding(finding: DiffFinding, screen: Screen, *, here: bool) -> Iterator[str]:
    yield from _headed(finding, "", screen)
    about = _wrapped(f"{finding.rule}, {places(finding)}, {finding.fingerprint}", screen, _MARGIN)
    yield from (screen.paint(Part.QUIET, line) for line in about)
    yield from _exchanged(finding, screen)
    for label, sentence in told(finding, here=here):
        lead = f"{label.ljust(_LABEL)}  "
        yield from _wrapped(lead + sentence, screen, _MARGIN, inner=len(lead))
    shown = heaviest(finding.children)[: None if screen.whole else _CHILDREN]
    for child in shown:
        yield from _headed(child, f"{_MARGIN}  ", screen)
    if more := len(finding.children) - len(shown):
        yield f"{_MARGIN}  and {more:,} more"


def told(finding: DiffFinding, *, here: bool) -> Iterator[tuple[str, str]]:
    """Yield what there is to say of a finding, each with its label; `here` where the new side can be accepted."""
    yield from adjustments(finding)
    certainty = _CERTAINTY[finding.certainty]
    effect = moves(finding)
    if effect:
        yield "moves", f"{effect} ({certainty})"
    yield "why", finding.reason if effect else f"{finding.reason} ({certainty})"
    if finding.witness:
        yield "shown by", _replayed(finding.witness)
    if here and finding.level is Bump.MAJOR and finding.certainty == _ASSUMED:
        yield "accept", f'evalstore accept {finding.fingerprint} --reason "…"'


def exchanged(finding: DiffFinding, width: int) -> str | list[Line]:
    """Return the old value and the new one, on one line or under each other; empty where the message says it all.

    Of a patch only what fits one line: nothing moves, so there is nothing to review line by line.
    """
    known = [value for value in (finding.before, finding.after) if value is not None]
    if all(_is_said(value, finding.message) for value in known):
        return ""
    if line := one_line(finding.before, finding.after, width):
        return line
    return "" if finding.level_before is Bump.PATCH else sides(finding.before, finding.after, width)


def heaviest(findings: Iterable[DiffFinding]) -> list[DiffFinding]:
    """Return findings from major to patch, each level in its order."""
    return sorted(findings, key=lambda finding: finding.level, reverse=True)


def _headed(finding: DiffFinding, margin: str, screen: Screen) -> Iterator[str]:
    first, *rest = _wrapped(f"{_level(finding.level)}  {finding.message}", screen, margin)
    word = _level(finding.level)
    yield margin + screen.paint(_LEVELS.get(finding.level), word) + first[len(margin + word) :]
    yield from rest


def _exchanged(finding: DiffFinding, screen: Screen) -> Iterator[str]:
    lead = f"{_MARGIN}{'changed'.ljust(_LABEL)}  "
    shown = exchanged(finding, screen.width - _INDENT - len("- "))
    if isinstance(shown, str):
        yield from [lead + shown] if shown else []
        return
    for line in shown:
        yield (lead + screen.paint(_MARKS.get(line.mark), f"{line.mark} {line.text}".rstrip())).rstrip()
        lead = " " * len(lead)


def _is_said(value: Any, message: str) -> bool:
    if isinstance(value, dict | list):
        return False
    word = written(value)
    return not word.endswith("…") and word in message


def moves(finding: DiffFinding) -> str:
    """Return in words where scores and verdicts can go, and how far; empty where they stay."""
    score, verdict = str(finding.direction), str(finding.verdict_direction)
    shift = f", by at most {_points(finding.max_shift)}" if finding.max_shift else ""
    sentence = _SCORES.get(score) or _VERDICTS.get(verdict, "")
    return f"{sentence}{shift}"


def _replayed(witness: Witness) -> str:
    output = f'"{make_excerpt(witness.output, _QUOTED)}"'
    if witness.tool_calls is not None:
        output += f" with the calls {make_excerpt(write_canonical(list(witness.tool_calls)), _QUOTED)}"
    old, new = (
        f"{'unscored' if score is None else _points(score)}{'' if score is None else f' ({verdict})'}"
        for score, verdict in (
            (witness.old_score, witness.old_verdict),
            (witness.new_score, witness.new_verdict),
        )
    )
    return f"the output {output} goes from {old} to {new}"


def places(finding: DiffFinding) -> str:
    """Return in words where a change stands on both sides."""
    old, new = finding.old, finding.new
    if old and new:
        moved = f" → {new.line}" if _path(old) == _path(new) else f" → {_line(new)}"
        return _line(old) if _line(old) == _line(new) else _line(old) + moved
    if place := old or new:
        return f"{_line(place)} ({'new' if new else 'gone'})"
    return finding.pointer or "the whole document"


def _path(place: Place) -> str:
    # A file that was read from git is called <tag>:<path>; the head of the report has named both sides.
    return place.file.rpartition(":")[2]


def _line(place: Place) -> str:
    return f"{make_printable(_path(place))}:{place.line}"


def summary(diff: Diff) -> str:
    """Return the counts, the bump and the next version."""
    if diff.required_bump is Bump.NONE:
        return "nothing changed that anyone could notice: no bump is needed"
    counts = Counter(finding.level for finding in diff.findings)
    told = ", ".join(f"{counts[level]} {level}" for level in sorted(counts, reverse=True))
    adjusted = {
        "accepted": sum(finding.accepted is not None for finding in diff.findings),
        "overridden": sum(finding.overridden is not None for finding in diff.findings),
    }
    noted = ", ".join(f"{count} {word}" for word, count in adjusted.items() if count)
    version = f": the next version is {diff.next_version}" if diff.next_version else ""
    told = f"{told} ({noted})" if noted else told
    return f"{told}. This needs a {diff.required_bump} bump{version}"


def _level(level: Bump) -> str:
    return (str(level).upper() if level is Bump.MAJOR else str(level)).ljust(5)


def _name(ref: str | None, word: str) -> str:
    return make_printable(ref) if ref else word


def _points(score: Fraction) -> str:
    shown = format_decimal(score)
    return shown if Fraction(shown) == score else str(score)


def _wrapped(line: str, screen: Screen, margin: str, inner: int = len(_MARGIN)) -> Sequence[str]:
    return wrapped(line, width=screen.width, lead=margin, inner=margin + " " * inner)
