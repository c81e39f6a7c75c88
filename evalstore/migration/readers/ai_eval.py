"""ai_eval: datasets whose rows name rubrics, rubrics with versions of two parts, and targets that choose graders."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from typing import Any

from evalstore.documents import Pointer, write_yaml
from evalstore.migration.names import UniqueLabels, make_id, make_dataset_id, make_slug
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import (
    VERSION,
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
    judge_draft,
)
from evalstore.migration.words import misfits, named, unread
from evalstore.model import Kind, is_id
from evalstore.text import excerpt
from evalstore.validation import text_source, validate
from evalstore.versions import find_version

_REF = re.compile(r"rubric/(?P<id>[^@]+)@(?P<version>[^@]+)")
_ALPHA = "alpha"
_SHAPE = ("check-kind-", "key-missing", "value-")  # the rules of validation about it
_TWO_PARTS = re.compile(r"[0-9]+\.[0-9]+")
_CHECK_KEYS = ("id", "kind", "values", "case_sensitive", "metadata")
_SCORING_KEYS = ("combine", "weights", "threshold")
_NOT_RUN = "the program has no executor for {}: it leaves the check out of the score, and so is it here"
_UNSAID = "no check kind can say {}: what it adds to the score is lost"
_NONE_RUN = "the program has an executor for none of its checks and scores nothing; here they are graded"
_NO_WEIGHT = "the weights of the checks that the program runs add up to 0, so here the rubric has no score"
_TWINS = "several checks have one id: nothing says whether the program counts each of them, as is done here"
_NO_NAME = "a grader is {} where its name belongs: what it adds to the score is lost"
_AGAIN = "{} is named twice: it grades once here"
_OWN = "{}: its own settings are kept as data, and it grades here with those of the module"
_OWN_THRESHOLD = "question_pass_threshold is kept as data: a question passes here at 3.5 of 5"
_NO_GRADERS = "graders is {} where the names of a target's graders belong"


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return what a dataset, a rubric or a target is, told by its keys."""
    root: Mapping[str, Any] = legacy.document.value
    key = next(key for key in table.lists if key in root)
    return _READ[key](root, legacy, table)


def _dataset(root: Mapping[str, Any], legacy: LegacySource, table: FormatTable) -> Extraction:
    rows = root["questions"]
    if not isinstance(rows, list):
        empty = f"questions is {named(rows)}: the program takes the dataset for an empty one"
        return Extraction("dataset", notes=(MigrationNote(("questions",), MigrationOutcome.REFUSED, empty),))
    head = ArtifactDraft(Kind.DATASET, make_dataset_id(legacy.file, root, table), {}, ("questions",))
    return Extraction("dataset", head, tuple(_rows(rows, table)))


def _rows(rows: list[Any], table: FormatTable) -> Iterator[LegacyCase]:
    names = UniqueLabels({row["id"] for row in rows if not _row_problem(row)})
    known = [key for keys in table.form["known"] for key in keys]
    for index, row in enumerate(rows):
        pointer = ("questions", index)
        if problem := _row_problem(row):
            yield LegacyCase(pointer, row, MigrationOutcome.REFUSED, (problem,))
            continue
        name, twin = names.claim_for_case(row["id"], pointer)
        ref, reasons = _rubric_ref(row.get("rubric_ref"))
        notes = [f"{key}: {why}; kept as data" for key, why in table.form["aside"].items() if row.get(key)]
        notes += unread((key for key in row if key not in known), known)
        outcome = MigrationOutcome.LOSSY if reasons else MigrationOutcome.MIGRATED
        question = _question(row, name, table)
        yield LegacyCase(
            pointer, row, outcome, (*twin, *reasons, *misfits(row, question, table.mirrors), *notes), question | ref
        )


def _row_problem(row: Any) -> str:
    if not isinstance(row, dict):
        return f"the row is {named(row)} where a mapping belongs"
    odd = (key for key in ("id", "input") if not isinstance(row.get(key), str) or not row[key])
    return next((f"{key} is no text, so the row cannot be asked or named" for key in odd), "")


def _question(row: Mapping[str, Any], name: str, table: FormatTable) -> dict[str, Any]:
    """Return the question: the fields as they are where they fit, and the criteria as what a judge reads beside it."""
    fields = ((key, field) for key, field in table.mirrors.items() if field and key in row)
    said = {field: row[key] for key, field in fields if _FITS.get(field, _is_text)(row[key])}
    criteria = {"context": said["criteria"]} if "criteria" in said and "context" not in row else {}
    return said | {"id": name} | criteria


