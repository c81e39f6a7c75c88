"""Builds texts and records of tool calls that may move a rubric, from what its checks look for; grades none of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice, permutations, product
from typing import Any

from evalstore.diff.change import AnswerGoal, Change
from evalstore.diff.findings import Witness
from evalstore.diff.kinds import KINDS, list_json_outputs
from evalstore.diff.limits import CANDIDATES
from evalstore.diff.plain_data import is_short
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import write_canonical
from evalstore.model import Output

_PHP = "```php\n"
PLAIN_TEXT = "An answer."


def build_candidates(change: Change) -> Iterator[str]:
    """Yield texts to try: what the changed check looks for, with what the others want or ban; the shortest first.

    A text of blanks comes last: it shows least.
    """
    before, after = change.states
    checks: dict[str, list[CheckState]] = {}
    for check in (*before.checks, *after.checks):
        checks.setdefault(check.token, []).append(check)
    mine = checks.pop(change.token, [])
    changed = list_expected_outputs(change) or [*_list_sample_texts(mine), *_list_own_json(mine)]
    others = list(checks.values())[: CANDIDATES.checks]
    changed += _list_joint_json(mine, [states[-1] for states in others])
    json = _list_json_outputs(mine, [states[-1] for states in checks.values()])
    plenty = [
        _join_texts(
            (*map(_find_passing_text, (states[-1] for states in checks.values())), *json[:1])
        )
    ]
    parts = [
        *(_list_sample_texts(states)[: CANDIDATES.options] for states in others),
        ["", *json],
        changed,
    ]
    together = islice(product(*map(_drop_long_texts, parts)), CANDIDATES.built)
    built = (*(_join_texts((*plenty, part)) for part in changed), *map(_join_texts, together))
    short = order_texts([text for text in built if len(text) <= CANDIDATES.text_length])[
        : CANDIDATES.texts
    ]
    yield from short
    # Where an output has to be JSON, the same texts are tried as JSON strings.
    if any(
        check.params.get("format") == "json" for state in change.states for check in state.checks
    ):
        yield from map(write_canonical, short[: CANDIDATES.quoted])
        yield from map(_write_lines, [text for text in short if _PHP in text][: CANDIDATES.quoted])
    yield from sorted(set(built[: len(changed)]) - set(short), key=lambda text: (len(text), text))


def order_texts(
    texts: Iterable[str], rank: Callable[[str], tuple[bool, ...]] = lambda _: ()
) -> list[str]:
    """Return texts in the order in which they are tried: by `rank`, the shortest first, and blanks last of all.

    Before a blank one stands a text that says as little, and looks like an output.
    """
    told = sorted(
        (text for text in dict.fromkeys(texts) if text.strip()),
        key=lambda text: (*rank(text), len(text)),
    )
    blanks = sorted({text for text in texts if not text.strip()}, key=len)
    return [*told, *([PLAIN_TEXT] if blanks else []), *blanks]


def _write_lines(text: str) -> str:
    """Return JSON with a block of PHP in it: the lines of a text as strings, each on a line of its own."""
    lines = ",\n".join(map(write_canonical, text.split("\n")))
    return f"[{lines}]"


def _drop_long_texts(parts: list[str]) -> list[str]:
    return [part for part in parts if len(part) <= CANDIDATES.text_length]


def list_expected_outputs(change: Change) -> list[str]:
    """Return what a decider expects to move, or what the diff of another artifact shows."""
    if change.imported_diff:
        shown = (finding.witness for finding in change.imported_diff.findings)
        return [witness.output for witness in shown if isinstance(witness, Witness)]
    return list(change.decision.outputs) if change.decision else []


def _list_schemas(checks: Iterable[CheckState]) -> list[Any]:
    return [check.params["schema"] for check in checks if check.params.get("schema") is not None]


def _list_own_json(mine: list[CheckState]) -> list[str]:
    """Return JSON that the changed check wants, by itself and in a fence: it may be looked for elsewhere now."""
    schemas = dict.fromkeys(map(write_canonical, _list_schemas(mine)))
    return [
        output
        for text in schemas
        for value in _find_instances(text)
        for output in list_json_outputs(value, "auto")
    ]


def _list_joint_json(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON that the changed check takes otherwise now, and that all other checks of JSON take, or none does."""
    schemas, beside = _list_schemas(mine), _list_schemas(others)
    if not beside or len(schemas) != len(mine) or len(mine) != CANDIDATES.sides:
        return []
    moved = ([schema, {"not": other}] for schema, other in permutations(schemas))
    joint = (
        {"allOf": [*pair, *rest]}
        for pair in moved
        for rest in (beside, [{"not": one} for one in beside])
    )
    values = [
        value
        for schema in joint
        for value in islice(_find_instances(write_canonical(schema)), CANDIDATES.joint)
    ]
    return [
        output for value in values for output in list_json_outputs(value, mine[0].params["extract"])
    ]


