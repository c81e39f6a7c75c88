"""Reads responses of the hosted evals' API: testing criteria become checks, items questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from evalstore.documents import Pointer
from evalstore.errors import LoadError
from evalstore.migration.artifact_names import UniqueLabels, make_check_ids, make_id, make_slug
from evalstore.migration.case_reading import APART, refuse_source
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    MigrationNote,
)
from evalstore.migration.outcome import JudgeFacts, MigrationOutcome, classify_losses
from evalstore.migration.prompts.template_braces import escape_literal, find_template_variables
from evalstore.migration.readers.openai_evals.classify import scale_number
from evalstore.migration.remainder import encode_value, is_same_data
from evalstore.migration.table import FormatTable
from evalstore.migration.value_readings import describe_type, is_number, render_input
from evalstore.model import Kind
from evalstore.text import make_excerpt

_PLACE = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")
_OUTPUT, _JSON, _ITEM = "sample.output_text", "sample.output_json", "item."
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_VERSION = "1.0.0"
_UNPROVED = (
    "what the service did is known by its types alone: grade the saved items again, and compare "
    "the verdicts: `evalstore show ITEMS RUN`"
)
_NO_BAR = "a score_model without a pass_threshold: here a grade passes from 0.7 of its range on"
_NO_READING = "it reads {}, which no check here does"
_JOINED = "its messages are one here"
_REPLY = "the reply of the service was bound to a schema of its own"
_SAMPLING = {  # the service's names -> those of a judge's model
    **{key: key for key in ("temperature", "top_p", "seed")},
    "max_completions_tokens": "max_tokens",
}
_EFFORT = "reasoning_effort"
# Keys of an item that would clash with a question's own.
_RESERVED = frozenset(
    {"id", "input", "messages", "rubric_ref", "bundle", "group", "title", "description"}
    | {"metadata", "tags", "owner", "context", "criteria", "expected"}
)


class _Criterion(NamedTuple):
    """The check of one criterion, and its judge if it asks one."""

    check: Mapping[str, Any]
    judge: ArtifactDraft | None = None


def read_criteria(root: Mapping[str, Any], table: FormatTable) -> Extraction:
    """Return the rubric of an eval: an item passes if all its criteria pass."""
    criteria = root["testing_criteria"]
    if not isinstance(criteria, list) or not criteria:
        return refuse_source("hosted", ("testing_criteria",), "it has no testing criteria")
    names = [str(one.get("name", "")) if isinstance(one, dict) else "" for one in criteria]
    ids = make_check_ids(
        (name, f"criterion_{number}") for number, name in enumerate(names, start=1)
    )
    checks, aside, judges, notes = [], [], [], []
    for index, (raw, id_) in enumerate(zip(criteria, ids, strict=True)):
        try:
            criterion = _read_criterion(raw, id_, table)
        except LoadError as problem:
            at = ("testing_criteria", index)
            notes.append(MigrationNote(at, MigrationOutcome.UNMAPPED, problem.message))
            aside.append({"reason": problem.message, "value": encode_value(raw)})
            continue
        checks.append({"id": id_, **criterion.check})
        judges += [criterion.judge] if criterion.judge else []
    if not checks:
        reason = f"none of its criteria can be said here: {notes[0].reason}"
        return refuse_source("hosted", ("testing_criteria",), reason)
    title = root.get("name")
    value = {
        **({"title": title} if isinstance(title, str) and title else {}),
        "checks": checks,
        "scoring": {"combine": "all_pass"},
        **({"x_unmapped": aside} if aside else {}),
    }
    has_bars = all("threshold" in check for check in checks if check["kind"] == "llm_judge")
    reasons = (*([APART] if aside else []), *([] if has_bars else [_NO_BAR]), _UNPROVED)
    rubric = ArtifactDraft(Kind.RUBRIC, "rubric", value, name=_name_eval(root.get("id"), title))
    case = LegacyCase(
        (), root, classify_losses(reasons), reasons, rubric=rubric, notes=tuple(notes)
    )
    return Extraction("hosted", cases=(case,), drafts=tuple(judges))


def _name_eval(id_: Any, name: Any = None) -> str:
    words = (word for word in (id_, name) if isinstance(word, str) and make_slug(word))
    return next(words, "eval")


def _read_criterion(raw: Any, id_: str, table: FormatTable) -> _Criterion:
    kind = str(raw.get("type")) if isinstance(raw, dict) else ""
    if kind in table.form["comments"]:
        raise LoadError(f"{kind}: {table.form['comments'][kind]}")
    read = _READERS.get(kind)
    if read is None:
        raise LoadError(f"no criterion is known whose type is {make_excerpt(kind)!r}")
    return read(raw, id_)


def _read_string_check(raw: Mapping[str, Any], _: str) -> _Criterion:
    """Return an equality or a required phrase; the text may also come from the item."""
    operation = str(raw.get("operation"))
    reading = _read_part(raw.get("input"))
    value = _read_reference(raw.get("reference"))
    if operation in {"eq", "ne", "neq"}:
        negate = {} if operation == "eq" else {"negate": True}
        return _Criterion({"kind": "target_match", "targets": value, **reading, **negate})
    if operation in {"like", "ilike"}:
        case = {"case_sensitive": operation == "like"}
        return _Criterion({"kind": "must_contain_any", "values": value, **case, **reading})
    raise LoadError(f"no operation is known that is called {make_excerpt(operation)!r}")


def _read_part(text: Any) -> dict[str, Any]:
    """Return which part of the output a criterion reads."""
    found = _PLACE.fullmatch(text.strip()) if isinstance(text, str) else None
    place = found[1] if found else ""
    if place == _OUTPUT:
        return {}
    if place.startswith(f"{_JSON}."):
        path = place.removeprefix(_JSON)
        if all(_NAME.fullmatch(step) for step in path.split(".")[1:]):
            return {"on": [{"json_path": f"${path}"}]}
    raise LoadError(_NO_READING.format(make_excerpt(str(text))))


def _read_reference(text: Any) -> Any:
    """Return a literal text as a list, or the item's key that has the text."""
    if not isinstance(text, str):
        raise LoadError(f"its reference is {describe_type(text)} where a text belongs")
    found = _PLACE.fullmatch(text.strip())
    if found:
        return {"from": _read_item_key(found[1])}
    if _PLACE.search(text):
        raise LoadError(_NO_READING.format(make_excerpt(text)))
    return [text]