def _rubric_ref(value: Any) -> tuple[dict[str, str], list[str]]:
    if value is None:
        return {}, []
    match = _REF.fullmatch(value) if isinstance(value, str) else None
    version = _version(match["version"]) if match else None
    if match is None or version is None or not is_id(match["id"]):
        return {}, [f"rubric_ref {excerpt(str(value))!r} names no rubric and version: kept as it is"]
    return {"rubric_ref": f"rubric/{match['id']}@{version}"}, []


def _version(text: str) -> str | None:
    """Return a version of three parts; one of two parts has no patch."""
    full = f"{text}.0" if _TWO_PARTS.fullmatch(text) else text
    return full if find_version(full) else None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_facts(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(item) or _has_texts(item, "id", "value") for item in value)


def _is_tools(value: Any) -> bool:
    return isinstance(value, list) and all(
        (isinstance(item, str) and item)
        or (_has_texts(item, "name") and item.keys() <= {"name", "args"} and isinstance(item.get("args", {}), dict))
        for item in value
    )


def _has_texts(item: Any, *keys: str) -> bool:
    return isinstance(item, dict) and all(isinstance(item.get(key), str) and item[key] for key in keys)


def _is_expected(value: Any) -> bool:
    return not isinstance(value, dict) or value.get("format", "text") in ("json", "text")  # a list has no hash


_FITS: Mapping[str, Callable[[Any], object]] = {
    "bundle": lambda value: isinstance(value, str) and is_id(value),
    "expected": _is_expected,
    "also_valid": lambda value: isinstance(value, dict) and all(isinstance(item, list) for item in value.values()),
    "expected_facts": _is_facts,
    "expected_tools": _is_tools,
    "tags": _is_texts,
    "metadata": lambda value: isinstance(value, dict),
}


def _rubric(root: Mapping[str, Any], _: LegacySource, table: FormatTable) -> Extraction:
    version = _version(root["version"]) if isinstance(root.get("version"), str) else None
    if problem := _rubric_problem(root, version):
        return Extraction("rubric", notes=(MigrationNote(problem[0], MigrationOutcome.REFUSED, problem[1]),))
    listed = list(enumerate(root["checks"]))
    run = [(index, check) for index, check in listed if check["kind"] in table.form["executors"]]
    graded = run or listed
    left = [(index, check) for index, check in listed if (index, check) not in graded]
    ids = _ids(check["id"] for _, check in graded)
    checks = [{**_check(check, executed=bool(run)), "id": id_} for id_, (_, check) in zip(ids, graded, strict=True)]
    lost = sorted({check["kind"] for _, check in left}.intersection(table.form["unsaid"]))
    notes = [MigrationNote(("checks", index), MigrationOutcome.UNMAPPED, _why_left(check["kind"], lost)) for index, check in left]
    scoring = _scoring(root["scoring"], ids, [check["id"] for _, check in graded], executed=bool(run))
    value = {
        **{key: root[key] for key in ("description",) if isinstance(root.get(key), str)},
        **({"title": root["label"]} if isinstance(root.get("label"), str) else {}),
        "checks": checks,
        "scoring": scoring,
        **({"x_unmapped": [check for _, check in left]} if left else {}),
    }
    if problem := _misfit(value, [index for index, _ in graded]):
        return Extraction("rubric", notes=(MigrationNote(problem[0], MigrationOutcome.REFUSED, problem[1]),))
    reasons = (
        *([] if run else [_NONE_RUN]),
        *(_UNSAID.format(excerpt(kind)) for kind in lost),
        *([_NO_WEIGHT] if _weightless(scoring, checks) else []),
        *([_TWINS] if len({check["id"] for _, check in graded}) < len(graded) else []),
    )
    rubric = ArtifactDraft(Kind.RUBRIC, _id(root["id"]), value, version=version or "")
    outcome = MigrationOutcome.LOSSY if reasons else MigrationOutcome.MIGRATED
    reasons += tuple(_unread([check for _, check in run], root) if run else ())
    pairs = ((id_, check["id"]) for id_, (_, check) in zip(ids, graded, strict=True))
    reasons += tuple(f"the check {excerpt(name)!r} is {id_} here" for id_, name in pairs if id_ != name)
    return Extraction("rubric", cases=(LegacyCase((), root, outcome, reasons, rubric=rubric, notes=tuple(notes)),))


