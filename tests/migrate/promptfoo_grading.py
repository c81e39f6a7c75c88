"""Grades an output by what the reader makes of a configuration of promptfoo, for the tests that compare verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import Document, read_legacy_json, read_legacy_yaml
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.legacy_files import parse_companion
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Artifact

TABLE = load_tables("promptfoo")[0]


def read_config(text: str, file: str, files: dict[str, str], release: str | None = "0.121") -> Extraction:
    """Return what the reader extracts from a configuration, beside which files stand."""

    def load(path: str) -> Document | None:
        name = path.removeprefix("file://")
        return parse_companion(files[name].encode(), name) if name in files else None

    parse = read_legacy_yaml if file.endswith(".yaml") else read_legacy_json
    return run_reader(LegacySource(parse(text, file), file, "", load, release), TABLE)


def grade_case(case: LegacyCase, drafts: Sequence[ArtifactDraft], output: str) -> tuple[bool, float | None]:
    """Return whether an output passes by the rubric of a case, and its score."""
    found = {draft.ref: draft for draft in drafts}

    def load(ref: object) -> Artifact:
        draft = found[str(ref)]
        return Artifact(draft.kind, draft.id, draft.version, Document("", "", draft.value, {}, {}))

    assert case.rubric
    result = evaluate(case.rubric.value, output, case.question, context=CheckContext(load=load))
    return result.verdict == "pass", None if result.score is None else float(result.score)
