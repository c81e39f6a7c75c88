"""Looks for an output that moves: builds texts of what the checks look for, and shows none that it did not replay."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, product

from evalstore.diff.change import Change
from evalstore.diff.findings import Witness
from evalstore.diff.kinds import DEEPEST_HEADING
from evalstore.diff.state import CheckState, RubricState
from evalstore.errors import EvalstoreError
from evalstore.model import Rubric, RubricResult, Unscored

# Kinds that a text alone decides, at once and on any machine.
PLAYABLE = frozenset({"must_contain_any", "must_not_contain", "regex", "markdown_structure", "format", "php_lint"})
_TRIED = 400
_OPTIONS = 6
_BUILT = 4096
_PLAYED = 12_000
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
    _played: dict[int, tuple[RubricState, Rubric]] = field(default_factory=dict)

    def find(self, change: Change) -> Witness | None:
        """Return the shortest text found that moves under this one edit and also between the two rubrics."""
        states = (self.old, self.new, *change.states)
        if not all(check.kind in PLAYABLE for state in states for check in state.checks):
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
        from evalstore.checks import evaluate

        key = (id(state), text)
        if key not in self._said:
            if len(self._said) >= _PLAYED:
                raise _EnoughError
            # The state is kept with its rubric, so that its id stays its own.
            _, rubric = self._played.setdefault(id(state), (state, state.rubric()))
            self._said[key] = result = evaluate(rubric, text)
            if any(check.unscored is Unscored.ERROR for check in result.checks):
                raise _EnoughError  # a pattern out of time, or no PHP: no witness for other machines, and slow to try
        return self._said[key]


def candidates(change: Change) -> Iterator[str]:
    """Yield texts to try, the shortest first: for each check, something that it wants, or bans, or nothing."""
    before, after = change.states
    checks = {check.token: check for check in (*before.checks, *after.checks)}
    parts = [
        list(dict.fromkeys(["", *islice(_parts(before, after, token), _OPTIONS * (8 if token == change.token else 1))]))
        for token in sorted(checks, key=lambda token: token != change.token)
    ]
    built = dict.fromkeys("\n\n".join(filter(None, chosen)) for chosen in islice(product(*parts[::-1]), _BUILT))
    yield from islice(sorted((text for text in built if len(text) <= _LONGEST), key=len), _TRIED)


def _parts(before: RubricState, after: RubricState, token: str) -> Iterator[str]:
    found = [check for state in (before, after) for check in state.checks if check.token == token]
    if change_item := _difference(found):
        yield from change_item
    for check in found:
        yield from _wanted(check)


def _difference(found: list[CheckState]) -> list[str]:
    lists = [set(check.params.get("values", ())) for check in found]
    return sorted(set.symmetric_difference(*lists)) if len(lists) == 2 else []  # noqa: PLR2004  # old and new


def _wanted(check: CheckState) -> Iterator[str]:
    params = check.params
    if "values" in params:
        values: list[str] = params["values"]
        yield from (text for value in values for text in (value, value.swapcase()))
        if (some := params.get("min_matches", 1)) > 1:
            yield from ("\n".join(values[:some]), "\n".join(values[: some - 1]))
    elif check.kind == "markdown_structure":
        yield from _structures(check)
    elif check.kind == "format":
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
    yield from params["forbidden_patterns"]
    yield f"{'#' * min(params['max_heading_level'] + 1, DEEPEST_HEADING)} a"


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