def _list_json_outputs(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON for the first check that reads it, unless that is the changed one: `_list_joint_json` has it."""
    asks = [check for check in (*mine, *others) if check.params.get("schema") is not None]
    if not asks or asks[0] in mine:
        return []
    instances = _find_instances(write_canonical(asks[0].params["schema"]))
    return [
        output
        for value in instances
        for output in reversed(list_json_outputs(value, asks[0].params["extract"]))
    ]


def _find_instances(schema: str) -> Iterable[Any]:
    from evalstore.languages.schema_comparison import find_instances

    return find_instances(schema) if len(schema) <= CANDIDATES.schema else ()


def _join_texts(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _list_sample_texts(states: list[CheckState]) -> list[str]:
    wanted = chain([""], _list_exchanged_phrases(states), *map(_yield_sample_texts, states))
    return list(dict.fromkeys(islice(wanted, CANDIDATES.parts)))


def _list_exchanged_phrases(states: list[CheckState]) -> list[str]:
    lists = [set(check.params.get("values", ())) for check in states]
    return sorted(set.symmetric_difference(*lists)) if len(lists) == CANDIDATES.sides else []


def _find_passing_text(check: CheckState) -> str:
    return next(_yield_sample_texts(check), "") if check.negate is KINDS[check.kind].bans else ""


def _yield_sample_texts(check: CheckState) -> Iterator[str]:
    return KINDS[check.kind].sample_texts(check.params)


Call = Mapping[str, Any]
Record = tuple[Call, ...]

_CALLS = "tool_usage"


def build_records(change: Change) -> list[Record]:
    """Return records to try, the shortest first; none unless the edited check has tools or bans."""
    checks = [
        check for state in change.states for check in state.checks if check.token == change.token
    ]
    if not checks or any(check.kind != _CALLS for check in checks):
        return []
    if any(check.params["tools"] is None and not check.params["forbidden"] for check in checks):
        return []
    return list_check_records(checks)


def list_check_records(checks: list[CheckState]) -> list[Record]:
    """Return records that these checks of calls tell apart: all that is asked with a banned tool, then the shortest.

    None where they are long.
    """
    if not all(is_short(check.params["tools"], CANDIDATES.tools) for check in checks):
        return []  # nobody would read it, and each record is written many times over
    calls, bans = _list_calls(checks), _list_banned_calls(checks)
    banned = [(*_complete_record(check), call) for check in checks for call in bans]
    variants = chain(
        (record for check in checks for record in _build_variants(check, calls)),
        _merge_records(checks),
    )
    built = chain(banned, sorted(variants, key=len))
    # One record may be built in many ways; its canonical JSON tells them apart.
    found = {
        write_canonical(list(record)): record
        for record in built
        if len(record) <= CANDIDATES.record_length
    }
    return list(found.values())[: CANDIDATES.records]


def list_fragments(check: CheckState) -> list[str]:
    """Return texts that make a check pass or fail: what it looks for, and JSON that its schema lets through or not."""
    return [*islice(_yield_sample_texts(check), CANDIDATES.parts), *_list_own_json([check])]


def _build_variants(check: CheckState, calls: list[Call]) -> Iterator[Record]:
    """Yield the record that meets all demands, then it with a call less, a call more and reversed, then short ones."""
    complete = _complete_record(check)
    yield from ((), complete, complete[::-1])
    yield from (complete[:place] + complete[place + 1 :] for place in range(len(complete)))
    yield from ((*complete, call) for call in calls)
    for entry in check.params["tools"] or ():
        most = entry.get("max", 1)
        counts = {1, 2, most} if most <= CANDIDATES.record_length else {1, 2}
        yield from ((*complete, *[_make_call(entry)] * more) for more in sorted(counts))
    yield from ((call,) for call in calls)
    yield from islice(product(calls, repeat=2), CANDIDATES.records)


def _complete_record(check: CheckState) -> Record:
    """Return the calls that a check asks for."""
    return tuple(
        _make_call(entry)
        for entry in check.params["tools"] or ()
        for _ in range(min(entry["min"], CANDIDATES.record_length))
    )


def _list_banned_calls(checks: list[CheckState]) -> list[Call]:
    """Return calls of banned tools, first of those that not all of these checks ban."""
    bans = [frozenset(check.params["forbidden"]) for check in checks]
    names = dict.fromkeys(name for check in checks for name in check.params["forbidden"])
    changed_first = sorted(names, key=lambda name: all(name in banned for banned in bans))
    return [{"name": name} for name in changed_first[: CANDIDATES.banned]]


def _merge_records(checks: list[CheckState]) -> Iterator[Record]:
    """Yield records for two checks at once: what one asks for, its calls of a tool of the other as that one wants them.

    So many of them as the other asks for, as it allows, and one more.
    """
    for one, other in permutations(checks, 2):
        for entry in other.params["tools"] or ():
            call, least = _make_call(entry), max(entry["min"], 1)
            most = entry.get("max", least)
            for count in sorted(
                count for count in {least, most, most + 1} if count <= CANDIDATES.record_length
            ):
                records = (
                    [call] * count if asked["name"] == call["name"] else [_make_call(asked)]
                    for asked in one.params["tools"] or ()
                )
                yield tuple(chain.from_iterable(records))


def _list_calls(checks: list[CheckState]) -> list[Call]:
    """Return calls of banned tools, of each entry as it asks, without arguments, with one more, and of another tool."""
    calls: list[Call] = []
    for check in checks:
        for entry in check.params["tools"] or ():
            args = entry.get("args", {})
            calls += [
                _make_call(entry),
                {"name": entry["name"]},
                {"name": entry["name"], "args": {**args, "other": True}},
            ]
    different = {write_canonical(call): call for call in calls}
    banned = {name for check in checks for name in check.params["forbidden"]}
    other = "another_tool"
    while other in banned or any(call["name"] == other for call in calls):
        other += "_"
    return [
        *_list_banned_calls(checks),
        *list(different.values())[: CANDIDATES.record_calls],
        {"name": other},
    ]


def _make_call(entry: Mapping[str, Any]) -> Call:
    return {"name": entry["name"], **({"args": entry["args"]} if "args" in entry else {})}


_JSON_STARTS = ("{", "[", '"')

GradeScore = Callable[[CheckState, Output], Fraction | None]
Fragments = Callable[[CheckState], Sequence[str]]


@dataclass(slots=True)
class OutputAssembly:
    """Assembles outputs for goals of two rubrics; `list_fragments` are texts that may change what one check says.

    `expected` are outputs that tell the two forms of the check named `token` apart.
    """

    states: tuple[RubricState, RubricState]
    grade: GradeScore
    list_fragments: Fragments
    token: str = ""
    expected: Sequence[str] = ()
    _steps: int = 0

    def build_outputs(self, goal: AnswerGoal) -> Iterator[Output]:
        """Yield outputs under which the checks answer as the goal says."""
        wanted = self._list_wanted(goal)
        calls = next(self._find_records(wanted.pop(_CALLS, [])), _NOTHING)
        if calls is _NOTHING:
            return
        self._steps = CANDIDATES.assembly_steps
        ordered = dict(sorted(wanted.items(), key=lambda item: _ORDER.get(item[1][0][0].kind, 0)))
        for text in self._extend(goal.text, ordered, ()):
            yield Output(text, calls)

    def _list_wanted(self, goal: AnswerGoal) -> _Wanted:
        """Return what has to be said by each check that no judge answers for; those of calls are one entry."""
        wanted: _Wanted = {}
        for state, scores in zip(self.states, goal.scores, strict=True):
            for check in state.checks:
                if not KINDS[check.kind].asks_judges(check.params):
                    token = _CALLS if check.kind == _CALLS else check.token
                    wanted.setdefault(token, []).append((check, scores[check.token]))
        return wanted

    def _find_records(self, wanted: _Demands) -> Iterator[Any]:
        """Yield records of calls under which the checks of calls answer so; None is not a record."""
        records: list[Any] = (
            [None, *list_check_records([check for check, _ in wanted])] if wanted else [None]
        )
        for record in records:
            if all(self.grade(check, Output("", record)) == score for check, score in wanted):
                yield record

    def _extend(self, text: str, wanted: _Wanted, settled: Sequence[str]) -> Iterator[str]:
        """Yield texts that meet all demands; those of the settled tokens are kept, others may be broken and mended."""
        token = next((token for token in wanted if not self._holds(wanted[token], text)), None)
        if token is None:
            yield text
            return
        together = [demand for name in (*settled, token) for demand in wanted[name]]
        for candidate in self._list_longer(text, token, wanted[token]):
            self._steps -= 1
            if self._steps < 0:
                return
            if self._holds(together, candidate):
                yield from self._extend(candidate, wanted, (*settled, token))

    def _list_longer(self, text: str, token: str, demands: _Demands) -> Iterator[str]:
        """Yield the text with a fragment more; what tells the two forms of the edited check apart comes first."""
        yield text
        expected = self.expected if token == self.token else ()
        asked = chain.from_iterable(
            _list_asked(check, score, self.list_fragments) for check, score in demands
        )
        for fragment in islice(dict.fromkeys((*expected, *asked)), CANDIDATES.fragments):
            yield from _compose(text, fragment)
        for check, _ in demands:
            yield from _fill_length(text, check)

    def _holds(self, demands: _Demands, text: str) -> bool:
        return all(self.grade(check, Output(text)) == score for check, score in demands)


_Demands = list[tuple[CheckState, Fraction | None]]
_Wanted = dict[str, _Demands]
_NOTHING: Any = object()
# JSON before what can stand beside it, lengths last.
_ORDER: Mapping[str, int] = {"json_schema": -2, "markdown_structure": -1, "format": 1}


def _list_asked(
    check: CheckState, score: Fraction | None, list_fragments: Fragments
) -> Sequence[str]:
    return KINDS[check.kind].ungraded_texts if score is None else list_fragments(check)


def _compose(text: str, fragment: str) -> Iterator[str]:
    """Yield a text and a fragment as one: one after the other, or one within the other's JSON."""
    if not text or not fragment:
        yield text or fragment
        return
    yield from _insert_text(fragment, text)
    yield from _insert_text(text, fragment)
    yield from (f"{text}\n\n{fragment}", f"{fragment}\n\n{text}")


def _insert_text(holder: str, text: str) -> Iterator[str]:
    """Yield the JSON of a text with another text in it: in a string of its own, or at the end of one."""
    if not holder.startswith(_JSON_STARTS):
        return
    try:
        value = json.loads(holder)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        wider = [
            {**value, name: f"{item} {text}"}
            for name, item in value.items()
            if isinstance(item, str)
        ]
        values: list[Any] = [{**value, "note": text}, *wider]
    else:
        values = [[*value, text] if isinstance(value, list) else f"{value} {text}"]
    yield from (json.dumps(one, ensure_ascii=False) for one in values)


def _fill_length(text: str, check: CheckState) -> Iterator[str]:
    """Yield the text with as many characters more as reach a limit of length, and one more, and one less."""
    for limit in (check.params.get("min_chars"), check.params.get("max_chars")):
        for length in () if limit is None else (limit, limit + 1, limit - 1):
            if (missing := length - len(text)) > 0:
                yield from _pad(text, missing)


def _pad(text: str, missing: int) -> Iterator[str]:
    yield f"{text} {'x' * (missing - 1)}" if text and missing > 1 else f"{text}{'x' * missing}"
    if text.endswith('"'):
        yield f'{text[:-1]}{"x" * missing}"'
    elif text.endswith("]") and missing > 4:  # noqa: PLR2004  # a comma and two marks
        yield f'{text[:-1]}{"," if text != "[]" else ""}"{"x" * (missing - 2 - (text != "[]"))}"]'