def _read_item_key(place: str) -> str:
    key = place.removeprefix(_ITEM)
    if not place.startswith(_ITEM) or not _NAME.fullmatch(key):
        raise LoadError(_NO_READING.format(make_excerpt(place)))
    return _rename_key(key)


def _rename_key(key: str) -> str:
    return f"item_{key}" if key in _RESERVED else key


def _read_label_model(raw: Mapping[str, Any], id_: str) -> _Criterion:
    labels, passing = _read_texts(raw.get("labels")), _read_texts(raw.get("passing_labels"))
    if not passing or not set(passing) <= set(labels):
        raise LoadError("its labels and its passing labels are not lists of texts")
    ordered = sorted(dict.fromkeys(labels), key=lambda label: label in passing)
    scores = {label: int(label in passing) for label in ordered}
    answer = {"score_type": "levels", "level_names": ordered, "level_scores": scores}
    if len(ordered) == 1:
        raise LoadError("it has one label, which every output gets")
    return _ask(raw, id_, answer, {"threshold": 1})


def _read_score_model(raw: Mapping[str, Any], id_: str) -> _Criterion:
    span = raw.get("range") or [0, 1]
    is_pair = isinstance(span, list) and len(span) == 2  # noqa: PLR2004  # its ends
    if not is_pair or not all(map(is_number, span)):
        raise LoadError("its range is not two numbers")
    low, high = span
    if low >= high:
        raise LoadError("its range ends where it begins, or before")
    bar = raw.get("pass_threshold")
    share = scale_number(bar, low, high) if is_number(bar) else None
    if share is not None and not 0 <= share <= 1:
        raise LoadError("its threshold is not within its range")
    threshold = {} if share is None else {"threshold": share}
    answer = {"score_type": "continuous", "scale": {"min": low, "max": high}}
    return _ask(raw, id_, answer, threshold)


