"""Reads a file of openai/evals' registry: samples become questions, graded as by their class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evalstore.documents import Document, Pointer
from evalstore.errors import LoadError
from evalstore.migration.artifact_names import UniqueLabels
from evalstore.migration.case_reading import draft_rubric, refuse_source
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    MigrationNote,
)
from evalstore.migration.outcome import MigrationOutcome, classify_losses
from evalstore.migration.prompts.template_braces import BRACES
from evalstore.migration.readers.openai_evals.classes import CLASSES, build_checks
from evalstore.migration.readers.openai_evals.classify import CLASSIFY, draft_judge
from evalstore.migration.remainder import encode_value, is_same_data
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import describe_type, read_messages, render_input
from evalstore.model import Kind
from evalstore.text import make_excerpt

_OWN_CLASS = "{} is code of its own, which is never run"
_CHOICES = "evals.elsuite.multiple_choice:MultipleChoice"
_HUB = "its questions are at {}, and no file here has them"
_NO_SAMPLES = (
    "its samples {} are not within what was named, or cannot be read: name the folder of the "
    "registry, after `git lfs pull`"
)
_NO_SPEC = "{} is not there, or has no specification {}"


class _Eval(NamedTuple):
    """An eval of the file: its name, class, arguments and samples.

    The name is `base.split.version`.
    """

    name: str
    class_: str
    args: Mapping[str, Any]
    samples: Document


def read_registry(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the questions of all evals of a file whose class is known and whose samples exist."""
    root = legacy.document.value
    notes: list[MigrationNote] = []
    evals = list(_sort_out_evals(legacy, table, notes))
    if not evals:
        reason = notes[0].reason if notes else "no entry of it names a class"
        return refuse_source("registry", (), reason)
    labels, cases = UniqueLabels(), list[LegacyCase]()
    judges: dict[str, ArtifactDraft] = {}
    for eval_ in evals:
        judge = None
        if eval_.class_ == CLASSIFY:
            judge = _draft_judge_or_note(eval_, legacy, table, notes)
            if judge is None:
                continue
            judges[judge.id] = judge
        rows = eval_.samples.value if isinstance(eval_.samples.value, list) else []
        for index, row in enumerate(rows):
            name = f"{eval_.name.rpartition('.')[0]}.{index}"
            label = labels.claim(name)
            cases.append(_read_sample(row, (index,), label, eval_, judge))
    base = evals[0].name.split(".")[0]
    entry = root.get(base)
    text = entry.get("description") if isinstance(entry, dict) else None
    value = {"title": base, **({"description": text} if isinstance(text, str) else {})}
    head = ArtifactDraft(Kind.DATASET, "suite", value, name=base)
    return Extraction("registry", head, tuple(cases), tuple(judges.values()), tuple(notes))


def _sort_out_evals(
    legacy: LegacySource, table: FormatTable, notes: list[MigrationNote]
) -> Iterator[_Eval]:
    """Yield the evals that can be read, and note why each other one cannot."""
    for name, entry in legacy.document.value.items():
        if not isinstance(entry, dict) or not isinstance(entry.get("class"), str):
            continue
        args = entry["args"] if isinstance(entry.get("args"), dict) else {}
        class_, path = entry["class"], args.get("samples_jsonl")
        if class_ == _CHOICES:
            problem = _HUB.format(make_excerpt(str(args.get("dataset", "another place"))))
        elif class_ not in {*CLASSES, CLASSIFY}:
            problem = _OWN_CLASS.format(make_excerpt(class_))
        else:
            found = f"{table.form['data']}/{path}" if isinstance(path, str) else ""
            samples = legacy.read_companion(found) if found else None
            if samples is not None:
                yield _Eval(str(name), class_, args, samples)
                continue
            problem = _NO_SAMPLES.format(make_excerpt(str(path)))
        notes.append(MigrationNote((name,), MigrationOutcome.UNMAPPED, problem))


def _draft_judge_or_note(
    eval_: _Eval, legacy: LegacySource, table: FormatTable, notes: list[MigrationNote]
) -> ArtifactDraft | None:
    """Return the judge of an eval that asks one; note why there is none."""
    name = str(eval_.args.get("modelgraded_spec", ""))
    path = f"{table.form['specs']}/{name.rpartition('/')[2]}.yaml"
    document = legacy.read_companion(path) if name else None
    specs = document.value if document and isinstance(document.value, dict) else {}
    spec, problem = specs.get(name), _NO_SPEC.format(path, make_excerpt(name))
    if isinstance(spec, dict):
        try:
            return draft_judge(name, spec, eval_.args, table.form["endings"])
        except LoadError as error:
            problem = error.message
    notes.append(MigrationNote((eval_.name,), MigrationOutcome.UNMAPPED, problem))
    return None


def _read_sample(
    row: Any, pointer: Pointer, label: str, eval_: _Eval, judge: ArtifactDraft | None
) -> LegacyCase:
    try:
        question = _build_question(row, label)
        if judge is None:
            asked = build_checks(eval_.class_, eval_.args, row)
            checks, losses, remarks = asked.checks, asked.losses, asked.remarks
        else:
            checks, losses, remarks = (_build_judge_check(judge, eval_.args, row),), (), ()
    except LoadError as problem:
        outcome = MigrationOutcome.REFUSED
        return LegacyCase(pointer, row, outcome, (problem.message,), document=eval_.samples)
    # With scored choices, the rubric's only check gives the score.
    combine = "all_pass" if judge is None else "min"
    if checks[1:]:
        combine = "any_pass"
    name = "_".join(str(check["id"]) for check in checks)
    rubric = draft_rubric({"checks": list(checks), "scoring": {"combine": combine}}, name)
    return LegacyCase(
        pointer,
        row,
        classify_losses(losses),
        losses,
        question,
        rubric,
        document=eval_.samples,
        remarks=remarks,
    )


def _build_question(row: Any, label: str) -> dict[str, Any]:
    """Return the question; fields that only a judge's prompt reads are in its check."""
    if not isinstance(row, dict):
        raise LoadError(f"the sample is {describe_type(row)} where an object belongs")
    if "input" not in row:
        raise LoadError("it has no input: the program stops there")
    messages = read_messages(row["input"])
    rest = {key: item for key, item in row.items() if key not in {"input", "ideal"}}
    rest = {key: item for key, item in rest.items() if is_same_data(encode_value(item), item)}
    return {
        "id": label,
        "input": render_input(row["input"]) or " ",
        **({"messages": messages} if messages else {}),
        **({"expected": row["ideal"]} if "ideal" in row else {}),
        **({"metadata": rest} if rest else {}),
    }


def _build_judge_check(
    judge: ArtifactDraft, args: Mapping[str, Any], row: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the check that asks the judge.

    The eval's arguments fill variables before the sample does.
    """
    own = args.get("modelgraded_spec_args")
    known = {**row, **(own if isinstance(own, dict) else {}), **BRACES}
    names = judge.value.get("variables", ())
    if missing := [name for name in names if name not in known]:
        raise LoadError(f"nothing fills {{{missing[0]}}} in the prompt: the program stops there")
    variables = {name: str(known[name]) for name in names}
    given = {"variables": variables} if variables else {}
    return {"id": "classify", "kind": "llm_judge", "judge_prompt_ref": judge.ref, **given}
