"""The plan of a run in parts: what is graded, by which rulers and engines, fixed once; and its file, in and out.

Its form is schema/score_plan.schema.json. A plan comes from another place or hand, so it is read as a stranger's file:
it names files below one folder only, and nothing in it runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from evalstore.documents import compute_digest
from evalstore.errors import LoadError, Place, RefusedError
from evalstore.files import read_user_file
from evalstore.model import Kind
from evalstore.runs import EEE_VERSIONS, OutputSpan, Run, UsedArtifact, get_row_format
from evalstore.runs.record_fields import explain_shape_errors, read_count, require_text
from evalstore.runs.spans import BYTE_RANGE, WHOLE_FILE
from evalstore.scoring.part_result import parse_pin
from evalstore.scoring.run_record import JudgeRecord

FORM = 1
PLAN_LIMIT = 1 << 30  # bytes: some millions of prompts
UNITS = (BYTE_RANGE, WHOLE_FILE)  # what a span can be of; a format that is cut otherwise adds its own


@dataclass(frozen=True, slots=True)
class PlannedRuler:
    """What a reference means for the whole run: `ref` as the dataset writes it, and the pin that it has."""

    ref: str
    kind: Kind
    floating: bool
    pin: UsedArtifact


@dataclass(frozen=True, slots=True)
class PlannedReply:
    """The reply to one prompt, by its digest; without one it is unanswered, because of a `problem` if one is named."""

    digest: str | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PlannedJudges:
    """Every prompt of a run, by the key of its call, and what the run records of its judges."""

    record: JudgeRecord
    replies: Mapping[str, PlannedReply]


@dataclass(frozen=True)
class ScorePlan:
    """A run that is graded in parts, `spans` of the file `outputs` (a path below the root), and all that decides it.

    `run` is the run without its sums; `question_digest` is over the questions of a dataset that no commit holds.
    """

    run: Run
    outputs: str
    only: Mapping[str, str]
    any_model: bool
    rubric: str | None
    rulers: tuple[PlannedRuler, ...]
    engines: Mapping[str, str]
    spans: tuple[OutputSpan, ...]
    size: int
    judges: PlannedJudges | None = None
    question_digest: str | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the whole plan, by which a part says what it is a part of."""
        return compute_digest(format_plan(self))


@dataclass(frozen=True, slots=True)
class WrittenPlan:
    """A plan in its file."""

    path: Path
    plan: ScorePlan
    notes: tuple[str, ...] = field(default=())


def format_plan(plan: ScorePlan) -> dict[str, Any]:
    """Return a plan as plain JSON values."""
    run = plan.run
    return {
        "evalstore_plan": FORM,
        "evaluation_id": run.id,
        "at": run.at,
        "model": run.model,
        "eee_version": run.eee_version,
        "rows_format": run.samples.suffix.removeprefix("."),
        "notes": list(run.notes),
        "commit": run.commit,
        "strict": run.harness["strict"] == "true",
        "engines": dict(plan.engines),
        "dataset": run.dataset and asdict(run.dataset),
        "question_digest": plan.question_digest,
        "rubric": plan.rubric,
        "rulers": [
            {"ref": ruler.ref, "kind": ruler.kind, "floating": ruler.floating, "pin": asdict(ruler.pin)}
            for ruler in plan.rulers
        ],
        "outputs": {
            "path": plan.outputs,
            "size": plan.size,
            "sha256": run.outputs_sha256,
            "only": dict(plan.only),
            "any_model": plan.any_model,
        },
        "judges": plan.judges and _format_judges(plan.judges),
        "parts": [span._asdict() for span in plan.spans],
    }


def read_plan(path: Path) -> ScorePlan:
    """Read the file of a plan; raises `LoadError` for anything else, and for a path that leaves the root."""
    place = Place(str(path))
    value = read_json_file(path, PLAN_LIMIT)
    with explain_shape_errors(place, "is no plan of evalstore"):
        if value["evalstore_plan"] != FORM:
            raise RefusedError("was written by another version of evalstore", place=place, hint="plan again")
        return _parse_plan(value)


def read_json_file(path: Path, limit: int) -> Any:
    """Read a JSON file that another process of evalstore wrote, with exact numbers; `LoadError` for anything else."""
    data = read_user_file(path, limit)
    try:
        return json.loads(data, parse_float=Decimal)
    except (RecursionError, UnicodeError, ValueError, ArithmeticError):
        raise LoadError("is no JSON of evalstore", place=Place(str(path))) from None