def _ask(
    raw: Mapping[str, Any], id_: str, answer: Mapping[str, Any], extra: Mapping[str, Any]
) -> _Criterion:
    """Return the check that asks a model with the criterion's own messages."""
    names: dict[str, str] = {}
    system, words = list[str](), list[str]()
    for role, text in _list_messages(raw.get("input")):
        is_system = role in {"system", "developer"} and not _PLACE.search(text)
        (system if is_system else words).append(text if is_system else _render(text, names))
    sampling = raw.get("sampling_params")
    sampling = sampling if isinstance(sampling, dict) else {}
    model: dict[str, Any] = {
        name: sampling[key] for key, name in _SAMPLING.items() if sampling.get(key) is not None
    }
    if sampling.get(_EFFORT) is not None:
        model["extra"] = {_EFFORT: sampling[_EFFORT]}
    # Nothing in the messages says how to answer: the service asked for an object of its schema.
    model["response_format"] = "json"
    if isinstance(raw.get("model"), str):
        model["id"] = raw["model"]
    template = "\n\n".join(words) or "{{ output }}"
    braces = find_template_variables(template)
    value = {
        "title": str(raw.get("name") or id_),
        "template": template,
        **({"variables": [*names, *braces]} if names or braces else {}),
        **answer,
        "model": model | ({"system": "\n\n".join(system)} if system else {}),
    }
    facts = JudgeFacts(_JOINED if words[1:] else "", _REPLY)
    judge = ArtifactDraft(Kind.JUDGE, make_id(f"judge_{id_}"), value, facts=facts, name=id_)
    variables = {name: {"from": key} for name, key in names.items()} | dict(braces)
    given = {"variables": variables} if variables else {}
    return _Criterion({"kind": "llm_judge", "judge_prompt_ref": judge.ref, **given, **extra}, judge)


def _list_messages(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the role and the text of each message; raises `LoadError` for one that is not text."""
    for message in value if isinstance(value, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        parts = content if isinstance(content, list) else [content]
        texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
        if not _read_texts(texts):
            raise LoadError("a message of it is not text")
        yield str(message.get("role", "user")), "\n".join(_read_texts(texts))


def _render(text: str, names: dict[str, str]) -> str:
    """Return a message's template; `names` gets each variable with the question's key for it."""
    parts, end = list[str](), 0
    for found in _PLACE.finditer(text):
        parts.append(escape_literal(text[end : found.start()]))
        end = found.end()
        if found[1] == _OUTPUT:
            parts.append("{{ output }}")
            continue
        key = _read_item_key(found[1])
        names[key] = key
        parts.append(f"{{{{ {key} }}}}")
    return "".join([*parts, escape_literal(text[end:])])


def _read_texts(value: Any) -> list[str]:
    """Return a list of texts; an empty one for anything else."""
    items = value if isinstance(value, list) else []
    return items if all(isinstance(one, str) for one in items) else []


_READERS: Mapping[str, Callable[[Mapping[str, Any], str], _Criterion]] = {
    "string_check": _read_string_check,
    "label_model": _read_label_model,
    "score_model": _read_score_model,
}


def read_items(rows: Any, at: Pointer) -> Extraction:
    """Return the questions of the output items at a place, pinned to their eval's rubric.

    Several runs of the same items share their questions.
    """
    labels, cases = UniqueLabels(), list[LegacyCase]()
    if not isinstance(rows, list):
        return refuse_source("items", at, f"data is {describe_type(rows)}")
    seen: dict[str, list[Any]] = {}
    for index, row in enumerate(rows):
        item = row.get("datasource_item") if isinstance(row, dict) else None
        if not isinstance(item, dict):
            reason = ("it has no datasource_item, so nothing was asked",)
            cases.append(LegacyCase((*at, index), row, MigrationOutcome.REFUSED, reason))
            continue
        id_ = row.get("datasource_item_id")
        known = seen.setdefault(str(id_), [])
        if any(is_same_data(item, other) for other in known):
            reason = ("another run of the same item, whose question is there already",)
            cases.append(LegacyCase((*at, index), row, MigrationOutcome.UNMAPPED, reason))
            continue
        known.append(item)
        label = labels.claim(str(index if id_ is None else id_))
        cases.append(LegacyCase((*at, index), row, question=_build_question(row, item, label)))
    # Several runs of an eval are several files, so each dataset is named after its file.
    head = ArtifactDraft(Kind.DATASET, "suite", {}, at)
    return Extraction("items", head, tuple(cases))


def _build_question(row: Mapping[str, Any], item: Mapping[str, Any], label: str) -> dict[str, Any]:
    sample = row.get("sample")
    asked = sample.get("input") if isinstance(sample, dict) else None
    own = next((item[key] for key in ("input", "question", "prompt") if key in item), None)
    keys = {_rename_key(key): value for key, value in item.items() if _NAME.fullmatch(str(key))}
    keys = {key: value for key, value in keys.items() if is_same_data(encode_value(value), value)}
    ref = make_id(make_slug(_name_eval(row.get("eval_id"))))
    return {
        "id": label,
        "input": render_input(asked or own or item) or " ",
        "rubric_ref": f"rubric/{ref}@{_VERSION}",
        **keys,
    }
