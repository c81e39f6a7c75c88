"""Grades an output by what the reader makes of a configuration of promptfoo, for the tests that compare verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalstore.checks import CheckContext, evaluate
from evalstore.documents import Document, read_legacy_json, read_legacy_yaml
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    JudgePrompts,
    LegacyCase,
    LegacySource,
)
from evalstore.migration.legacy_files import parse_companion
from evalstore.migration.prompts.judge_prompts import InstalledPrompt, draft_own_judge
from evalstore.migration.readers import run_reader
from evalstore.migration.table import load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply

TABLE = load_tables("promptfoo")[0]
# Judges as if the program's own words were at hand: these are a few of ours around its places.
PROMPTS = JudgePrompts(
    {
        row.judge: draft_own_judge(InstalledPrompt(" ".join(row.places), "f", "Grade."), row, TABLE)
        for row in TABLE.prompts
    }
)


def read_config(
    text: str,
    file: str,
    files: dict[str, str],
    release: str | None = "0.121",
    prompts: JudgePrompts = PROMPTS,
) -> Extraction:
    """Return what the reader extracts from a configuration, beside which files stand."""

    def load(path: str) -> Document | None:
        name = path.removeprefix("file://")
        return parse_companion(files[name].encode(), name) if name in files else None

    parse = read_legacy_yaml if file.endswith(".yaml") else read_legacy_json
    return run_reader(LegacySource(parse(text, file), file, "", load, release, prompts=prompts), TABLE)


def grade_case(
    case: LegacyCase, drafts: Sequence[ArtifactDraft], output: str, reply: str = "", **measures: Any
) -> tuple[bool, float | None]:
    """Return whether an output passes by the rubric of a case, and its score; every judge gives one reply.

    `measures` are what its run recorded about it.
    """
    found = {draft.ref: draft for draft in drafts}

    def load(ref: object) -> Artifact:
        draft = found[str(ref)]
        return Artifact(draft.kind, draft.id, draft.version, Document("", "", draft.value, {}, {}))

    def ask(_: JudgeCall) -> JudgeReply:
        return JudgeReply(reply)

    assert case.rubric
    context = CheckContext(load=load, ask=ask, model={"id": "m"})
    result = evaluate(case.rubric.value, {"output": output, **measures}, case.question, context=context)
    return result.verdict == "pass", None if result.score is None else float(result.score)
