"""Reads OpenRubricRL: a rubric becomes one judge, asked once for a score over all criteria."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from evalstore.documents import Pointer
from evalstore.migration.artifact_names import make_check_ids
from evalstore.migration.case_reading import refuse_source
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
)
from evalstore.migration.outcome import JudgeFacts, MigrationOutcome, classify_losses
from evalstore.migration.prompts.prompt_frame import PromptFrame
from evalstore.migration.prompts.template_braces import escape_braces, find_template_variables
from evalstore.migration.readers.openrubricrl.program_prompt import render_program_prompt
from evalstore.migration.table import FormatTable, FrameRow
from evalstore.migration.value_readings import describe_type, is_number
from evalstore.model import Kind
from evalstore.text import make_excerpt
from evalstore.versions import find_version

_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_TOLERANCE = Decimal("0.000001")
_WHOLE = "whole"
_PART = frozenset({"name", "description"})
_EXAMPLE = frozenset({"input", "output", "score", "explanation"})
_EXPLODED = (
    "one call a criterion, averaged here: the program asks once and takes the average that the "
    "model gives"
)
_METRICS = frozenset({"bleu", "rouge", "accuracy", "perplexity", "custom"})
_LOWEST = (
    "a reply without a score counted as 0, which is not the lowest grade; here it counts as the "
    "lowest grade"
)
_BAR = "the program gives a grade and no verdict: here a grade passes from 0.7 of the scale on"
_READING = (
    "a reply that is not JSON from its first brace to its last, or grades a criterion with no "
    "number, counts 0 to the program, and a grade off the scale as it is; here what can be read of "
    "it counts, and nothing off the scale"
)
_ALONE = "the program cannot measure it and leaves it out: the score is the judge's alone"
_ODD_METRIC = (
    "a metric has no name, no weight from 0 to 1 or no type that the program knows: it does not "
    "load it"
)
_UNMEASURED = "no check kind measures it"
_DISCRETE = (
    "its scale is discrete: a grade that is not a whole number does not count; the program takes "
    "any"
)
_ANY_GRADE = "its scale is discrete: the program takes any grade all the same, and so it is here"
_NO_WORD = "{} is {!r}, and the program loads only {}: it is kept as data"
_OFF_SCALE = (
    "the score {} is not between {} and {}, the ends of the scale: the program checks no example, "
    "nor does it here"
)
_NOT_WHOLE = (
    "the score {} is not a whole number, as a discrete scale asks: the program checks no example, "
    "nor does it here"
)
_BLENDED = (
    "the program blends other measures into the score where it trains with it; they are set aside"
)


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return a judge and the rubric that asks it.

    If the program would not load the file, return a note on why.
    """
    root: Any = legacy.document.value
    dialect = legacy.dialect or _WHOLE
    if problem := next(_find_problems(root, table.form), None):
        return refuse_source(dialect, *problem)
    # The program cannot measure custom metrics either, so only the others change its score.
    metrics = root.get("hybrid_metrics") or []
    blends = not all(metric["type"] == "custom" for metric in metrics)
    if dialect != _WHOLE:
        judge, rubric = _build_per_criterion(root, table.form)
    elif table.frame and legacy.prompts.frame:
        judge, rubric = _build_as_program(root, table.form, table.frame, legacy.prompts.frame)
    else:
        judge, rubric = _build_whole(root, table.form)
    is_discrete = bool(_list_grades(root, table.form))
    is_own = dialect == _WHOLE and legacy.prompts.frame is not None
    reasons = [
        *([] if dialect == _WHOLE else [_EXPLODED]),
        *([_READING] if is_own else []),
        *([_LOWEST] if root["scale"]["min"] != 0 else []),
        *([_BLENDED] if blends else []),
        *([_DISCRETE] if is_discrete and not is_own else []),
    ]
    rubric = replace(rubric, value=rubric.value | ({"x_unmapped": metrics} if blends else {}))
    notes = tuple(_note_metrics(metrics, _UNMEASURED if blends else _ALONE))
    case = LegacyCase(
        (),
        root,
        classify_losses(reasons),
        tuple(reasons),
        rubric=rubric,
        notes=notes,
        remarks=(_BAR, *([_ANY_GRADE] if is_discrete and is_own else [])),
    )
    odd_values = tuple(_find_odd_values(root, table.form))
    return Extraction(dialect, cases=(case,), drafts=(judge,), notes=odd_values)


