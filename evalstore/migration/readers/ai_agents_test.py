"""Reads AI Agents Test: exported Drupal entities, with lists of one value and YAML within YAML."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from evalstore.documents import Pointer, read_yaml
from evalstore.errors import LoadError
from evalstore.migration.case_reading import (
    CaseRow,
    RowLabel,
    draft_case_rubric,
    read_rows,
    refuse_source,
)
from evalstore.migration.extraction import (
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
from evalstore.migration.value_readings import describe_type, describe_unknown_keys
from evalstore.model import Kind
from evalstore.text import make_excerpt

_ROLES = ("user", "assistant", "system", "tool")  # a tuple: raw values may not be hashable
_PARAMETERS = (
    "{} is checked for its parameters, which no check kind can say: only that it runs is asked here"
)
_UNSAID = "{} must not run with certain parameters, which no check kind can say"
_ORDER = "{} has an order among the tools, which is not read"
_NONE = "no rule: any answer that is not empty passes"
_NOT_ASKED = "the test has no id or no triggering_instructions, so nothing can be asked"
_NO_TALK = "messages are not a conversation: kept as data, and the question is asked without them"
_TURNS = "the earlier turns of the conversation"
_SHARE = (
    "from this share of its tests on a group passes; a dataset has no bar of its own, so it is "
    "kept as data"
)
_NO_TOOL = "{} is not a rule about a tool"
_ODD = "{} is neither wanted nor forbidden"


@dataclass(slots=True)
class _Rules:
    """The rules of a test: demands on tools, and an instruction for a judge.

    `leftovers` are what no check can express.
    """

    tools: dict[str, None] = field(default_factory=dict)
    forbidden: set[str] = field(default_factory=set)
    instruction: str = ""
    leftovers: list[dict[str, Any]] = field(default_factory=list)


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the tests of a group as questions, and their rules as checks of tool calls."""
    root: Mapping[str, Any] = legacy.document.value
    if not isinstance(root["tests"], list):
        problem = f"tests is {describe_type(root['tests'])} where the list of tests belongs"
        return refuse_source("group", ("tests",), problem)
    head = {"title": root["label"]} if isinstance(root.get("label"), str) else {}
    dataset = ArtifactDraft(
        Kind.DATASET, "suite", head, ("tests",), name=find_suite_name(root, table)
    )
    (judge,) = map(make_judge_draft, table.judges)
    cases = read_rows(
        root["tests"], ("tests",), _label_test, partial(_read_test, table=table, judge=judge)
    )
    share = [key for key in (table.form["share"],) if key in root]
    notes = [MigrationNote((key,), MigrationOutcome.UNMAPPED, _SHARE) for key in share]
    return Extraction("group", dataset, cases, (judge,), tuple(notes))


def _label_test(raw: Any, _: int) -> RowLabel:
    if not isinstance(raw, dict):
        return RowLabel(problem=f"the test is {describe_type(raw)} where an entity belongs")
    label = _find_label(raw) or ""
    try:
        input_ = _read_field(raw, "triggering_instructions")
    except LoadError as error:
        return RowLabel(label, error.message)
    is_asked = label and isinstance(input_, str) and input_
    return RowLabel(label, "" if is_asked else _NOT_ASKED)


def _read_test(test: CaseRow, table: FormatTable, judge: ArtifactDraft) -> LegacyCase:
    raw, pointer = test.raw, test.pointer
    input_ = _read_field(raw, "triggering_instructions")
    rules, notes = _read_rules(_parse_inner_yaml(raw, "rules"), (*pointer, "rules"), table.form)
    conversation = _parse_inner_yaml(raw, "messages")
    messages = _read_messages(conversation)
    question = {"id": test.label, "input": input_, **({"messages": messages} if messages else {})}
    losses = list(dict.fromkeys(note.reason for note in notes))
    remarks = [_NO_TALK] if conversation and not messages else []
    remarks += [] if notes or rules.tools or rules.forbidden or rules.instruction else [_NONE]
    remarks += [
        *test.remarks,
        *describe_unknown_keys((key for key in raw if key not in table.data), table.data),
    ]
    return LegacyCase(
        pointer,
        raw,
        classify_losses(losses),
        tuple(losses),
        question,
        _build_rubric(rules, table, judge),
        tuple(notes),
        remarks=tuple(remarks),
        unseen=(_TURNS,) if len(messages) > 1 else (),
    )


def _find_label(raw: Any) -> str | None:
    """Return the id or label of a test; None if it has neither."""
    with suppress(LoadError):
        label = isinstance(raw, dict) and (_read_field(raw, "id") or _read_field(raw, "label"))
        return label if isinstance(label, str) else None
    return None


