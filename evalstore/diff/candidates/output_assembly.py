"""Assembles outputs that get wanted answers from the checks of two rubrics: a text and calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from typing import Any

from evalstore.diff.candidates.call_records import list_check_records
from evalstore.diff.change import AnswerGoal
from evalstore.diff.kinds import KINDS
from evalstore.diff.limits import CANDIDATES
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.model import Output

_JSON_STARTS = ("{", "[", '"')

GradeScore = Callable[[CheckState, Output], Fraction | None]
Fragments = Callable[[CheckState], Sequence[str]]
_NOTHING: Any = object()
# All checks of calls share this entry.
_CALLS = "calls"
_Demands = list[tuple[CheckState, Fraction | None]]
_Wanted = dict[str, _Demands]


@dataclass(slots=True)
class OutputAssembly:
    """Assembles outputs for goals of two rubrics.

    `list_fragments` returns texts that may change what a check says. `expected` are outputs to
    which the old and the new form of the check `token` may give different scores.
    """

    states: tuple[RubricState, RubricState]
    grade: GradeScore
    list_fragments: Fragments
    token: str = ""
    expected: Sequence[str] = ()
    _steps: int = 0

    def build_outputs(self, goal: AnswerGoal) -> Iterator[Output]:
        """Yield outputs to which the checks answer what the goal says."""
        wanted = self._list_wanted(goal)
        calls = next(self._try_records(wanted.pop(_CALLS, [])), _NOTHING)
        if calls is _NOTHING:
            return
        self._steps = CANDIDATES.assembly_steps
        ordered = dict(sorted(wanted.items(), key=_find_assembly_order))
        for text in self._extend(goal.text, ordered, ()):
            yield Output(text, calls)

    def _list_wanted(self, goal: AnswerGoal) -> _Wanted:
        """Return what each check without a judge must say; checks of calls share one entry."""
        wanted: _Wanted = {}
        for state, scores in zip(self.states, goal.scores, strict=True):
            for check in state.checks:
                if not KINDS[check.kind].asks_judges(check.params):
                    token = _CALLS if KINDS[check.kind].demands_calls else check.token
                    wanted.setdefault(token, []).append((check, scores[check.token]))
        return wanted

    def _try_records(self, wanted: _Demands) -> Iterator[Any]:
        """Yield records that make these checks answer as wanted; None means no record."""
        records: list[Any] = (
            [None, *list_check_records([check for check, _ in wanted])] if wanted else [None]
        )
        for record in records:
            if all(self.grade(check, Output("", record)) == score for check, score in wanted):
                yield record

    def _extend(self, text: str, wanted: _Wanted, settled: Sequence[str]) -> Iterator[str]:
        """Yield texts that meet all demands.

        Demands of settled tokens stay met; others may be broken, and met again later.
        """
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
        """Yield the text with one more fragment; `expected` outputs come first."""
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


def _find_assembly_order(entry: tuple[str, _Demands]) -> int:
    """Return when an entry is handled: JSON before what can surround it, lengths last."""
    ((check, _), *_rest) = entry[1]
    return KINDS[check.kind].assembly_order


def _list_asked(
    check: CheckState, score: Fraction | None, list_fragments: Fragments
) -> Sequence[str]:
    return KINDS[check.kind].ungraded_texts if score is None else list_fragments(check)


def _compose(text: str, fragment: str) -> Iterator[str]:
    """Yield a text and a fragment combined: one inside the other's JSON, or one after the other."""
    if not text or not fragment:
        yield text or fragment
        return
    yield from _insert_text(fragment, text)
    yield from _insert_text(text, fragment)
    yield from (f"{text}\n\n{fragment}", f"{fragment}\n\n{text}")


def _insert_text(holder: str, text: str) -> Iterator[str]:
    """Yield the JSON in `holder` with `text` added, as a string or at the end of one."""
    if not holder.startswith(_JSON_STARTS):
        return
    try:
        value = json.loads(holder)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        texts = {name: item for name, item in value.items() if isinstance(item, str)}
        values: list[Any] = [{**value, "note": text}]
        values += [{**value, name: f"{item} {text}"} for name, item in texts.items()]
    else:
        values = [[*value, text] if isinstance(value, list) else f"{value} {text}"]
    yield from (json.dumps(one, ensure_ascii=False) for one in values)


def _fill_length(text: str, check: CheckState) -> Iterator[str]:
    """Yield the text padded to each limit of length, to one character more, and to one less."""
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