def _note_metrics(metrics: Sequence[Mapping[str, Any]], why: str) -> Iterator[MigrationNote]:
    for index, metric in enumerate(metrics):
        reason = f"the metric {make_excerpt(metric['name'])}: {why}"
        yield MigrationNote(("hybrid_metrics", index), MigrationOutcome.UNMAPPED, reason)


def _find_odd_values(root: Mapping[str, Any], form: Mapping[str, Any]) -> Iterator[MigrationNote]:
    """Yield a note on each value outside the format's schema on which no score here depends."""
    domain, scale = root.get("domain"), root["scale"]
    for pointer, value, known in (
        (("domain",), domain, form["domains"]),
        (("scale", "type"), scale.get("type"), form["scale_types"]),
    ):
        if value is not None and value not in known:
            reason = _NO_WORD.format(".".join(pointer), make_excerpt(str(value)), ", ".join(known))
            yield MigrationNote(pointer, MigrationOutcome.LOSSY, reason)
    for index, criterion in enumerate(root["criteria"]):
        examples = criterion.get("examples") or {}
        for level in form["levels"]:
            for place, score in enumerate(
                example["score"] for example in examples.get(level) or ()
            ):
                at = ("criteria", index, "examples", level, place, "score")
                if is_number(score) and (problem := _describe_odd_score(score, scale)):
                    yield MigrationNote(at, MigrationOutcome.MIGRATED, problem)


def _describe_odd_score(score: Any, scale: Mapping[str, Any]) -> str:
    if not scale["min"] <= score <= scale["max"]:
        return _OFF_SCALE.format(score, scale["min"], scale["max"])
    return _NOT_WHOLE.format(score) if scale.get("type") == "discrete" and score % 1 else ""


def _build_whole(
    root: Mapping[str, Any], form: Mapping[str, Any]
) -> tuple[ArtifactDraft, ArtifactDraft]:
    criteria = "\n".join(
        escape_braces(_render_criterion(criterion, form)) for criterion in root["criteria"]
    )
    template = form["judge"].format(
        **_read_scale(root),
        **_choose_words(root, form),
        about=_render_about(root, form),
        criteria=criteria,
    )
    return _build_pair(root, _build_judge(root, template, form))


def _build_as_program(
    root: Mapping[str, Any], form: Mapping[str, Any], row: FrameRow, frame: PromptFrame
) -> tuple[ArtifactDraft, ArtifactDraft]:
    """Return the judge that asks in the program's own words, and the rubric that asks it."""
    judge = _build_judge(root, render_program_prompt(root, frame, form), form)
    more = {**row.judge, "x_source": {"prompt": frame.source}}
    # It asks for an average on a discrete scale, too, and accepts any number.
    value = judge.value | more | {"score_type": "continuous", "scale": _read_scale(root)}
    value.pop("level_names", None)
    return _build_pair(root, replace(judge, value=value, facts=JudgeFacts("")))


def _build_pair(
    root: Mapping[str, Any], judge: ArtifactDraft
) -> tuple[ArtifactDraft, ArtifactDraft]:
    variables = find_template_variables(judge.value["template"])
    filled = {"variables": variables} if variables else {}
    check = {"id": "overall", "kind": "llm_judge", "judge_prompt_ref": judge.ref, **filled}
    value = _build_rubric(root, [check], {})
    return judge, ArtifactDraft(
        Kind.RUBRIC, "rubric", value, version=judge.version, name=root["name"]
    )