def _read_field(raw: Mapping[str, Any], key: str) -> Any:
    """Return the single value of a field, or None for an empty field.

    Raises `LoadError` for several values.
    """
    items = raw.get(key)
    # Drupal exports a field as a list of its values; all fields read here have one.
    if isinstance(items, list) and len(items) > 1:
        raise LoadError(f"{key} has {len(items)} values where the field holds one")
    first = items[0] if isinstance(items, list) and items else items
    return first.get("value") if isinstance(first, dict) else first


def _parse_inner_yaml(raw: Mapping[str, Any], key: str) -> Any:
    """Return the parsed YAML of a text field, or None for an empty one.

    Raises `LoadError` for anything else.
    """
    text = _read_field(raw, key)
    if not isinstance(text, str) and _has_value(raw.get(key)):
        raise LoadError(f"{key} is not a single text field that contains YAML")
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        return read_yaml(text, key).value
    except LoadError as error:
        raise LoadError(f"{key} holds no YAML that can be read: {error.message}") from None


def _has_value(items: Any) -> bool:
    """Whether a field has a value that is not empty or null."""
    first = items[0] if isinstance(items, list) and items else items
    return any(first.values()) if isinstance(first, dict) else bool(first)


def _read_messages(value: Any) -> list[dict[str, Any]]:
    """Return the messages of a conversation; none if any item is not a message."""
    messages = value if isinstance(value, list) else []
    return messages if all(map(_is_message, messages)) else []


def _is_message(item: Any) -> bool:
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        return False
    return item.get("role") in _ROLES


def _read_rules(
    value: Any, at: Pointer, form: Mapping[str, Any]
) -> tuple[_Rules, list[MigrationNote]]:
    if value and not isinstance(value, dict):
        raise LoadError(f"rules is {describe_type(value)} where a mapping of rules belongs")
    rules, reasons = _Rules(), list[str]()
    for key, rule in (value or {}).items():
        # One key of the rules is an instruction for a judge; every other key is a rule about a
        # tool.
        if key == form["text"] and isinstance(rule, str):
            rules.instruction = rule
        elif isinstance(rule, dict) and isinstance(rule.get("tool"), str) and rule["tool"]:
            reasons += _add_demand(rule, rules, form)
        elif rule and key not in form["leftovers"]:
            rules.leftovers.append({"rule": key, "value": rule})
            reasons.append(_NO_TOOL.format(make_excerpt(str(key))))
    return rules, [MigrationNote(at, MigrationOutcome.UNMAPPED, reason) for reason in reasons]


def _add_demand(rule: Mapping[str, Any], rules: _Rules, form: Mapping[str, Any]) -> list[str]:
    """Add the demand of one rule, and return reasons for what no check can express."""
    name = rule["tool"]
    demand = form["rules"].get(str(rule.get("tool_rules")))
    has_parameters = bool(rule.get("parameters"))
    orders = [rule.get(key) for key in ("tool_order", "tool_loop_order")]
    has_order = any(order is not None and order not in form["free"] for order in orders)
    reasons = [_ORDER.format(make_excerpt(name))] if has_order else []
    reasons += describe_unknown_keys((key for key in rule if key not in form["rule"]), form["rule"])
    if demand == "tools":
        rules.tools[name] = None
        reasons += [_PARAMETERS.format(make_excerpt(name))] if has_parameters else []
    elif demand == "forbidden" and not has_parameters:
        rules.forbidden.add(name)
    else:
        reasons.append((_UNSAID if demand else _ODD).format(make_excerpt(name)))
    rules.leftovers += [dict(rule)] if reasons else []
    return reasons


def _build_rubric(rules: _Rules, table: FormatTable, judge: ArtifactDraft) -> ArtifactDraft:
    # Every rule looks for its tool by itself, so one call satisfies all rules about a tool.
    tools = {
        **({"tools": [{"name": name} for name in rules.tools]} if rules.tools else {}),
        **({"forbidden": sorted(rules.forbidden)} if rules.forbidden else {}),
    }
    checks: list[dict[str, Any]] = (
        [{"kind": "tool_usage", **tools, "mode": "any_order"}] if tools else []
    )
    if rules.instruction:
        judge_check = {
            "judge_prompt_ref": judge.ref,
            "variables": {"instruction": rules.instruction},
        }
        checks.append({"id": "response", "kind": "llm_judge", **judge_check})
    name = "tools" if tools else "response"
    return draft_case_rubric(checks, table.scoring, table, name, encode_value(rules.leftovers))
