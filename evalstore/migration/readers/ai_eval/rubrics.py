"""Reads a rubric of ai_eval: checks with their own executor are graded, others set aside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalstore.checks.kinds import KINDS
from evalstore.documents import Pointer
from evalstore.migration.artifact_names import UniqueLabels, make_id, make_slug
from evalstore.migration.case_reading import refuse_source
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, MigrationNote
from evalstore.migration.outcome import MigrationOutcome, classify_losses
from evalstore.migration.readers.ai_eval.shapes import find_shape_error, read_names, read_version
from evalstore.migration.remainder import encode_value
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import describe_unknown_keys
from evalstore.model import Kind, is_id
from evalstore.text import make_excerpt

_TARGET = "target_match"
_CHECK_KEYS = ("id", "kind", "values", "case_sensitive", "metadata")
_TARGET_KEYS = ("source", "mode", "threshold")
_SCORING_KEYS = ("combine", "weights", "threshold")
_NOT_RUN = (
    "the program has no executor for {}: it leaves the check out of the score, and so is it here"
)
_ELSEWHERE = "{} is run by ai_eval alone, and never here: what it adds to the score is lost"
_BROUGHT = (
    "{} is not a kind of ai_eval itself but of a module that brings its executor, which is not run "
    "here: what it adds to the score is lost"
)
_NO_MODE = "target_match by {}: no check here compares so, and what it adds to the score is lost"
_NO_SOURCE = (
    "target_match with {}: a check here reads expected alone, and what it adds to the score is lost"
)
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
_UNKNOWN_GRADING = "{}: nothing says how the program grades that"


class _SetAside(NamedTuple):
    """Why a check is not graded here.

    `is_loss` says whether that loses a part of the program's score.
    """

    reason: str
    is_loss: bool


def read_rubric(root: Mapping[str, Any], table: FormatTable) -> Extraction:
    """Return the rubric under its own id and version."""
    version = read_version(root)
    if problem := _find_problem(root, version):
        return refuse_source("rubric", *problem)
    checks = list(root["checks"])
    fates = [_find_set_aside(check, table.form) for check in checks]
    executed = [index for index, fate in enumerate(fates) if fate is None]
    # If the program runs none, those of a kind known here are graded all the same.
    graded = executed or [index for index, check in enumerate(checks) if check["kind"] in KINDS]
    if not graded:
        return refuse_source("rubric", ("checks",), "no check of it can be graded here")
    aside = {index: fate for index, fate in enumerate(fates) if fate and index not in graded}
    value, ids = _build_rubric(root, graded, [checks[index] for index in aside], table, executed)
    if error := find_shape_error(Kind.RUBRIC, value):
        return refuse_source("rubric", *_locate_error(error, graded))
    names = [checks[index]["id"] for index in graded]
    run = [checks[index] for index in executed]
    reasons = (
        *([] if executed else [_NONE_RUN]),
        *dict.fromkeys(fate.reason for fate in aside.values() if fate.is_loss),
        *_list_assumptions(run, table.form),
        *([_NO_WEIGHT] if _has_no_weight(value["scoring"], value["checks"]) else []),
        *([_TWINS] if len(set(names)) < len(names) else []),
    )
    remarks = (*(_list_unread_keys(run, root) if executed else ()), *_note_new_ids(ids, names))
    notes: list[MigrationNote] = []
    for index, fate in aside.items():
        place = ("checks", index)
        notes.append(MigrationNote(place, MigrationOutcome.UNMAPPED, fate.reason))
    draft = ArtifactDraft(Kind.RUBRIC, "rubric", value, version=version or "", name=root["id"])
    outcome = classify_losses(reasons)
    case = LegacyCase((), root, outcome, reasons, rubric=draft, notes=tuple(notes), remarks=remarks)
    return Extraction("rubric", cases=(case,))


def _note_new_ids(ids: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    for id_, name in zip(ids, names, strict=True):
        if id_ != name:
            yield f"the check {make_excerpt(name)!r} is {id_} here"


def _find_problem(root: Mapping[str, Any], version: str | None) -> tuple[Pointer, str] | None:
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


def _find_set_aside(check: Mapping[str, Any], form: Mapping[str, Any]) -> _SetAside | None:
    """Return why a check is set aside.

    Returns None for one that the program runs and a kind here can express.
    """
    kind = check["kind"]
    if kind in form["elsewhere"]:
        return _SetAside(_ELSEWHERE.format(kind), is_loss=True)
    if kind not in KINDS:
        return _SetAside(_BROUGHT.format(make_excerpt(kind)), is_loss=True)
    if kind not in form["executors"]:
        return _SetAside(_NOT_RUN.format(kind), is_loss=False)
    if kind != _TARGET:
        return None
    targets, mode, source = form["target_match"], check.get("mode"), check.get("source")
    if mode is not None and mode not in targets["modes"]:
        return _SetAside(_NO_MODE.format(make_excerpt(str(mode))), is_loss=True)
    if source is not None and source not in targets["sources"]:
        return _SetAside(_NO_SOURCE.format(make_excerpt(str(source))), is_loss=True)
    return None


def _list_assumptions(run: Sequence[Mapping[str, Any]], form: Mapping[str, Any]) -> Iterator[str]:
    """Yield what nothing public says about how the program compares with a target."""
    modes = dict.fromkeys(str(check.get("mode")) for check in run if check["kind"] == _TARGET)
    assumed = form["target_match"]["assumed"]
    yield from (assumed[mode] for mode in modes if mode in assumed)


def _build_rubric(
    root: Mapping[str, Any],
    graded: Sequence[int],
    aside: Sequence[Any],
    table: FormatTable,
    executed: Sequence[int],
) -> tuple[dict[str, Any], list[str]]:
    """Return the rubric of the graded checks, and their ids; an id that is valid and free stays."""
    checks = [root["checks"][index] for index in graded]
    names, labels = [check["id"] for check in checks], UniqueLabels()
    good_names = (name if is_id(name) else make_id(make_slug(name) or "check") for name in names)
    ids = [labels.claim(name) for name in good_names]
    runs = bool(executed)
    modes = table.form["target_match"]["modes"] if executed else {}
    converted = [_convert_check(check, modes, executed=runs) for check in checks]
    value = {
        **read_names(root),
        "checks": [{**check, "id": id_} for id_, check in zip(ids, converted, strict=True)],
        "scoring": _build_scoring(root["scoring"], ids, names, executed=runs),
        **({"x_unmapped": list(aside)} if aside else {}),
    }
    return value, ids


def _convert_check(
    check: Mapping[str, Any], modes: Mapping[str, Any], *, executed: bool
) -> dict[str, Any]:
    """Return a check.

    An `executed` one keeps only the keys that the program reads: others mean more here.
    """
    case: dict[str, Any] = {}
    if "values" in check:
        # The program ignores case unless the check says otherwise; evalstore's checks always say
        # it.
        folds = check.get("case_sensitive") is None
        case = {"case_sensitive": False if folds else check["case_sensitive"]}
    data = {"metadata": encode_value(check["metadata"])} if "metadata" in check else {}
    kept = {key: item for key, item in check.items() if not executed or key in _CHECK_KEYS}
    if executed and check["kind"] == _TARGET:
        kept |= modes.get(str(check.get("mode")), {})
    return kept | case | data


def _locate_error(error: tuple[list[str], str], graded: Sequence[int]) -> tuple[Pointer, str]:
    """Return the pointer in the source of an error of shape, and what to say about it.

    The program may grade differently there.
    """
    (key, *steps), message = error
    at: Pointer = (key, *steps[:1])
    if key == "checks" and steps:
        at = (key, graded[int(steps[0])], *steps[1:2])
    return at, _UNKNOWN_GRADING.format(message)


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


def _list_read_keys(kind: str) -> tuple[str, ...]:
    return (*_CHECK_KEYS, *_TARGET_KEYS) if kind == _TARGET else _CHECK_KEYS


def _list_unread_keys(run: list[Any], root: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on keys that the program does not read.

    They are keys of executed checks and of their scoring.
    """
    scoring, ids = root["scoring"], [check["id"] for check in root["checks"]]
    yield from describe_unknown_keys(
        (key for key in scoring.get("weights") or () if key not in ids), ids
    )
    unread = (key for check in run for key in check if key not in _list_read_keys(check["kind"]))
    yield from describe_unknown_keys(dict.fromkeys(unread), _CHECK_KEYS)
    yield from describe_unknown_keys(
        (key for key in scoring if key not in _SCORING_KEYS), _SCORING_KEYS
    )