def _why_left(kind: str, lost: list[str]) -> str:
    return (_UNSAID if kind in lost else _NOT_RUN).format(excerpt(kind))


def _rubric_problem(root: Mapping[str, Any], version: str | None) -> tuple[Pointer, str] | None:
    if not isinstance(root.get("id"), str) or not make_slug(root["id"]):
        return ("id",), "the rubric has no id"
    if version is None:
        return ("version",), "version is no text of two or three numbers: what refers to the rubric cannot find it"
    if not isinstance(root["checks"], list) or not root["checks"]:
        return ("checks",), "checks is no list of checks"
    odd = (index for index, check in enumerate(root["checks"]) if not _has_texts(check, "id", "kind"))
    if (index := next(odd, None)) is not None:
        return ("checks", index), "the check has no id or no kind"
    scoring = root.get("scoring")
    if not isinstance(scoring, dict) or not isinstance(scoring.get("combine"), str):
        return ("scoring",), "scoring says nothing about how checks combine"
    return None


def _check(check: Mapping[str, Any], *, executed: bool) -> dict[str, Any]:
    """Return a check; of one that the program runs only what it reads, as other keys would mean something here."""
    folds = check.get("case_sensitive") is None
    case = {"case_sensitive": False if folds else check["case_sensitive"]} if "values" in check else {}
    return {key: item for key, item in check.items() if not executed or key in _CHECK_KEYS} | case


def _ids(names: Iterable[str]) -> list[str]:
    """Return an id for each check, as it is if it can be one and none before has it."""
    labels = UniqueLabels()
    return [labels.claim(name if is_id(name) else make_id(make_slug(name) or "check")) for name in names]


def _misfit(value: Mapping[str, Any], places: list[int]) -> tuple[Pointer, str] | None:
    """Return what of a rubric does not have the shape of one, and so may be graded otherwise than the program does."""
    text = write_yaml({"id": "rubric", "version": VERSION, **value})
    found = validate([text_source(text.encode())], load=None, today=date.min).findings
    problem = next((one for one in found if one.rule.startswith(_SHAPE)), None)
    if problem is None:
        return None
    key, *steps = problem.pointer.split("/")[1:]
    at: Pointer = (key, places[int(steps[0])], *steps[1:2]) if key == "checks" and steps else (key, *steps[:1])
    return at, f"{problem.message}: nothing says how the program grades that"


def _scoring(scoring: Mapping[str, Any], ids: list[str], names: list[str], *, executed: bool) -> dict[str, Any]:
    weights = scoring.get("weights")
    pairs = zip(ids, names, strict=True)
    kept = {id_: weights[name] for id_, name in pairs if name in weights} if isinstance(weights, dict) else None
    read = {key: item for key, item in scoring.items() if not executed or key in _SCORING_KEYS}
    return read | ({"weights": kept} if kept is not None else {})


def _weightless(scoring: Mapping[str, Any], checks: list[dict[str, Any]]) -> bool:
    weights = scoring.get("weights")
    if scoring["combine"] != "weighted_avg" or not isinstance(weights, dict):
        return False
    return all(weights.get(check["id"], 1) == 0 for check in checks)


def _unread(run: list[Any], root: Mapping[str, Any]) -> Iterator[str]:
    """Say which keys of the checks that the program runs, and of how it combines them, it does not read."""
    scoring, ids = root["scoring"], [check["id"] for check in root["checks"]]
    yield from unread((key for key in scoring.get("weights") or () if key not in ids), ids)
    keys = dict.fromkeys(key for check in run for key in check if key not in _CHECK_KEYS)
    yield from unread(keys, _CHECK_KEYS)
    yield from unread((key for key in scoring if key not in _SCORING_KEYS), _SCORING_KEYS)


