"""Reads ai_eval: datasets whose rows pin rubrics, rubrics with two-part versions, and targets that choose graders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any

from evalstore.documents import Pointer, write_yaml
from evalstore.lint import make_text_source, validate
from evalstore.migration.artifact_names import UniqueLabels, make_id, make_slug
from evalstore.migration.case_reading import CaseRow, RowLabel, read_rows, refuse_source
from evalstore.migration.extraction import (
    VERSION,
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
    make_judge_draft,
)
from evalstore.migration.outcome import MigrationOutcome, classify_losses
from evalstore.migration.remainder import encode_value
from evalstore.migration.suites.suite_names import find_suite_name
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import (
    describe_misfits,
    describe_type,
    describe_unknown_keys,
    is_question_value,
)
from evalstore.model import Kind, is_id
from evalstore.text import make_excerpt
from evalstore.versions import find_version

_REF = re.compile(r"rubric/(?P<id>[^@]+)@(?P<version>[^@]+)")
_ALPHA = "alpha"
_SHAPE = ("check-kind-", "key-missing", "value-")  # validation rules about the shape of a rubric
_TOOL = {"name", "args"}
_TWO_PARTS = re.compile(r"[0-9]+\.[0-9]+")
_CHECK_KEYS = ("id", "kind", "values", "case_sensitive", "metadata")
_SCORING_KEYS = ("combine", "weights", "threshold")
_NOT_RUN = (
    "the program has no executor for {}: it leaves the check out of the score, and so is it here"
)
_UNSAID = "no check kind can say {}: what it adds to the score is lost"
_NONE_RUN = (
    "the program has an executor for none of its checks and scores nothing; here they are graded"
)
_NO_WEIGHT = (
    "the weights of the checks that the program runs add up to 0, so here the rubric has no score"
)
_TWINS = (
    "several checks have one id: nothing says whether the program counts each of them, as is done "
    "here"
)
_NO_NAME = "a grader is {} where its name belongs: what it adds to the score is lost"
_AGAIN = "{} is named twice: it grades once here"
_APART = "some of its graders are set aside, each reported by itself"
_OWN = "{}: its own settings are kept as data, and it grades here with those of the module"
_OWN_THRESHOLD = "question_pass_threshold is kept as data: a question passes here at 3.5 of 5"
_NO_GRADERS = "graders is {} where the names of a target's graders belong"


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the extraction of a dataset, a rubric or a target, which its root keys tell apart."""
    root: Mapping[str, Any] = legacy.document.value
    # Detection has seen one of the lists, so one of them is there.
    key = next(key for key in table.lists if key in root)
    return _READERS[key](root, legacy, table)


def _read_dataset(root: Mapping[str, Any], _: LegacySource, table: FormatTable) -> Extraction:
    rows = root["questions"]
    if not isinstance(rows, list):
        empty = (
            f"questions is {describe_type(rows)}: the program takes the dataset for an empty one"
        )
        return refuse_source("dataset", ("questions",), empty)
    head = ArtifactDraft(
        Kind.DATASET, "suite", {}, ("questions",), name=find_suite_name(root, table)
    )
    cases = read_rows(rows, ("questions",), _label_row, partial(_read_row, table=table))
    return Extraction("dataset", head, cases)


def _label_row(row: Any, _: int) -> RowLabel:
    if not isinstance(row, dict):
        return RowLabel(problem=f"the row is {describe_type(row)} where a mapping belongs")
    for key in ("id", "input"):
        if not isinstance(row.get(key), str) or not row[key]:
            return RowLabel(problem=f"{key} is not text, so the row cannot be asked or named")
    return RowLabel(row["id"])


def _read_row(case: CaseRow, table: FormatTable) -> LegacyCase:
    row: Mapping[str, Any] = case.raw
    known = [key for keys in table.form["known"] for key in keys]
    ref, reasons = _parse_rubric_ref(row.get("rubric_ref"))
    reasons += [f"{key}: {reason}" for key, reason in table.form["lost"].items() if row.get(key)]
    remarks = [
        f"{key}: {reason}; kept as data"
        for key, reason in table.form["aside"].items()
        if row.get(key)
    ]
    remarks += describe_unknown_keys((key for key in row if key not in known), known)
    question = _build_question(row, case.label, table)
    return LegacyCase(
        case.pointer,
        row,
        classify_losses(reasons),
        tuple(reasons),
        question | ref,
        remarks=(*describe_misfits(row, question, table.mirrors), *remarks, *case.remarks),
    )


