"""tool_usage: the recorded tool calls are those that the check, or the question, asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalstore.checks.context import CheckContext, CheckProblem, GradeFunction
from evalstore.checks.kinds import CheckKind
from evalstore.checks.tools import ToolDemands, ToolEntry, grade_calls
from evalstore.documents import write_canonical
from evalstore.model import Grade, Question, Sample
from evalstore.model.outcome import grade_error, grade_missing
from evalstore.text import SHORT_EXCERPT, make_excerpt

_NO_TOOLS = "the question's expected_tools is not a list of names, or of {name, args}"

Params = Mapping[str, Any]


def prepare_grading(params: Params, _: CheckContext) -> GradeFunction:
    """Compare the calls with the check's `tools`, else `expected_tools`, and with `forbidden`.

    An entry means the calls with its name and its `args`; without `args`, any arguments will do.
    `args_match: subset` requires each argument with an equal value, where a nested mapping is again
    a subset; `exact` allows no others, at any depth. Values are equal as JSON: 1 is 1.0, true is
    not 1, lists are equal item by item, keys have no order.

    Each entry is a separate demand: it means at least `min` and at most `max` of all the calls. Two
    entries may mean one call, so an entry written twice adds nothing in `any_order`: `min` asks for
    several calls. An entry with `min` 0 is not a required tool, only a limit. The modes add to each
    other:

    - `any_order`: every entry's demand holds;
    - `in_order`: and the required tools are found one after the other, `min` calls each, whatever
      stands between;
    - `exact`: and there is no other call: each entry in turn takes at most its `max`, or its `min`
      where it has none.

    `partial` gives the share of the required tools that are satisfied (in `in_order` and `exact`:
    the most that are so one after the other), and 0 where a call stands that must not: a forbidden
    tool, one beyond the `max` of a tool that is not required, any other in `exact`. No record of
    calls, or nothing asked: unscored (missing). Expected tools that are none, or more tools and
    calls than can be compared: unscored (error).
    """
    forbidden, mode = frozenset(params.get("forbidden", ())), params.get("mode", "any_order")
    listed = params.get("tools")
    tools = None if listed is None else [_read_entry(entry) for entry in listed]

    def grade(sample: Sample) -> Grade:
        wanted = _find_expected_tools(sample.question) if tools is None else tools
        if isinstance(wanted, str):
            return grade_error(wanted)
        if wanted is None and not forbidden:
            slip = sample.question.explain_absence("expected_tools") if sample.question else ""
            return grade_missing(f"neither the check nor the question asks for a tool{slip}")
        if sample.tool_calls is None:
            return grade_missing("no record of tool calls")
        return grade_calls(
            ToolDemands(wanted or (), forbidden, mode, params.get("partial", False)),
            sample.tool_calls,
        )

    return grade


def find_problems(params: Params) -> Iterator[CheckProblem]:
    """Yield demands that no calls meet, and words that ask for nothing."""
    entries, mode = params.get("tools", ()), params.get("mode", "any_order")
    required = {entry["name"] for entry in entries if entry.get("min", 1) > 0}
    for index, name in enumerate(params.get("forbidden", ())):
        if name in required:
            message = (
                f"{make_excerpt(name, SHORT_EXCERPT)} is required and forbidden, so nothing passes"
            )
            yield CheckProblem(("forbidden", index), message, "remove one of the two")
    for index, entry in enumerate(entries):
        for key, message, hint in _find_entry_problems(entry, mode):
            yield CheckProblem(("tools", index, key), message, hint)
    yield from _find_repeated_entries(entries, mode)


def _find_entry_problems(entry: Params, mode: str) -> Iterator[tuple[str, str, str]]:
    least, most = entry.get("min", 1), entry.get("max")
    if most is not None and most < least:
        yield "max", f"min is {least} and max {most}, so nothing passes", "swap or correct them"
    if least == 0 and most is None:
        effect = "means no call in mode exact" if mode == "exact" else "asks for nothing"
        yield "min", f"min 0 without a max {effect}", "give a max, or remove the entry"
    if "args_match" in entry and "args" not in entry:
        yield "args_match", "args_match without args compares nothing", "add the args, or remove it"


def _find_repeated_entries(entries: Sequence[Params], mode: str) -> Iterator[CheckProblem]:
    minimum_by_entry: dict[str, int] = {}
    for index, entry in enumerate(entries):
        key, name = (
            write_canonical([entry["name"], entry.get("args")]),
            make_excerpt(entry["name"], SHORT_EXCERPT),
        )
        if key in minimum_by_entry and mode == "any_order":
            message = f"{name} is listed twice, and one call satisfies both entries"
            yield CheckProblem(("tools", index), message, "ask for several calls with min")
        minimum_by_entry[key] = minimum_by_entry.get(key, 0) + entry.get("min", 1)
    for index, entry in enumerate(entries):
        most, total = (
            entry.get("max"),
            minimum_by_entry[write_canonical([entry["name"], entry.get("args")])],
        )
        if mode != "any_order" and most is not None and entry.get("min", 1) <= most < total:
            name = make_excerpt(entry["name"], SHORT_EXCERPT)
            message = f"max {most} counts all the calls, and the entries for {name} ask for"
            yield CheckProblem(
                ("tools", index, "max"),
                f"{message} {total}, so nothing passes",
                f"raise it to {total}",
            )


def _read_entry(entry: Params) -> ToolEntry:
    most = entry.get("max")
    return ToolEntry(
        name=entry["name"],
        args=entry.get("args"),
        exact=entry.get("args_match", "subset") == "exact",
        least=int(entry.get("min", 1)),
        most=None if most is None else int(most),
    )


def _find_expected_tools(question: Question | None) -> Sequence[ToolEntry] | str | None:
    """Return the question's expected tools, None if it has none, or why they are not tools."""
    listed = question.row.get("expected_tools") if question else None
    if not isinstance(listed, list | tuple | None):
        return _NO_TOOLS
    tools = [_read_expected_tool(entry) for entry in listed or ()]
    if None in tools:
        return _NO_TOOLS
    return None if listed is None else [tool for tool in tools if tool]


def _read_expected_tool(entry: Any) -> ToolEntry | None:
    """Return the tool that a question expects, by name or with arguments; None for neither."""
    name, args = (
        (entry.get("name"), entry.get("args")) if isinstance(entry, Mapping) else (entry, None)
    )
    if not isinstance(name, str) or not name.strip():
        return None
    if isinstance(entry, Mapping) and not isinstance(entry.get("args", {}), Mapping):
        return None
    return ToolEntry(name, args)


KIND = CheckKind(
    prepare_grading=prepare_grading,
    reads_text=False,
    find_problems=find_problems,
    word="tools",
)