def _build_per_criterion(
    root: Mapping[str, Any], form: Mapping[str, Any]
) -> tuple[ArtifactDraft, ArtifactDraft]:
    """Return the judge of single criteria, and the rubric that asks it about each by its name."""
    template = form["one"].format(
        **_read_scale(root),
        **_choose_words(root, form),
        about=_render_about(root, form),
        criteria="{{ criterion }}\n",
    )
    judge = _build_judge(root, template, form, "criterion")
    criteria = root["criteria"]
    places = enumerate(criteria, start=1)
    ids = make_check_ids((item["name"], f"criterion_{number}") for number, item in places)
    variables = find_template_variables(template)
    checks: list[dict[str, Any]] = []
    for id_, criterion in zip(ids, criteria, strict=True):
        check = {
            "id": id_,
            "kind": "llm_judge",
            "description": criterion["name"],
            "judge_prompt_ref": judge.ref,
        }
        text = _render_criterion(criterion, form)
        checks.append(check | {"variables": {"criterion": text, **variables}})
    weights = {id_: criterion["weight"] for id_, criterion in zip(ids, criteria, strict=True)}
    value = _build_rubric(root, checks, {"weights": weights})
    return judge, ArtifactDraft(
        Kind.RUBRIC, "rubric", value, version=judge.version, name=root["name"]
    )


def _list_grades(root: Mapping[str, Any], form: Mapping[str, Any]) -> list[str]:
    """Return the grades of a discrete scale in whole numbers; none for others, or if too many."""
    scale = root["scale"]
    low, high = scale["min"], scale["max"]
    is_whole = scale.get("type") == "discrete" and low % 1 == 0 and high % 1 == 0
    if not is_whole or high - low >= form["most_levels"]:
        return []
    return [str(grade) for grade in range(int(low), int(high) + 1)]


def _choose_words(root: Mapping[str, Any], form: Mapping[str, Any]) -> Mapping[str, str]:
    words: Mapping[str, str] = form["discrete" if _list_grades(root, form) else "continuous"]
    return words


def _build_judge(
    root: Mapping[str, Any], template: str, form: Mapping[str, Any], *names: str
) -> ArtifactDraft:
    variables, grades = [*names, *find_template_variables(template)], _list_grades(root, form)
    domain = root.get("domain")
    value = {
        "template": template,
        **({"variables": variables} if variables else {}),
        **(
            {"score_type": "levels", "level_names": grades}
            if grades
            else {"score_type": "continuous", "scale": _read_scale(root)}
        ),
        **({"applicable_to": [domain]} if isinstance(domain, str) and domain else {}),
    }
    return ArtifactDraft(Kind.JUDGE, "judge", value, version=_normalize_version(root))


def _normalize_version(root: Mapping[str, Any]) -> str:
    """Return the version without leading zeros in its numbers."""
    return ".".join(part.lstrip("0") or "0" for part in root["version"].split("."))


def _build_rubric(
    root: Mapping[str, Any], checks: list[dict[str, Any]], scoring: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "title": root["name"],
        **(
            {"description": root["description"]} if isinstance(root.get("description"), str) else {}
        ),
        "checks": checks,
        # For the program, a reply without a score counts as 0.
        "scoring": {"combine": "weighted_avg", **scoring, "errors": "zero"},
    }


def _read_scale(root: Mapping[str, Any]) -> dict[str, Any]:
    return {end: root["scale"][end] for end in ("min", "max")}


def _render_about(root: Mapping[str, Any], form: Mapping[str, Any]) -> str:
    description = root.get("description")
    return (
        f"{form['about'].format(description=escape_braces(description))}\n"
        if isinstance(description, str)
        else ""
    )


def _render_criterion(criterion: Mapping[str, Any], form: Mapping[str, Any]) -> str:
    lines = [form["criterion"].format_map(criterion)]
    parts = _select_mappings(criterion.get("subcriteria"), _PART)
    lines += [form["part"].format(**part) for part in parts]
    levels = criterion.get("examples")
    levels = levels if isinstance(levels, dict) else {}
    for level in form["levels"]:
        examples = _select_mappings(levels.get(level), _EXAMPLE)[: form["shown"]]
        lines += [form["examples"].format(level=level)] if examples else []
        lines += [form["example"].format_map(example) for example in examples]
    return "".join(lines)


def _select_mappings(value: Any, keys: frozenset[str]) -> list[dict[str, Any]]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict) and keys <= item.keys()]