def _build_question(row: Mapping[str, Any], name: str, table: FormatTable) -> dict[str, Any]:
    """Return the question: mirrored fields where their values fit, and the criteria as context for a judge."""
    fields = ((key, field) for key, field in table.mirrors.items() if field and key in row)
    mapped = {field: row[key] for key, field in fields if _fits(field, row[key])}
    criteria = (
        {"context": mapped["criteria"]} if "criteria" in mapped and "context" not in row else {}
    )
    return mapped | {"id": name} | criteria


def _parse_rubric_ref(value: Any) -> tuple[dict[str, str], list[str]]:
    if value is None:
        return {}, []
    match = _REF.fullmatch(value) if isinstance(value, str) else None
    version = _parse_version(match["version"]) if match else None
    if match is None or version is None or not is_id(match["id"]):
        return {}, [
            f"rubric_ref {make_excerpt(str(value))!r} names no rubric and version: kept as it is"
        ]
    return {"rubric_ref": f"rubric/{match['id']}@{version}"}, []


def _parse_version(text: str) -> str | None:
    """Return a version of three parts (`1.2` becomes `1.2.0`); None for no version."""
    full = f"{text}.0" if _TWO_PARTS.fullmatch(text) else text
    return full if find_version(full) else None


def _fits(field: str, value: Any) -> bool:
    """Whether a question can hold a value; what else is said of an expected tool may be that it is forbidden."""
    tools = value if field == "expected_tools" and isinstance(value, list) else []
    return is_question_value(field, value) and not any(
        isinstance(item, dict) and item.keys() - _TOOL for item in tools
    )


def _read_rubric(root: Mapping[str, Any], _: LegacySource, table: FormatTable) -> Extraction:
    version = _parse_version(root["version"]) if isinstance(root.get("version"), str) else None
    if problem := _find_rubric_problem(root, version):
        return refuse_source("rubric", *problem)
    checks_by_index = dict(enumerate(root["checks"]))
    executed = {
        index: check
        for index, check in checks_by_index.items()
        if check["kind"] in table.form["executors"]
    }
    graded = executed or checks_by_index
    leftovers = {index: check for index, check in checks_by_index.items() if index not in graded}
    labels = UniqueLabels()
    # An id that is valid and free stays.
    names = [check["id"] for check in graded.values()]
    ids = [
        labels.claim(name if is_id(name) else make_id(make_slug(name) or "check")) for name in names
    ]
    checks = [
        {**_convert_check(check, executed=bool(executed)), "id": id_}
        for id_, check in zip(ids, graded.values(), strict=True)
    ]
    lost_kinds = sorted(
        {check["kind"] for check in leftovers.values()}.intersection(table.form["unsaid"])
    )
    reasons_by_index = {
        index: (_UNSAID if check["kind"] in lost_kinds else _NOT_RUN).format(
            make_excerpt(check["kind"])
        )
        for index, check in leftovers.items()
    }
    notes = [
        MigrationNote(("checks", index), MigrationOutcome.UNMAPPED, reason)
        for index, reason in reasons_by_index.items()
    ]
    scoring = _build_scoring(root["scoring"], ids, names, executed=bool(executed))
    value = {
        **{key: root[key] for key in ("description",) if isinstance(root.get(key), str)},
        **({"title": root["label"]} if isinstance(root.get("label"), str) else {}),
        "checks": checks,
        "scoring": scoring,
        **({"x_unmapped": [*leftovers.values()]} if leftovers else {}),
    }
    if problem := _find_misfit(value, [*graded]):
        return refuse_source("rubric", *problem)
    reasons = (
        *([] if executed else [_NONE_RUN]),
        *(_UNSAID.format(make_excerpt(kind)) for kind in lost_kinds),
        *(
            f"{kind}: {reason}"
            for kind, reason in table.form["assumed"].items()
            if any(check["kind"] == kind for check in executed.values())
        ),
        *([_NO_WEIGHT] if _has_no_weight(scoring, checks) else []),
        *([_TWINS] if len(set(names)) < len(names) else []),
    )
    rubric = ArtifactDraft(Kind.RUBRIC, "rubric", value, version=version or "", name=root["id"])
    pairs = zip(ids, names, strict=True)
    remarks = (
        *(_list_unread_keys([*executed.values()], root) if executed else ()),
        *(f"the check {make_excerpt(name)!r} is {id_} here" for id_, name in pairs if id_ != name),
    )
    case = LegacyCase(
        (),
        root,
        classify_losses(reasons),
        reasons,
        rubric=rubric,
        notes=tuple(notes),
        remarks=remarks,
    )
    return Extraction("rubric", cases=(case,))