def _target(root: Mapping[str, Any], legacy: LegacySource, table: FormatTable) -> Extraction:
    names = _graders(root["graders"])
    odd = _odd(root["graders"])
    if not names:
        problem = _NO_GRADERS.format(named(root["graders"]) if root["graders"] else "empty")
        return Extraction("target", notes=(MigrationNote(("graders",), MigrationOutcome.REFUSED, problem),))
    alpha = legacy.dialect == _ALPHA
    judges = {judge["id"]: _judge(judge, alpha=alpha) for judge in table.judges}
    rows = {name: table.form["graders"].get(name) for name in names}
    said = [
        MigrationNote(names[name], MigrationOutcome.UNMAPPED, _unmapped(name, row))
        for name, row in rows.items()
        if not row or "unmapped" in row
    ]
    said += [note for note, _ in odd]
    graded = {name: row for name, row in rows.items() if row and "unmapped" not in row}
    if not graded:
        return Extraction(
            "target", notes=(*said, MigrationNote(("graders",), MigrationOutcome.REFUSED, "no grader of the target can be said"))
        )
    used = {row["judge"]: judges[row["judge"]] for row in graded.values() if "judge" in row}
    reasons = [f"{name}: {row['lossy']}" for name, row in graded.items() if "lossy" in row]
    reasons += [note.reason for note in said]
    reasons += [_OWN_THRESHOLD] if "question_pass_threshold" in root else []
    left: list[dict[str, Any]] = [
        {"grader": name, "reason": _unmapped(name, row)} for name, row in rows.items() if name not in graded
    ]
    left += [{"grader": item, "reason": note.reason} for note, item in odd]
    value = {
        **({"title": root["label"]} if isinstance(root.get("label"), str) else {}),
        "checks": [_grader(name, row, used) for name, row in graded.items()],
        "scoring": dict(table.scoring) | {"threshold": table.form["threshold"]},
        **({"x_unmapped": left} if left else {}),
    }
    rubric = ArtifactDraft(Kind.RUBRIC, _id(str(root.get("id") or "target")), value)
    outcome = MigrationOutcome.LOSSY if reasons else MigrationOutcome.MIGRATED
    return Extraction(
        _ALPHA if alpha else "target",
        cases=(LegacyCase((), root, outcome, tuple(reasons), rubric=rubric, notes=tuple(said)),),
        drafts=tuple(used.values()),
    )


def _graders(value: Any) -> dict[str, Pointer]:
    """Return the names of graders with their places: a list, or a mapping from names to whether they are on."""
    if isinstance(value, list):
        return {item: ("graders", index) for index, item in enumerate(value) if isinstance(item, str)}
    if isinstance(value, dict):
        return {str(key): ("graders", key) for key, item in value.items() if item and item != "0"}
    return {}


def _odd(value: Any) -> list[tuple[MigrationNote, Any]]:
    """Return what stands among graders and is no name, and the settings that a grader has for itself."""
    listed = list(enumerate(value)) if isinstance(value, list) else []
    kept = value.items() if isinstance(value, dict) else ()
    words = [(key, item, _NO_NAME.format(named(item))) for key, item in listed if not isinstance(item, str)]
    words += [(key, item, _AGAIN.format(excerpt(item))) for key, item in listed if item in value[:key]]
    words += [(key, item, _OWN.format(excerpt(str(key)))) for key, item in kept if item and not _is_switch(item)]
    return [(MigrationNote(("graders", key), MigrationOutcome.UNMAPPED, reason), item) for key, item, reason in words]


def _is_switch(item: Any) -> bool:
    return not isinstance(item, dict | list)


def _unmapped(name: str, row: Mapping[str, Any] | None) -> str:
    return f"{excerpt(name)}: {row['unmapped'] if row else 'it is no grader of the module'}"


def _grader(name: str, row: Mapping[str, Any], judges: Mapping[str, ArtifactDraft]) -> dict[str, Any]:
    judge = {"judge_prompt_ref": judges[row["judge"]].ref} if "judge" in row else {}
    return {"id": name, "kind": row["kind"], **judge, **row.get("with", {})}


def _judge(value: Mapping[str, Any], *, alpha: bool) -> ArtifactDraft:
    """Return a judge of the table; the first releases asked for grades from 1."""
    judge = judge_draft(value)
    if not alpha or value.get("scale") is None or judge.id == "ai_eval_accuracy":
        return judge
    template = value["template"].replace("from 0 (", "from 1 (")
    content = judge.value | {"template": template, "scale": {"min": 1, "max": 5}}
    return replace(judge, id=f"{judge.id}_alpha", value=content)


def _id(name: str) -> str:
    return name if is_id(name) else make_id(make_slug(name) or "target")


_READ: Mapping[str, Callable[[Mapping[str, Any], LegacySource, FormatTable], Extraction]] = {
    "questions": _dataset,
    "checks": _rubric,
    "graders": _target,
}
