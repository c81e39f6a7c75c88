"""Renders what changed since the last releases, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.release.changes.version_rules import MOVED_HINT
from evalstore.report.text_layout import LEVELS, PAPER, Part, Screen, join_names, wrap_rows
from evalstore.text import count_noun, make_printable

if TYPE_CHECKING:
    from evalstore.release.changes.values import ArtifactStatus, Status

_NAMES_LIMIT = 3
_MARGIN = " " * 4
_NEW, _MOVED, _BROKEN = "new", "moved", "broken"
_WORDS = {"ok": Part.PATCH, "NO": Part.MAJOR, **LEVELS}
_HEAD = ("", "ARTIFACT", "RELEASED", "FILE", "NEEDS", "")


def text(status: Status, screen: Screen = PAPER) -> str:
    """Return a line for each artifact, those not ok first, with its details.

    A summary and the next command follow.
    """
    end = screen.wrap(*_summary_sentences(status))
    if not status.artifacts:
        return "\n".join([*end, *_lines_of_finding(status, screen)])
    artifacts = sorted(status.artifacts, key=lambda artifact: artifact.ok)
    head, *lines = wrap_rows([_HEAD, *map(_status_row, artifacts)], screen.width)
    describe = _detail_lines if screen.can_hold(len(lines)) else _key_lines
    rows: list[str] = []
    for line, artifact in zip(lines, artifacts, strict=True):
        below = screen.wrap(*describe(artifact), lead=_MARGIN, inner=_MARGIN + "  ")
        rows.append("\n".join([screen.paint_words(line, _WORDS), *below]))
    listing = [screen.paint(Part.QUIET, head), *screen.shorten_list(rows)]
    return "\n".join([*listing, *_lines_of_finding(status, screen), "", *end])


def summary(status: Status) -> str:
    """Return how many artifacts differ and lack a version, and the next command, on one line."""
    return ". ".join(_summary_sentences(status))


def _status_row(artifact: ArtifactStatus) -> tuple[str, ...]:
    return (
        "ok" if artifact.ok else "NO",
        artifact.ref,
        artifact.released or "-",
        artifact.working or "-",
        str(artifact.required_bump) if artifact.required_bump else "-",
        "unchanged" if artifact.state == _MOVED else artifact.message,
    )


def _detail_lines(artifact: ArtifactStatus) -> Iterator[str]:
    yield from _key_lines(artifact)
    if artifact.dependents:
        yield f"referred to by {join_names(artifact.dependents, _NAMES_LIMIT)}"
    reach_counts = artifact.reached
    counts = (
        (reach_counts.rubrics, "rubric"),
        (reach_counts.datasets, "dataset"),
        (reach_counts.questions, "question"),
    )
    if reach := join_names(count_noun(number, word) for number, word in counts if number):
        stay = (
            f"; {count_noun(len(artifact.pins), 'reference')} will stay behind"
            if artifact.pins
            else ""
        )
        yield f"reaches {reach}{stay}"


def _key_lines(artifact: ArtifactStatus) -> Iterator[str]:
    """Yield what an artifact's row does not show, even in a list too long for all details."""
    if artifact.state == _MOVED and not artifact.moved:
        yield artifact.message
    if artifact.hint:
        yield f"hint: {artifact.hint}"
    if artifact.moved:
        yield from (reference.sentence for reference in artifact.moved[:_NAMES_LIMIT])
        if more := artifact.moved[_NAMES_LIMIT:]:
            yield f"{count_noun(len(more), 'more reference')} moved; --format json has all"
    if artifact.asked:
        yield f"judges asked: {artifact.asked}"
    if artifact.adjusted:
        from evalstore.report.diff_words import describe_adjustments
    for finding in artifact.adjusted:
        for label, sentence in describe_adjustments(finding):
            yield f"{finding.message}: {label} {sentence}"


def _lines_of_finding(status: Status, screen: Screen) -> list[str]:
    if not status.findings:
        return []
    from evalstore.report.findings import format_groups

    return ["", format_groups(status.findings, screen)]


def _summary_sentences(status: Status) -> Iterator[str]:
    if status.interrupted:
        yield make_printable(status.interrupted)
    moved = [artifact for artifact in status.artifacts if artifact.state == _MOVED]
    broken = [artifact for artifact in status.artifacts if artifact.state == _BROKEN]
    if changed := [
        artifact for artifact in status.artifacts if artifact.state not in {_MOVED, _BROKEN}
    ]:
        yield _describe_change(changed, status.total)
    elif not broken:
        yield f"{_count_artifacts(status.total)}, all unchanged since release"
    if broken:
        yield (
            f"{len(broken):,} of {_count_artifacts(status.total)} cannot be compared with a release"
        )
    if held := sum(artifact.ok for artifact in moved):
        verb = "has" if held == 1 else "have"
        yield (
            f"{held:,} unchanged {verb} references that moved: pin them, or lock them: evalstore "
            "lock"
        )
    if major := sum(not artifact.ok for artifact in moved):
        verb = "has" if major == 1 else "have"
        yield f"{major:,} unchanged {verb} references that moved by a major change: {MOVED_HINT}"


def _describe_change(changed: Sequence[ArtifactStatus], total: int) -> str:
    differ = [one for one in changed if one.state != _NEW]
    new = Counter(one.is_released for one in changed if one.state == _NEW)
    of = f" of {_count_artifacts(total)}"
    differs = "differs" if len(differ) == 1 else "differ"
    released = sum(one.is_released for one in differ)
    since, done = "the last release", ""
    if released:
        are = "is" if released == 1 else "are"
        since, done = "the base", f"; {count_noun(released, 'version')} of them {are} released"
    fault = _describe_fault(changed)
    parts = [f"{len(differ):,}{of} {differs} from {since}{done}{fault}"] if differ else []
    for is_released, count in sorted(new.items()):
        verbs = ("is", "was") if count == 1 else ("are", "were")
        state = f"{verbs[0]} new and released" if is_released else f"{verbs[1]} never released"
        parts.append(f"{count:,}{' more' if parts else of} {state}")
    return "; ".join(parts)


def _describe_fault(changed: Sequence[ArtifactStatus]) -> str:
    """Return how many artifacts lack the version that they need; empty if none does."""
    needed = Counter(artifact.required_bump for artifact in changed if not artifact.ok)
    if not needed:
        return ""
    levels = ", ".join(f"{needed[level]:,} {level}" for level in sorted(needed, reverse=True))
    needs = "it needs" if needed.total() == 1 else f"they need ({levels})"
    return f", {needed.total():,} without the version {needs}"


def _count_artifacts(number: int) -> str:
    return count_noun(number, "artifact")
