"""Names those files to validate that another tool wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evalstore.errors import EvalstoreError, LoadError
from evalstore.files import LARGE_FILE, read_user_file
from evalstore.lint import ValidationSource
from evalstore.lint.source_reader import guess_kind
from evalstore.lint.sources import FileRole
from evalstore.migration.detect import FormatMatch, detect_file
from evalstore.migration.legacy_files import parse_legacy
from evalstore.model import Findings
from evalstore.runs.formats import find_format

# The rules that find that a file of another tool is not an artifact.
_NO_ARTIFACT = frozenset(
    {"kind-unknown", "key-missing", "document-malformed", "file-unreadable", "file-ignored"}
)
_AS_ARTIFACT = "`validate --as rubric` (judge, dataset) takes it for one all the same"
_TABLES = frozenset({".csv", ".tsv", ".parquet"})  # such a file is not an artifact


def name_foreign_sources(
    sources: Sequence[ValidationSource], findings: Findings
) -> list[ValidationSource]:
    """Return the sources, marking those of another tool with the step that takes them.

    Only sources without an artifact according to `findings` are examined.
    """
    odd = {finding.file for finding in findings.findings if finding.rule in _NO_ARTIFACT}
    return [_name_foreign_file(source) if source.file in odd else source for source in sources]


def _name_foreign_file(source: ValidationSource) -> ValidationSource:
    if source.root is None:
        return source
    if source.kind or source.is_in_layout:
        return _name_misplaced_file(source, source.root / source.path)
    tool, advice = _name_results(source.root / source.path, source.file)
    if tool:
        return replace(source, role=FileRole.FOREIGN, tool=tool, advice=advice)
    try:
        match = detect_file(source.root / source.path)
    except LoadError:
        return source
    if match.shape:
        return replace(source, role=FileRole.FOREIGN, tool=match.reason, advice=_AS_ARTIFACT)
    if not match.is_sure and not match.is_tie:
        return source
    name, tool = match.table.format if match.table else "", _name_tool(match)
    more = "" if name else " --from FORMAT"
    advice = f"evalstore migrate {source.file}{more}; {_AS_ARTIFACT}"
    return replace(source, role=FileRole.FOREIGN, tool=tool, advice=advice)


def _name_misplaced_file(source: ValidationSource, path: Path) -> ValidationSource:
    """Mark a file of another tool in a folder of artifacts, unless a key shows it to be one."""
    if source.role not in {FileRole.ARTIFACT, FileRole.IGNORED}:
        return source
    try:
        match = detect_file(path)
        document, _ = parse_legacy(read_user_file(path, LARGE_FILE), source.file)
    except LoadError:
        return source
    if guess_kind(document.value) or not (match.is_sure or match.shape):
        return source
    move = "move it out of the store"
    advice = move if match.shape else f"{move}, and from there `evalstore migrate FILE`"
    return replace(source, role=FileRole.FOREIGN, tool=_name_tool(match), advice=advice)


def _name_tool(match: FormatMatch) -> str:
    """Return whose a file is, in words."""
    if match.table is None:
        return match.reason
    return f"`migrate` knows it as {match.table.format} ({match.reason})"


def _name_results(path: Path, name: str) -> tuple[str, str]:
    """Return what a file of outputs or results is, and which command takes it.

    Both are empty for what `migrate` takes.
    """
    try:
        shape, advice = find_format(path)
    except EvalstoreError:
        return "", ""
    if shape is None or shape.can_be_migrated(name):
        return "", ""
    if not (shape.tool or shape.is_container or path.suffix in _TABLES):
        return "", ""
    steps = "; ".join(shape.list_steps(name)) or advice
    return f"it holds {shape.name}, which `validate` does not check", steps
