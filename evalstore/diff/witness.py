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
from evalstore.model import Output, RubricResult, Sample, Unscored

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
_CHARS = 20  # of a schema, for one more
_REPEATED = 20
_LONGEST = 2000
_CODE = "```php\n$x = 1;\n```"


class _EnoughError(Exception):
    """The search has cost enough."""


@dataclass(slots=True)
class Replay:
    """Both rubrics whole, and what they said of the texts tried so far."""

    old: RubricState
    new: RubricState
    _said: dict[tuple[int, str], RubricResult] = field(default_factory=dict)
    _spent: int = 0
    _played: dict[int, tuple[RubricState, int, Callable[[Sample], RubricResult]]] = field(default_factory=dict)

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
        from evalstore.checks import prepare

        key = (id(state), text)
        if key not in self._said:
            # The state is kept with its rubric, so that its id stays its own.
            if id(state) not in self._played:
                self._played[id(state)] = state, sum(map(_price, state.checks)), prepare(state.rubric())
            _, price, grade = self._played[id(state)]
            self._spent += price
            if self._spent > _BUDGET:
                raise _EnoughError
            self._said[key] = result = grade(Sample(Output(text)))
            if any(check.unscored is Unscored.ERROR for check in result.checks):
                raise _EnoughError  # a pattern out of time, or no PHP: no witness for other machines, and slow to try
        return self._said[key]


def _is_playable(check: CheckState) -> bool:
    # Fields are held against a question.
    return check.kind in PLAYABLE and check.params.get("expected_fields") is None


def _price(check: CheckState) -> int:
    written = len(canonical(check.params["schema"])) if check.kind == "json_schema" else 0
    return _PRICES.get(check.kind, _PRICE) + len(check.params.get("values", ())) + written // _CHARS


def candidates(change: Change) -> Iterator[str]:
    """Yield texts to try, the shortest first: what the changed check looks for, beside what the others want or ban."""
    before, after = change.states
    checks: dict[str, list[CheckState]] = {}
    for check in (*before.checks, *after.checks):
        checks.setdefault(check.token, []).append(check)
    mine = checks.pop(change.token, [])
    changed = list(change.decided.outputs) if change.decided else _parts(mine)[: _OPTIONS * 8]
    others = list(checks.values())[:_CHECKS]
    plenty = [_joined(map(_passing, (states[-1] for states in checks.values())))]
    parts = [*(_parts(states)[:_OPTIONS] for states in others), changed]
    built = (*(_joined((*plenty, part)) for part in changed), *map(_joined, islice(product(*parts), _BUILT)))
    short = sorted((text for text in dict.fromkeys(built) if len(text) <= _LONGEST), key=len)[:_TRIED]
    yield from short
    yield from sorted(set(built[: len(changed)]) - set(short), key=lambda text: (len(text), text))


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
    elif check.kind == "json_schema":
        yield from _json(check)


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


def _json(check: CheckState) -> Iterator[str]:
    from evalstore.diff.deciders.json_schema import instances_of
    from evalstore.diff.deciders.json_schema.outputs import outputs_of

    texts = [outputs_of(value, check.params["extract"]) for value in instances_of(check.params["schema"])]
    yield from (text for ways in texts for text in reversed(ways))  # a fenced one can stand beside other texts


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
