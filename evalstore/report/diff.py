"""What changed between two documents, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from evalstore.errors import Place
from evalstore.model import decimal
from evalstore.report.numbers import number
from evalstore.text import excerpt, printable
from evalstore.versions import Bump

if TYPE_CHECKING:
    from evalstore.diff import Accepted, Diff, DiffFinding, Witness

_WIDTH = 100
_MARGIN = " " * 7
_LABEL = 8
_QUOTED = 60
_CHILDREN = 8
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


def text(diff: Diff) -> str:
    """Return the findings, the heaviest first, and the bump that they need together."""
    head = f"{_name(diff.old.ref, 'old')} → {_name(diff.new.ref, 'new')}"
    findings = sorted(diff.findings, key=lambda finding: finding.level, reverse=True)
    here = (diff.new.ref or "").endswith(_WORKING)
    return "\n\n".join([head, *("\n".join(_finding(finding, here=here)) for finding in findings), _summary(diff)])


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


def accepted(acceptance: Accepted) -> dict[str, Any]:
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
        **number("old_score", witness.old_score),
        **number("new_score", witness.new_score),
        "old_verdict": str(witness.old_verdict),
        "new_verdict": str(witness.new_verdict),
    }


def _finding(finding: DiffFinding, *, here: bool) -> Iterator[str]:
    yield from _wrapped(f"{_level(finding.level)}  {finding.message}", "")
    yield from _wrapped(f"{finding.rule}, {_places(finding)}, {finding.fingerprint}", _MARGIN)
    for label, sentence in adjustments(finding):
        yield from _labelled(label, sentence)
    certainty = _CERTAINTY[finding.certainty]
    if effect := _effect(finding):
        yield from _labelled("moves", f"{effect} ({certainty})")
    yield from _labelled("why", finding.reason if effect else f"{finding.reason} ({certainty})")
    if finding.witness:
        yield from _labelled("shown by", _replayed(finding.witness))
    if here and finding.level is Bump.MAJOR and finding.certainty == _ASSUMED:
        yield from _labelled("accept", f'evalstore accept {finding.fingerprint} --reason "…"')
    for child in _heaviest(finding.children)[:_CHILDREN]:
        yield from _wrapped(f"{_level(child.level)}  {child.message}", f"{_MARGIN}  ")
    if len(finding.children) > _CHILDREN:
        yield f"{_MARGIN}  and {len(finding.children) - _CHILDREN} more"


def _heaviest(findings: Sequence[DiffFinding]) -> Sequence[DiffFinding]:
    return sorted(findings, key=lambda finding: finding.level, reverse=True)


def _effect(finding: DiffFinding) -> str:
    score, verdict = str(finding.direction), str(finding.verdict_direction)
    shift = f", by at most {_points(finding.max_shift)}" if finding.max_shift else ""
    sentence = _SCORES.get(score) or _VERDICTS.get(verdict, "")
    return f"{sentence}{shift}"


def _replayed(witness: Witness) -> str:
    output = f'"{excerpt(witness.output, _QUOTED)}"'
    old, new = (
        f"{'unscored' if score is None else _points(score)}{'' if score is None else f' ({verdict})'}"
        for score, verdict in (
            (witness.old_score, witness.old_verdict),
            (witness.new_score, witness.new_verdict),
        )
    )
    return f"the output {output} goes from {old} to {new}"


def _places(finding: DiffFinding) -> str:
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
    return f"{printable(_path(place))}:{place.line}"


def _summary(diff: Diff) -> str:
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
    return printable(ref) if ref else word


def _points(score: Fraction) -> str:
    shown = decimal(score)
    return shown if Fraction(shown) == score else str(score)


def _labelled(label: str, sentence: str) -> Sequence[str]:
    return _wrapped(f"{label.ljust(_LABEL)}  {sentence}", _MARGIN, inner=_LABEL + 2)


def _wrapped(line: str, margin: str, inner: int = len(_MARGIN)) -> Sequence[str]:
    return wrap(
        printable(line),
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin + " " * inner,
        break_on_hyphens=False,
    )