def _find_rubric_problem(
    root: Mapping[str, Any], version: str | None
) -> tuple[Pointer, str] | None:
    if not isinstance(root.get("id"), str) or not make_slug(root["id"]):
        return ("id",), "the rubric has no id"
    if version is None:
        return (
            "version",
        ), "version is not text of two or three numbers: what refers to the rubric cannot find it"
    if not isinstance(root["checks"], list) or not root["checks"]:
        return ("checks",), "checks is not a list of checks"
    for index, check in enumerate(root["checks"]):
        words = [check.get(key) for key in ("id", "kind")] if isinstance(check, dict) else [None]
        if not all(isinstance(word, str) and word for word in words):
            return ("checks", index), "the check has no id or no kind"
    scoring = root.get("scoring")
    if not isinstance(scoring, dict) or not isinstance(scoring.get("combine"), str):
        return ("scoring",), "scoring says nothing about how checks combine"
    return None


def _convert_check(check: Mapping[str, Any], *, executed: bool) -> dict[str, Any]:
    """Return a check; of an `executed` one only the keys that the program reads: others would have a meaning here."""
    # The program ignores case unless the check says otherwise; evalstore's checks always say it.
    folds = check.get("case_sensitive") is None
    case = (
        {"case_sensitive": False if folds else check["case_sensitive"]} if "values" in check else {}
    )
    data = {"metadata": encode_value(check["metadata"])} if "metadata" in check else {}
    return (
        {key: item for key, item in check.items() if not executed or key in _CHECK_KEYS}
        | case
        | data
    )


def _find_misfit(value: Mapping[str, Any], places: list[int]) -> tuple[Pointer, str] | None:
    """Return the pointer and message of a shape error, for which the program may grade differently; else None."""
    # The rubric is written and validated like any other, which keeps the rules of shape in one
    # place.
    text = write_yaml({"id": "rubric", "version": VERSION, **encode_value(value)})
    findings = validate([make_text_source(text.encode())], load=None, today=date.min).findings
    problem = next((finding for finding in findings if finding.rule.startswith(_SHAPE)), None)
    if problem is None:
        return None
    key, *steps = problem.pointer.split("/")[1:]
    at: Pointer = (
        (key, places[int(steps[0])], *steps[1:2])
        if key == "checks" and steps
        else (key, *steps[:1])
    )
    return at, f"{problem.message}: nothing says how the program grades that"


def _build_scoring(
    scoring: Mapping[str, Any], ids: list[str], names: list[str], *, executed: bool
) -> dict[str, Any]:
    weights = scoring.get("weights")
    pairs = zip(ids, names, strict=True)
    own_weights = (
        {id_: weights[name] for id_, name in pairs if name in weights}
        if isinstance(weights, dict)
        else None
    )
    settings = {key: item for key, item in scoring.items() if not executed or key in _SCORING_KEYS}
    return settings | ({"weights": own_weights} if own_weights is not None else {})


def _has_no_weight(scoring: Mapping[str, Any], checks: list[dict[str, Any]]) -> bool:
    weights = scoring.get("weights")
    if scoring["combine"] != "weighted_avg" or not isinstance(weights, dict):
        return False
    return all(weights.get(check["id"], 1) == 0 for check in checks)


