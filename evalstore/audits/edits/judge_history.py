"""Traces what a new version of a judge changed, edit by edit, and who made each."""

from __future__ import annotations

from evalstore.audits.edits.version_comparison import compare_or_note
from evalstore.audits.values import EditSource, Origin
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.diff import DiffFinding
from evalstore.model import Kind
from evalstore.release.history.artifact_parts import ArtifactPart, PartTable, read_parts
from evalstore.text import make_excerpt

# Texts of a judge of which no line shows what changed.
_LONG_KEYS = frozenset({"template", "reply_pattern"})
_VALUE = 40
_JUDGE_RULE = "judge-released"
_SHORT_COMMIT = 7


def trace_judge(
    finder: VersionFinder, old: ArtifactVersion, new: ArtifactVersion, origin: Origin
) -> EditSource:
    """Return what a release of a judge changed, edit by edit.

    If several people did it, each edit comes with its commit. The whole has one share, because
    nobody asks a judge that never existed; `origin` is that of the whole step.
    """
    tables = [
        read_parts(Kind.JUDGE, side.resolved.artifact.value) or PartTable() for side in (old, new)
    ]
    before, after = (table.meanings for table in tables)
    keys = (part for part in {**before, **after} if part.area == "key")
    changed = [part for part in keys if before.get(part) != after.get(part)]
    origins = finder.find_origins(old, new, changed) if changed else {}
    makers = dict.fromkeys((found.commit, found.author) for found in origins.values())
    if len(makers) == 1:
        origin = next(iter(origins.values()))
    signs = {part: _sign_edit(made) for part, made in origins.items()} if len(makers) > 1 else {}
    described = (
        (part, _describe_judge_edit(part, before.get(part), after.get(part))) for part in changed
    )
    edits = [f"{text}{signs.get(part, '')}" for part, text in described]
    what = "; ".join(edits) or f"{origin.old} → {origin.new}, with the same prompt"
    findings: tuple[DiffFinding, ...] = ()
    if not finder.find_line(old, new):
        what = f"{old.resolved.name} → {new.resolved.name}; {what}"
    elif edits:
        findings = compare_or_note(finder, old.resolved.artifact, new.resolved.artifact)
    return EditSource(
        _JUDGE_RULE, origin, str(origin.ref), (_JUDGE_RULE,), f"judge: {what}", findings
    )


def _describe_judge_edit(part: ArtifactPart, before: str | None, after: str | None) -> str:
    """Describe one edit of a judge: `model a → b`, or `scale.max 5 → 10`.

    If that would be too long, it is the name alone.
    """
    label = (
        part.name
        if (part.name, part.key) == ("model", "id")
        else ".".join(filter(None, [part.name, part.key]))
    )
    if part.name in _LONG_KEYS:
        if before and after:
            return f"{label} edited"
        return f"{label} added" if after else f"{label} removed"
    # A judge that names no model uses the run's.
    absent = "the run's" if label == "model" else "none"
    ends = (
        make_excerpt(absent if end is None else end.strip('"'), _VALUE) for end in (before, after)
    )
    return f"{label} {' → '.join(ends)}"


def _sign_edit(origin: Origin) -> str:
    who = " ".join(filter(None, [origin.author, (origin.commit or "")[:_SHORT_COMMIT]]))
    return f" ({make_excerpt(who, _VALUE)})" if who else ""