def _find_problems(
    root: Mapping[str, Any], form: Mapping[str, Any]
) -> Iterator[tuple[Pointer, str]]:
    """Yield the problems, each with its pointer, that keep the program from loading a rubric."""
    # If one of these is missing, nothing further is checked: the other checks read them.
    for key, kind in (("name", str), ("version", str), ("scale", dict), ("criteria", list)):
        if not isinstance(root.get(key), kind):
            problem = f"{key} is {describe_type(root[key])}" if key in root else f"{key} is missing"
            yield ((key,) if key in root else ()), f"{problem}: the program does not load it"
            return
    for key, kind in (("description", str), ("domain", str), ("metadata", dict)):
        if root.get(key) is not None and not isinstance(root[key], kind):
            yield (key,), f"{key} is {describe_type(root[key])}: the program does not load it"
    if not _VERSION.fullmatch(root["version"]):
        problem = (
            f"the version {make_excerpt(root['version'])!r} is not three numbers: the program does "
            "not load it"
        )
        yield ("version",), problem
    elif find_version(_normalize_version(root)) is None:
        yield (
            ("version",),
            f"the version {make_excerpt(root['version'])!r} is too long to be a version here",
        )
    scale = root["scale"]
    if not all(is_number(scale.get(end)) for end in ("min", "max")):
        yield (
            ("scale",),
            "the scale has no min and max that are numbers: the program does not load it",
        )
    elif scale["min"] >= scale["max"]:
        yield ("scale",), "the scale ends where it begins, or before: no grade has a place on it"
    for index, criterion in enumerate(root["criteria"]):
        at = ("criteria", index)
        yield from _check_criterion(criterion, at)
        yield from _check_shown_parts(criterion, at, form)
    yield from _check_metrics(root.get("hybrid_metrics"))
    total = sum(criterion["weight"] for criterion in root["criteria"])
    if abs(total - 1) > _TOLERANCE:
        yield (
            ("criteria",),
            f"the weights add up to {total} where the program wants 1: it does not load the file",
        )


def _check_criterion(criterion: Any, at: Pointer) -> Iterator[tuple[Pointer, str]]:
    texts = isinstance(criterion, dict) and all(
        isinstance(criterion.get(key), str) for key in ("name", "description")
    )
    if not texts:
        yield at, "a criterion has no name and description: the program does not load it"
    elif not _is_share(criterion.get("weight")):
        yield (
            at,
            (
                f"the weight of {make_excerpt(criterion['name'])} is not from 0 to 1: the "
                "program does not load it"
            ),
        )


def _check_shown_parts(
    criterion: Mapping[str, Any], at: Pointer, form: Mapping[str, Any]
) -> Iterator[tuple[Pointer, str]]:
    """Yield problems in the parts that the prompt shows.

    These are subcriteria, and the examples of each level.
    """
    yield from _check_list(criterion.get("subcriteria"), (*at, "subcriteria"), _PART)
    examples = criterion.get("examples")
    if examples is not None and not isinstance(examples, dict):
        kind = describe_type(examples)
        yield (
            (*at, "examples"),
            f"examples is {kind} where an object of levels belongs: the program does not load it",
        )
        return
    for level in form["levels"]:
        yield from _check_list((examples or {}).get(level), (*at, "examples", level), _EXAMPLE)


def _check_list(value: Any, at: Pointer, keys: frozenset[str]) -> Iterator[tuple[Pointer, str]]:
    if value is not None and len(_select_mappings(value, keys)) != (
        len(value) if isinstance(value, list) else -1
    ):
        yield (
            at,
            (
                f"{at[-1]} is not a list of objects with {', '.join(sorted(keys))}: the program "
                "does not load it"
            ),
        )


def _check_metrics(metrics: Any) -> Iterator[tuple[Pointer, str]]:
    if metrics is not None and not isinstance(metrics, list):
        kind = describe_type(metrics)
        yield (
            ("hybrid_metrics",),
            f"hybrid_metrics is {kind} where a list belongs: the program does not load it",
        )
        return
    for index, metric in enumerate(metrics or ()):
        is_known = (
            isinstance(metric, dict)
            and isinstance(metric.get("type"), str)
            and metric["type"] in _METRICS
        )
        if (
            not is_known
            or not _is_share(metric.get("weight"))
            or not isinstance(metric.get("name"), str)
        ):
            yield ("hybrid_metrics", index), _ODD_METRIC


def _is_share(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1