def _list_unread_keys(run: list[Any], root: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on keys of executed checks and of their scoring that the program does not read."""
    scoring, ids = root["scoring"], [check["id"] for check in root["checks"]]
    yield from describe_unknown_keys(
        (key for key in scoring.get("weights") or () if key not in ids), ids
    )
    keys = dict.fromkeys(key for check in run for key in check if key not in _CHECK_KEYS)
    yield from describe_unknown_keys(keys, _CHECK_KEYS)
    yield from describe_unknown_keys(
        (key for key in scoring if key not in _SCORING_KEYS), _SCORING_KEYS
    )


def _read_target(root: Mapping[str, Any], legacy: LegacySource, table: FormatTable) -> Extraction:
    names = _list_graders(root["graders"])
    odd_graders = _find_odd_graders(root["graders"])
    if not names:
        problem = _NO_GRADERS.format(describe_type(root["graders"]) if root["graders"] else "empty")
        return refuse_source("target", ("graders",), problem)
    alpha = legacy.dialect == _ALPHA
    judges = {judge["id"]: _build_judge(judge, alpha=alpha) for judge in table.judges}
    rows = {name: table.form["graders"].get(name) for name in names}
    notes = [
        MigrationNote(names[name], MigrationOutcome.UNMAPPED, _explain_unmapped(name, row))
        for name, row in rows.items()
        if not row or "unmapped" in row
    ]
    notes += [note for note, _ in odd_graders]
    mapped = {name: row for name, row in rows.items() if row and "unmapped" not in row}
    if not mapped:
        refused = refuse_source("target", ("graders",), "no grader of the target can be said")
        return replace(refused, notes=(*notes, *refused.notes))
    judges_used = {row["judge"]: judges[row["judge"]] for row in mapped.values() if "judge" in row}
    reasons = [f"{name}: {row['lossy']}" for name, row in mapped.items() if "lossy" in row]
    reasons += [_APART] if notes else []
    reasons += [_OWN_THRESHOLD] if "question_pass_threshold" in root else []
    leftovers: list[dict[str, Any]] = [
        {"grader": name, "reason": _explain_unmapped(name, row)}
        for name, row in rows.items()
        if name not in mapped
    ]
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
    """Return the names of active graders with their pointers, from a list or a mapping of names to switches."""
    if isinstance(value, list):
        return {
            item: ("graders", index) for index, item in enumerate(value) if isinstance(item, str)
        }
    if isinstance(value, dict):
        return {str(key): ("graders", key) for key, item in value.items() if item and item != "0"}
    return {}


def _find_odd_graders(value: Any) -> list[tuple[MigrationNote, Any]]:
    """Return notes on items of the graders that are not names, are repeated, or bring settings."""
    items = list(enumerate(value)) if isinstance(value, list) else []
    settings = value.items() if isinstance(value, dict) else ()
    problems = [
        (key, item, _NO_NAME.format(describe_type(item)))
        for key, item in items
        if not isinstance(item, str)
    ]
    names = [(key, item) for key, item in items if isinstance(item, str)]
    problems += [
        (key, name, _AGAIN.format(make_excerpt(name))) for key, name in names if name in value[:key]
    ]
    own = [(key, item) for key, item in settings if item and isinstance(item, dict | list)]
    problems += [(key, item, _OWN.format(make_excerpt(str(key)))) for key, item in own]
    return [
        (MigrationNote(("graders", key), MigrationOutcome.UNMAPPED, reason), item)
        for key, item, reason in problems
    ]


def _explain_unmapped(name: str, row: Mapping[str, Any] | None) -> str:
    return f"{make_excerpt(name)}: {row['unmapped'] if row else 'it is not a grader of the module'}"


def _build_grader_check(
    name: str, row: Mapping[str, Any], judges: Mapping[str, ArtifactDraft]
) -> dict[str, Any]:
    judge = {"judge_prompt_ref": judges[row["judge"]].ref} if "judge" in row else {}
    return {"id": name, "kind": row["kind"], **judge, **row.get("with", {})}


def _build_judge(value: Mapping[str, Any], *, alpha: bool) -> ArtifactDraft:
    """Return a judge of the table; the alpha releases asked for grades from 1 instead of 0."""
    judge = make_judge_draft(value)
    if not alpha or value.get("scale") is None or judge.id == "ai_eval_accuracy":
        return judge
    # The alpha judges differ from the later ones in the start of their scale alone.
    template = value["template"].replace("from 0 (", "from 1 (")
    content = judge.value | {"template": template, "scale": {"min": 1, "max": 5}}
    return replace(judge, id=f"{judge.id}_alpha", value=content)


_READERS: Mapping[str, Callable[[Mapping[str, Any], LegacySource, FormatTable], Extraction]] = {
    "questions": _read_dataset,
    "checks": _read_rubric,
    "graders": _read_target,
}
