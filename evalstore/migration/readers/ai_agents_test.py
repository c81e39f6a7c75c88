"""AI Agents Test: exported entities of Drupal, where every field is a list of one value and YAML stands within YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from evalstore.documents import Pointer, digest, read_yaml
from evalstore.errors import LoadError
from evalstore.migration.fold import bare
from evalstore.migration.names import UniqueLabels, make_dataset_id
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.table import FormatTable
from evalstore.migration.taken import ArtifactDraft, Extraction, LegacyCase, LegacySource, MigrationNote, judge_draft
from evalstore.migration.words import named, unread
from evalstore.model import Kind
from evalstore.text import excerpt

_ROLES = ("user", "assistant", "system", "tool")  # no set: what stands there may have no hash
_PARAMETERS = "{} is checked for its parameters, which no check kind can say: only that it runs is asked here"
_UNSAID = "{} must not run with certain parameters, which no check kind can say"
_ORDER = "{} has an order among the tools, which is not read"
_NONE = "no rule: any answer that is not empty passes"
_NO_TALK = "messages are no conversation: kept as data, and the question is asked without them"
_SHARE = "from this share of its tests on a group passes; a dataset has no bar of its own, so it is kept as data"
_ODD = "{} is neither wanted nor forbidden"


@dataclass(slots=True)
class _Rules:
    """What the rules of a test come to: demands on tools, an instruction for a judge, and what is left over."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)
    instruction: str = ""
    left: list[dict[str, Any]] = field(default_factory=list)


def read(legacy: LegacySource, table: FormatTable) -> Extraction:
    """Return the tests of a group as questions, and their rules as demands on the tools that are called."""
    root: Mapping[str, Any] = legacy.document.value
    if not isinstance(root["tests"], list):
        problem = MigrationNote(("tests",), MigrationOutcome.REFUSED, f"tests is {named(root['tests'])} where the list of tests belongs")
        return Extraction("group", notes=(problem,))
    head = {"title": root["label"]} if isinstance(root.get("label"), str) else {}
    dataset = ArtifactDraft(Kind.DATASET, make_dataset_id(legacy.file, root, table), head, ("tests",))
    (judge,) = map(judge_draft, table.judges)
    cases = tuple(_cases(root["tests"], table, judge))
    asked = any(case.rubric and judge.ref in str(case.rubric.value) for case in cases)
    share = [MigrationNote((key,), MigrationOutcome.UNMAPPED, _SHARE) for key in (table.form["share"],) if key in root]
    return Extraction("group", dataset, cases, (judge,) if asked else (), tuple(share))


def _cases(tests: list[Any], table: FormatTable, judge: ArtifactDraft) -> Iterator[LegacyCase]:
    labels = UniqueLabels(set(filter(None, map(_label, tests))))
    for index, raw in enumerate(tests):
        pointer: Pointer = ("tests", index)
        try:
            yield _case(raw, pointer, labels, table, judge)
        except LoadError as error:
            yield LegacyCase(pointer, raw, MigrationOutcome.REFUSED, (error.message,))


def _case(raw: Any, pointer: Pointer, labels: UniqueLabels, table: FormatTable, judge: ArtifactDraft) -> LegacyCase:
    if not isinstance(raw, dict):
        raise LoadError(f"the test is {named(raw)} where an entity belongs")
    label, asked = _label(raw), _value(raw, "triggering_instructions")
    if not label or not isinstance(asked, str) or not asked:
        raise LoadError("the test has no id or no triggering_instructions, so nothing can be asked")
    name, twin = labels.claim_for_case(label, pointer)
    rules, notes = _rules(_inner(raw, "rules"), (*pointer, "rules"), table.form)
    said = _inner(raw, "messages")
    messages = _messages(said)
    question = {"id": name, "input": asked, **({"messages": messages} if messages else {})}
    reasons = [*twin]
    reasons += [_NO_TALK] if said and not messages else []
    reasons += [note.reason for note in notes] or (
        [] if rules.tools or rules.forbidden or rules.instruction else [_NONE]
    )
    reasons += unread((key for key in raw if key not in table.data), table.data)
    outcome = MigrationOutcome.LOSSY if notes else MigrationOutcome.MIGRATED
    return LegacyCase(pointer, raw, outcome, tuple(reasons), question, _rubric(rules, table, judge), tuple(notes))


def _label(raw: Any) -> str | None:
    """Return what a test is called, None where it has no name."""
    with suppress(LoadError):
        label = isinstance(raw, dict) and (_value(raw, "id") or _value(raw, "label"))
        return label if isinstance(label, str) else None
    return None


