"""Reads a target of ai_eval: the graders that it names become checks, whose mean is its score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.case_reading import refuse_source
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
    make_judge_draft,
)
from evalstore.migration.outcome import MigrationOutcome, classify_losses
from evalstore.migration.suites.suite_names import find_suite_name
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import describe_type
from evalstore.model import Kind
from evalstore.text import make_excerpt

_ALPHA = "alpha"
_NO_NAME = "a grader is {} where its name belongs: what it adds to the score is lost"
_AGAIN = "{} is named twice: it grades once here"
_APART = "some of its graders are set aside, each reported by itself"
_OWN = "{}: its own settings are kept as data, and it grades here with those of the module"
_OWN_THRESHOLD = "question_pass_threshold is kept as data: a question passes here at 3.5 of 5"
_NO_GRADERS = "graders is {} where the names of a target's graders belong"


def read_target(root: Mapping[str, Any], legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the rubric of a target, and the judges that its graders become."""
    names = _list_graders(root["graders"])
    odd_graders = _find_odd_graders(root["graders"])
    if not names:
        problem = _NO_GRADERS.format(describe_type(root["graders"]) if root["graders"] else "empty")
        return refuse_source("target", ("graders",), problem)
    alpha = legacy.dialect == _ALPHA
    judges = {judge["id"]: _build_judge(judge, alpha=alpha) for judge in table.judges}
    rows = {name: table.form["graders"].get(name) for name in names}
    mapped = {name: row for name, row in rows.items() if row and "unmapped" not in row}
    missing = [(name, _explain_unmapped(name, rows[name])) for name in rows if name not in mapped]
    unmapped = MigrationOutcome.UNMAPPED
    notes = [MigrationNote(names[name], unmapped, reason) for name, reason in missing]
    notes += [note for note, _ in odd_graders]
    if not mapped:
        refused = refuse_source("target", ("graders",), "no grader of the target can be said")
        return replace(refused, notes=(*notes, *refused.notes))
    judges_used = {row["judge"]: judges[row["judge"]] for row in mapped.values() if "judge" in row}
    reasons = [f"{name}: {row['lossy']}" for name, row in mapped.items() if "lossy" in row]
    reasons += [_APART] if notes else []
    reasons += [_OWN_THRESHOLD] if "question_pass_threshold" in root else []
    leftovers: list[Any] = [{"grader": name, "reason": reason} for name, reason in missing]
    leftovers += [{"grader": item, "reason": note.reason} for note, item in odd_graders]
    value = {
        **({"title": root["label"]} if isinstance(root.get("label"), str) else {}),
        "checks": [_build_grader_check(name, row, judges_used) for name, row in mapped.items()],
        "scoring": dict(table.scoring) | {"threshold": table.form["threshold"]},
        **({"x_unmapped": leftovers} if leftovers else {}),
    }
    rubric = ArtifactDraft(
        Kind.RUBRIC, "rubric", value, name=find_suite_name(root, table) or "target"
    )
    outcome = classify_losses(reasons)
    return Extraction(
        _ALPHA if alpha else "target",
        cases=(LegacyCase((), root, outcome, tuple(reasons), rubric=rubric, notes=tuple(notes)),),
        drafts=tuple(judges_used.values()),
    )


def _list_graders(value: Any) -> dict[str, Pointer]:
    """Return the active graders with their pointers.

    They come from a list, or from a mapping of names to switches.
    """
    if isinstance(value, list):
        return {
            item: ("graders", index) for index, item in enumerate(value) if isinstance(item, str)
        }
    if isinstance(value, dict):
        return {str(key): ("graders", key) for key, item in value.items() if item and item != "0"}
    return {}


def _find_odd_graders(value: Any) -> list[tuple[MigrationNote, Any]]:
    """Return notes on graders that are not names, are repeated, or have settings."""

    def note(key: Any, reason: str) -> MigrationNote:
        return MigrationNote(("graders", key), MigrationOutcome.UNMAPPED, reason)

    nameless: list[tuple[MigrationNote, Any]] = []
    repeated: list[tuple[MigrationNote, Any]] = []
    for key, item in enumerate(value) if isinstance(value, list) else ():
        if not isinstance(item, str):
            nameless.append((note(key, _NO_NAME.format(describe_type(item))), item))
        elif item in value[:key]:
            repeated.append((note(key, _AGAIN.format(make_excerpt(item))), item))
    settings = value.items() if isinstance(value, dict) else ()
    own = [(key, item) for key, item in settings if item and isinstance(item, dict | list)]
    with_settings = [(note(key, _OWN.format(make_excerpt(str(key)))), item) for key, item in own]
    return [*nameless, *repeated, *with_settings]


def _explain_unmapped(name: str, row: Mapping[str, Any] | None) -> str:
    return f"{make_excerpt(name)}: {row['unmapped'] if row else 'it is not a grader of the module'}"


def _build_grader_check(
    name: str, row: Mapping[str, Any], judges: Mapping[str, ArtifactDraft]
) -> dict[str, Any]:
    judge = {"judge_prompt_ref": judges[row["judge"]].ref} if "judge" in row else {}
    return {"id": name, "kind": row["kind"], **judge, **row.get("with", {})}


def _build_judge(value: Mapping[str, Any], *, alpha: bool) -> ArtifactDraft:
    """Return a judge in the table; the alpha releases asked for grades from 1 instead of 0."""
    judge = make_judge_draft(value)
    if not alpha or value.get("scale") is None or judge.id == "ai_eval_accuracy":
        return judge
    # The alpha judges differ from the later ones only in the start of their scale.
    template = value["template"].replace("from 0 (", "from 1 (")
    content = judge.value | {"template": template, "scale": {"min": 1, "max": 5}}
    return replace(judge, id=f"{judge.id}_alpha", value=content)
