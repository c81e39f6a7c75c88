"""Looks for an output that moves: builds texts of what the checks look for, and shows none that it did not replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, product

from evalstore.diff.change import Change
from evalstore.diff.findings import Witness
from evalstore.diff.kinds import DEEPEST_HEADING
from evalstore.diff.state import CheckState, RubricState
from evalstore.documents import canonical
from evalstore.errors import EvalstoreError
from evalstore.model import CheckResult, Output, RubricResult, Sample, Unscored

# Kinds that a text alone decides, at once and on any machine.
PLAYABLE = frozenset(
    {"must_contain_any", "must_not_contain", "regex", "json_schema", "markdown_structure", "format", "php_lint"}
)
_TRIED = 400
_OPTIONS = 6
_CHECKS = 16
_BUILT = 4096
# What a comparison spends on playing, counted so that every machine stops at the same place; well under a second.
_BUDGET = 400_000
_PRICES = {"markdown_structure": 150, "php_lint": 100, "json_schema": 100}
_PRICE = 10
# Of a schema: what a character costs when it is compiled, how many cost one more when it is played, what is built for.
_COMPILING = 3
_CHARS = 20
_SCHEMA = 8_000
_REPEATED = 20
_LONGEST = 2000
_CODE = "```php\n$x = 1;\n```"


class _EnoughError(Exception):
    """The search has cost enough."""


@dataclass(slots=True)
class _Player:
    """One check, prepared once, and what it said of the texts tried so far."""

    price: int
    grade: Callable[[Sample], CheckResult]
    said: dict[str, CheckResult] = field(default_factory=dict)


@dataclass(slots=True)
class Replay:
    """Both rubrics whole, and their checks as players."""

    old: RubricState
    new: RubricState
    _spent: int = 0
    _players: dict[int, tuple[CheckState, _Player]] = field(default_factory=dict)

    def find(self, change: Change) -> Witness | None:
        """Return the shortest text found that moves under this one edit and also between the two rubrics."""
        states = (self.old, self.new, *change.states)
        if self._spent > _BUDGET or not all(_is_playable(check) for state in states for check in state.checks):
            return None
        try:
            return next(filter(None, (self._moves(change, text) for text in candidates(change))), None)
        except (EvalstoreError, _EnoughError):
            return None  # validation says what is wrong with a rubric that cannot be run

    def _moves(self, change: Change, text: str) -> Witness | None:
        before, after = (self._run(state, text) for state in change.states)
        old, new = self._run(self.old, text), self._run(self.new, text)
        if _answer(before) == _answer(after) or _answer(old) == _answer(new):
            return None
        return Witness(text, old.score, new.score, old.verdict, new.verdict)

    def _run(self, state: RubricState, text: str) -> RubricResult:
        from evalstore.checks import combine

        return combine(state.scoring(), [self._grade(self._player(check), text) for check in state.checks])

    def _grade(self, player: _Player, text: str) -> CheckResult:
        if text not in player.said:
            self._spend(player.price)
            result = player.grade(Sample(Output(text)))
            if result.unscored is Unscored.ERROR:
                raise _EnoughError  # a pattern out of time, or no PHP: no witness for other machines, and slow to try
            player.said[text] = result
        return player.said[text]

    def _player(self, check: CheckState) -> _Player:
        from evalstore.checks import prepare_check

        if id(check) not in self._players:
            written = len(canonical(check.params["schema"])) if check.kind == "json_schema" else 0
            self._spend(written * _COMPILING)
            price = _PRICES.get(check.kind, _PRICE) + len(check.params.get("values", ())) + written // _CHARS
            # The check is kept with its player, so that its id stays its own.
            self._players[id(check)] = check, _Player(price, prepare_check(check.check()))
        return self._players[id(check)][1]

    def _spend(self, steps: int) -> None:
        self._spent += steps
        if self._spent > _BUDGET:
            raise _EnoughError


def _is_playable(check: CheckState) -> bool:
    # Fields are held against a question.
    return check.kind in PLAYABLE and check.params.get("expected_fields") is None


def candidates(change: Change) -> Iterator[str]:
    """Yield texts to try, the shortest first: what the changed check looks for, beside what the others want or ban."""
    before, after = change.states
    checks: dict[str, list[CheckState]] = {}
    for check in (*before.checks, *after.checks):
        checks.setdefault(check.token, []).append(check)
    mine = checks.pop(change.token, [])
    changed = list(change.decided.outputs) if change.decided else _parts(mine)[: _OPTIONS * 8]
    others = list(checks.values())[:_CHECKS]
    json = _json(mine, [states[-1] for states in checks.values()])
    plenty = [_joined((*map(_passing, (states[-1] for states in checks.values())), *json[:1]))]
    parts = [*(_parts(states)[:_OPTIONS] for states in others), ["", *json], changed]
    built = (*(_joined((*plenty, part)) for part in changed), *map(_joined, islice(product(*parts), _BUILT)))
    short = sorted((text for text in dict.fromkeys(built) if len(text) <= _LONGEST), key=len)[:_TRIED]
    yield from short
    yield from sorted(set(built[: len(changed)]) - set(short), key=lambda text: (len(text), text))


def _json(mine: list[CheckState], others: list[CheckState]) -> list[str]:
    """Return JSON for the first check that reads it, unless that is the changed one: an output has room for no more."""
    from evalstore.diff.deciders.json_schema import instances_of
    from evalstore.diff.deciders.json_schema.outputs import outputs_of

    asks = [check for check in (*mine, *others) if check.kind == "json_schema"]
    if not asks or asks[0] in mine or len(text := canonical(asks[0].params["schema"])) > _SCHEMA:
        return []
    return [output for value in instances_of(text) for output in reversed(outputs_of(value, asks[0].params["extract"]))]


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(filter(None, parts))


def _parts(states: list[CheckState]) -> list[str]:
    return list(dict.fromkeys(["", *_difference(states), *(text for check in states for text in _wanted(check))]))


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
        yield _CODE


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
    for index in range(len(whole)):
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
    from evalstore.diff.deciders.literal import literal

    for branch in pattern.split("|"):
        if (text := literal(branch)) is not None:
            yield text
            yield text.swapcase()


def _answer(result: RubricResult) -> tuple[object, object]:
    return result.score, result.verdict