def _value(raw: Mapping[str, Any], key: str) -> Any:
    """Return the one value of a field, None where there is none; more than one is a `LoadError`."""
    items = raw.get(key)
    if isinstance(items, list) and len(items) > 1:
        raise LoadError(f"{key} has {len(items)} values where the field holds one")
    first = items[0] if isinstance(items, list) and items else items
    return first.get("value") if isinstance(first, dict) else first


def _inner(raw: Mapping[str, Any], key: str) -> Any:
    """Return the YAML that stands as text in a field; what is no such text is a `LoadError`."""
    text = _value(raw, key)
    if not isinstance(text, str) and _any(raw.get(key)):
        raise LoadError(f"{key} is no field of one text, in which the YAML stands")
    if not isinstance(text, str) or not text.strip():
        return None
    try:
        return read_yaml(text, key).value
    except LoadError as error:
        raise LoadError(f"{key} holds no YAML that can be read: {error.message}") from None


def _any(items: Any) -> bool:
    """Tell whether a field says anything at all: nothing, an empty value and a value of null do not."""
    first = items[0] if isinstance(items, list) and items else items
    return any(first.values()) if isinstance(first, dict) else bool(first)


def _messages(value: Any) -> list[dict[str, Any]]:
    """Return the conversation, where all of it is one; the source keeps it in any case."""
    messages = value if isinstance(value, list) else []
    return messages if all(map(_is_message, messages)) else []


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("role") in _ROLES and isinstance(item.get("content"), str)


def _rules(value: Any, at: Pointer, form: Mapping[str, Any]) -> tuple[_Rules, list[MigrationNote]]:
    if value and not isinstance(value, dict):
        raise LoadError(f"rules is {named(value)} where a mapping of rules belongs")
    rules, notes = _Rules(), []
    for key, rule in (value or {}).items():
        if key == form["text"] and isinstance(rule, str):
            rules.instruction = rule
        elif isinstance(rule, dict) and isinstance(rule.get("tool"), str) and rule["tool"]:
            notes += [MigrationNote(at, MigrationOutcome.UNMAPPED, reason) for reason in _take(rule, rules, form)]
        elif rule and key not in form["leftovers"]:
            rules.left.append({"rule": key, "value": rule})
            notes.append(MigrationNote(at, MigrationOutcome.UNMAPPED, f"{excerpt(str(key))} is no rule about a tool"))
    return rules, notes


def _take(rule: Mapping[str, Any], rules: _Rules, form: Mapping[str, Any]) -> list[str]:
    """Add the demand of one rule, and return what of it cannot be said."""
    name = rule["tool"]
    wanted = form["rules"].get(str(rule.get("tool_rules")))
    checked = bool(rule.get("parameters"))
    ordered = any(
        rule.get(key) not in form["free"] and rule.get(key) is not None for key in ("tool_order", "tool_loop_order")
    )
    reasons = [_ORDER.format(excerpt(name))] if ordered else []
    reasons += unread((key for key in rule if key not in form["rule"]), form["rule"])
    if wanted == "tools":
        rules.tools.append({"name": name})
        reasons += [_PARAMETERS.format(excerpt(name))] if checked else []
    elif wanted == "forbidden" and not checked:
        rules.forbidden.append(name)
    else:
        reasons.append((_UNSAID if wanted else _ODD).format(excerpt(name)))
    rules.left += [dict(rule)] if reasons else []
    return reasons


def _rubric(rules: _Rules, table: FormatTable, judge: ArtifactDraft) -> ArtifactDraft:
    tools = {
        **({"tools": _once(rules.tools)} if rules.tools else {}),
        **({"forbidden": sorted(set(rules.forbidden))} if rules.forbidden else {}),
    }
    checks: list[dict[str, Any]] = [{"kind": "tool_usage", **tools, "mode": "any_order"}] if tools else []
    if rules.instruction:
        told = {"judge_prompt_ref": judge.ref, "variables": {"instruction": rules.instruction}}
        checks.append({"id": "response", "kind": "llm_judge", **told})
    left = {"x_unmapped": bare(rules.left)} if rules.left else {}
    none = {} if checks else {"title": table.no_check["title"]}
    value = none | {"checks": checks or table.no_check["checks"], "scoring": dict(table.scoring), **left}
    id_ = f"agent_tools_{digest(value)[:8]}" if checks or left else table.no_check["id"]
    return ArtifactDraft(Kind.RUBRIC, id_, value)


def _once(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each tool once: each rule looks for its tool by itself, and one call answers them all."""
    return [{"name": name} for name in dict.fromkeys(tool["name"] for tool in tools)]
