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
from evalstore.migration.table import PromptRow, load_tables
from evalstore.model import Artifact, JudgeCall, JudgeReply

TABLE = load_tables("promptfoo")[0]


def make_prompt(row: PromptRow, system: str = "") -> InstalledPrompt:
    """Return a prompt of a few words around the places of a row."""
    first = make_prompt(row.first) if row.first else None
    return InstalledPrompt(" ".join(row.places), "f", system, first=first)


# Judges as if the program's own words were at hand: these are a few of ours around its places.
PROMPTS = JudgePrompts({row.judge: draft_own_judge(make_prompt(row, "Grade."), row, TABLE) for row in TABLE.prompts})


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
    case: LegacyCase, drafts: Sequence[ArtifactDraft], output: str, reply: str | Sequence[str] = "", **measures: Any
) -> tuple[bool, float | None]:
    """Return whether an output passes by the rubric of a case, and its score.

    Every judge gives one reply, or replies in the order of the calls. `measures` are what its run recorded about it.
    """
    found = {draft.ref: draft for draft in drafts}

    def load(ref: object) -> Artifact:
        draft = found[str(ref)]
        return Artifact(draft.kind, draft.id, draft.version, Document("", "", draft.value, {}, {}))

    replies = iter([] if isinstance(reply, str) else reply)

    def ask(_: JudgeCall) -> JudgeReply:
        return JudgeReply(reply if isinstance(reply, str) else next(replies))

    assert case.rubric
    context = CheckContext(load=load, ask=ask, model={"id": "m"})
    result = evaluate(case.rubric.value, {"output": output, **measures}, case.question, context=context)
    return result.verdict == "pass", None if result.score is None else float(result.score)