def _format_judges(judges: PlannedJudges) -> dict[str, Any]:
    record = judges.record
    return {
        "model": dict(record.model),
        "kept": record.reuse_count,
        "asked": record.new_count,
        "notes": list(record.notes),
        "complete": record.is_complete,
        "prompts": [
            {"key": key, "reply": reply.digest, **({"problem": reply.problem} if reply.problem else {})}
            for key, reply in judges.replies.items()
        ],
    }


def _parse_plan(value: Mapping[str, Any]) -> ScorePlan:
    outputs, engines, dataset = value["outputs"], value["engines"], parse_pin(value["dataset"])
    spans = tuple(_parse_span(part) for part in value["parts"])
    _check_spans(spans, size := read_count(outputs["size"]))
    if value["eee_version"] not in EEE_VERSIONS:
        raise ValueError("its version of Every Eval Ever is unknown")
    run = Run(
        path=Path(),
        samples=Path(f"samples{get_row_format(require_text(value, 'rows_format')).suffix}"),
        id=require_text(value, "evaluation_id"),
        name=dataset.ref.partition("@")[0].removeprefix("dataset/"),
        at=require_text(value, "at"),
        model=require_text(value, "model"),
        dataset=dataset,
        rubrics=(),
        outputs_sha256=require_text(outputs, "sha256"),
        score=None,
        pass_rate=None,
        scored=0,
        unscored=0,
        checks={},
        harness={
            "evalstore": require_text(engines, "evalstore"),
            "python": require_text(engines, "python"),
            "strict": "true" if value["strict"] is True else "false",
        },
        commit=None if value["commit"] is None else require_text(value, "commit"),
        notes=_read_texts(value["notes"]),
        eee_version=value["eee_version"],
    )
    return ScorePlan(
        run=run,
        outputs=_check_path(require_text(outputs, "path")),
        only={str(part): require_text(outputs["only"], part) for part in outputs["only"]},
        any_model=outputs["any_model"] is True,
        rubric=None if value["rubric"] is None else require_text(value, "rubric"),
        rulers=tuple(_parse_ruler(ruler) for ruler in value["rulers"]),
        engines={str(name): require_text(engines, name) for name in engines},
        spans=spans,
        size=size,
        judges=None if value["judges"] is None else _parse_judges(value["judges"]),
        question_digest=None if value["question_digest"] is None else require_text(value, "question_digest"),
    )


def _parse_span(part: Mapping[str, Any]) -> OutputSpan:
    unit = require_text(part, "unit")
    if unit not in UNITS:
        raise ValueError("a part is of a unit that this evalstore does not know")
    start, end, first_line = (read_count(part[key]) for key in ("start", "end", "first_line"))
    return OutputSpan(unit, start, end, first_line, require_text(part, "sha256"))


def _check_spans(spans: tuple[OutputSpan, ...], size: int) -> None:
    """Raise `ValueError` unless the spans follow one another from the start of the outputs to their end."""
    # Row groups are counted in their own unit, so that only bytes can be held against the size.
    ends = [0, *(span.end for span in spans)]
    if not spans or any(span.start != end or span.end < end for span, end in zip(spans, ends[:-1], strict=True)):
        raise ValueError("its parts do not follow one another")
    if spans[-1].unit in {BYTE_RANGE, WHOLE_FILE} and ends[-1] != size:
        raise ValueError("its parts are not the whole of its outputs")


def _check_path(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise ValueError("its outputs lie outside of its root")
    return path


def _parse_ruler(value: Mapping[str, Any]) -> PlannedRuler:
    return PlannedRuler(
        require_text(value, "ref"), Kind(value["kind"]), value["floating"] is True, parse_pin(value["pin"])
    )


def _parse_judges(value: Mapping[str, Any]) -> PlannedJudges:
    if not isinstance(value["model"], dict):
        raise TypeError("its judges' model is no mapping")
    record = JudgeRecord(
        value["model"],
        read_count(value["kept"]),
        read_count(value["asked"]),
        _read_texts(value["notes"]),
        value["complete"] is True,
    )
    replies = {
        require_text(prompt, "key"): PlannedReply(
            None if prompt["reply"] is None else require_text(prompt, "reply"),
            require_text(prompt, "problem") if "problem" in prompt else "",
        )
        for prompt in value["prompts"]
    }
    return PlannedJudges(record, replies)


def _read_texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise TypeError("its notes are no texts")
    return tuple(value)
