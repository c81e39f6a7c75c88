"""Builds texts that may move a rubric, from what its checks look for, ban and demand; plays none of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, product

from evalstore.diff.change import Change
from evalstore.diff.kinds import DEEPEST_HEADING
from evalstore.diff.state import CheckState
from evalstore.documents import canonical

_TRIED = 400
_OPTIONS = 6  # of every check beside the changed one
_PARTS = 48
_CHECKS = 16
_BUILT = 4096
_SCHEMA = 8_000
_REPEATED = 20
_LONGEST = 2000
_CODE = ("```php\n$x = 1;\n```", "```php\n$x = ;\n```")
_META = frozenset(".^$*+?{}[]()|")


def candidates(change: Change) -> Iterator[str]:
    """Yield texts to try, the shortest first: what the changed check looks for, beside what the others want or ban."""
    before, after = change.states
    checks: dict[str, list[CheckState]] = {}
    for check in (*before.checks, *after.checks):
        checks.setdefault(check.token, []).append(check)
    mine = checks.pop(change.token, [])
    changed = _told(change) or _parts(mine)
    others = list(checks.values())[:_CHECKS]
    json = _json(mine, [states[-1] for states in checks.values()])
    plenty = [_joined((*map(_passing, (states[-1] for states in checks.values())), *json[:1]))]
    parts = [*(_parts(states)[:_OPTIONS] for states in others), ["", *json], changed]
    together = islice(product(*map(_shorter, parts)), _BUILT)
    built = (*(_joined((*plenty, part)) for part in changed), *map(_joined, together))
    short = sorted((text for text in dict.fromkeys(built) if len(text) <= _LONGEST), key=len)[:_TRIED]
    yield from short
    yield from sorted(set(built[: len(changed)]) - set(short), key=lambda text: (len(text), text))


def _shorter(parts: list[str]) -> list[str]:
    return [part for part in parts if len(part) <= _LONGEST]


def _told(change: Change) -> list[str]:
    """Return what a decider expects to move, or what the diff of another artifact shows."""
    if change.imported:
        return [finding.witness.output for finding in change.imported.findings if finding.witness]
    return list(change.decided.outputs) if change.decided else []


def _json(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON for the first check that reads it, unless that is the changed one: an output has room for no more."""
    from evalstore.diff.deciders.json_schema import instances_of
    from evalstore.diff.deciders.json_schema.outputs import outputs_of

    asks = [check for check in (*mine, *others) if check.params.get("schema") is not None]
    if not asks or asks[0] in mine or len(text := canonical(asks[0].params["schema"])) > _SCHEMA:
        return []
    return [output for value in instances_of(text) for output in reversed(outputs_of(value, asks[0].params["extract"]))]


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _parts(states: list[CheckState]) -> list[str]:
    wanted = chain([""], _difference(states), *map(_wanted, states))
    return list(dict.fromkeys(islice(wanted, _PARTS)))


def _difference(states: list[CheckState]) -> list[str]:
    lists = [set(check.params.get("values", ())) for check in states]
    return sorted(set.symmetric_difference(*lists)) if len(lists) == 2 else []  # noqa: PLR2004  # old and new


def _passing(check: CheckState) -> str:
    return next(_wanted(check), "") if check.negate is (check.kind == "must_not_contain") else ""


def _wanted(check: CheckState) -> Iterator[str]:
    params = check.params
    if "values" in params:
        values: list[str] = params["values"]
        some = params.get("min_matches", 1)
        yield from ("\n".join(values[:some]), "\n".join(values[: max(0, some - 1)]))
        yield from (text for value in values for text in (value, value.swapcase()))
    elif check.kind == "markdown_structure":
        yield from _structures(check)
    elif check.kind == "format":
        yield "{}" if params["format"] == "json" else "x" * min(params["min_chars"] or 1, _LONGEST)
        yield from ("{}", "x", *("x" * limit for limit in _limits(check)))
    elif check.kind == "regex":
        yield from _literals(params["pattern"])
    elif check.kind == "php_lint":
        yield from _CODE
    elif params.get("facts"):
        facts: list[str] = params["facts"]
        yield "\n".join(facts)
        yield from (text for fact in facts[:_REPEATED] for text in (fact, fact.swapcase()))
        yield from ("\n".join(facts[:index] + facts[index + 1 :]) for index in range(min(len(facts), _REPEATED)))


def _structures(check: CheckState) -> Iterator[str]:
    params = check.params
    headings, paragraphs, blocks = (
        [text] * min(params[name], _REPEATED)
        for text, name in (("## a", "min_headings"), ("a", "min_paragraphs"), ("```\na\n```", "min_code_blocks"))
    )
    sections = [f"## {section}" for section in params["required_sections"]]
    whole = [*headings, *sections, *blocks, *paragraphs]
    yield "\n\n".join(whole)
    yield "\n\n".join(["# a", *whole])
    for index in range(min(len(whole), _REPEATED)):
        yield "\n\n".join(whole[:index] + whole[index + 1 :])
    deeper = f"{'#' * min(params['max_heading_level'] + 1, DEEPEST_HEADING)} a"
    for more in (deeper, *params["forbidden_patterns"]):
        yield more
        yield "\n\n".join([*whole, more])


def _limits(check: CheckState) -> Iterator[int]:
    for name in ("min_chars", "max_chars"):
        if (limit := check.params[name]) is not None and limit < _LONGEST:
            yield from (limit, limit + 1, max(0, limit - 1))


def _literals(pattern: str) -> Iterator[str]:
    for branch in pattern.split("|"):
        if (text := _literal(branch)) is not None:
            yield text
            yield text.swapcase()


def _literal(pattern: str) -> str | None:
    """Return the one text that a pattern matches, or None when it has more than escaped and plain characters."""
    text, rest = [], iter(pattern)
    for char in rest:
        escaped = next(rest, None) if char == "\\" else None
        if char in _META or (char == "\\" and (escaped is None or escaped.isalnum() or escaped == "_")):
            return None
        text.append(escaped or char)
    return "".join(text)
