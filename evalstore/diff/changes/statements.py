"""Finds the changes of the statements that a check asks about, as a person would describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations, product
from typing import Any, NamedTuple

from evalstore.diff.change import STATEMENTS_CHANGED, Change, Decision
from evalstore.diff.changes.edit_script import EditScript, Ends, set_param
from evalstore.diff.findings import Certainty
from evalstore.diff.limits import COMPARED
from evalstore.diff.pairing import NEAR_WORDS, pair_items
from evalstore.diff.plain_data import describe_value, is_same
from evalstore.model.question_params import find_question_key
from evalstore.text import make_printable
from evalstore.word_diff import compare_words

Edits = Iterator[Change]
Statement = Mapping[str, Any]
EACH = "each"
_OWN_KEYS = frozenset({"text", "weight", "id"})
# A statement was split into two others if these have at least this share of its words.
_COVERED = 0.8
_SHOWN = Decision(
    Certainty.BY_DEFINITION, "its score is computed from what the judges say about each"
)
_ASKED = Decision(Certainty.ASSUMED, "the judges read other words")


class _Placed(NamedTuple):
    """A statement of the current list, with its index in the old list and in the new one."""

    entry: Statement
    old: int | None
    new: int | None

    @property
    def text(self) -> str:
        return str(self.entry["text"])


def find_statement_changes(script: EditScript, token: str) -> Edits:
    """Yield the edits of a check's statements; those written in the check are edited one by one."""
    old, new = (side[token].params[EACH] for side in (script.current, script.goal))
    if isinstance(old, list) and isinstance(new, list):
        yield from _StatementEdits(script, token, old, new).find_changes()
        return
    words = {"asks": f"asks about {_describe_source(new)} (was {_describe_source(old)})"}
    edited = set_param(script.current[token], EACH, new)
    yield script.edit_check(STATEMENTS_CHANGED, EACH, edited, old=old, new=new, words=words)


def find_aggregate_change(script: EditScript, token: str) -> Edits:
    """Yield the edit of how the scores of statements are combined."""
    old, new = (side[token].params["aggregate"] for side in (script.current, script.goal))
    edited = set_param(script.current[token], "aggregate", new)
    words = {"asks": f"combines the scores of its statements by {new} (was {old})"}
    yield script.edit_check(
        STATEMENTS_CHANGED, "aggregate", edited, old=old, new=new, words=words, decision=_SHOWN
    )


def name_moves(changes: Sequence[Change]) -> list[Change]:
    """Return the changes of a rubric; they say where a statement moved to another check."""
    removed, added = _index_moves(changes, "old"), _index_moves(changes, "new")
    named = list(changes)
    for text, number in removed.items():
        if (other := added.get(text)) is not None:
            ends = changes[number].words["check"], changes[other].words["check"]
            for at, where in ((number, f"to {ends[1]}"), (other, f"from {ends[0]}")):
                asks = changes[at].words["asks"]
                named[at] = changes[at].with_words(asks=f"{asks}, which moves {where}")
    return named


def _index_moves(changes: Sequence[Change], side: str) -> dict[str, int]:
    """Return the index of each change of a whole statement on this side alone, by its text."""
    moves: dict[str, int] = {}
    for number, change in enumerate(changes):
        is_listed = change.rule == STATEMENTS_CHANGED and change.name == EACH
        if is_listed and _has_only(change, side):
            moves[getattr(change, side)["text"]] = number
    return moves


def _has_only(change: Change, side: str) -> bool:
    """Whether a change adds or removes one whole statement, which is on this side alone."""
    sides = {"old": change.old, "new": change.new}
    item = sides.pop(side)
    return isinstance(item, dict) and "text" in item and [*sides.values()] == [None]


def _describe_source(each: Any) -> str:
    key = find_question_key(each)
    if key:
        return f"the statements of the question's {describe_value(key)}"
    return "no statements" if each is None else f"{len(each)} statements"


@dataclass(slots=True)
class _StatementEdits:
    """The edits that lead from one list of statements to another; `items` is the current one."""

    script: EditScript
    token: str
    old: Sequence[Statement]
    new: Sequence[Statement]
    items: tuple[_Placed, ...] = ()

    def find_changes(self) -> Edits:
        pairs = pair_items(self.old, self.new, is_same, _has_same_text)
        splits = list(_find_splits(self.old, self.new, pairs))
        joins = list(_find_splits(self.new, self.old, {new: old for old, new in pairs.items()}))
        whole = {*(one for one, _ in splits), *(one for _, parts in joins for one in parts)}
        parts = {*(one for _, ends in splits for one in ends), *(one for one, _ in joins)}
        pairs |= _pair_rest(self.old, self.new, pairs, {*whole}, {*parts})
        self.items = tuple(_Placed(one, at, pairs.get(at)) for at, one in enumerate(self.old))
        yield from self._edit_notes()
        yield from self._edit_weights()
        yield from self._reword()
        for one, ends in splits:
            yield self._exchange((one,), ends)
        for one, ends in joins:
            yield self._exchange(ends, (one,))
        yield from self._add({*pairs.values(), *parts})
        yield from self._remove()
        yield from self._reorder()
        self.script.adopt_check(set_param(self.script.current[self.token], EACH, list(self.new)))

    def _edit_notes(self) -> Edits:
        for place, item in enumerate(self.items):
            if item.new is None:
                continue
            goal, at = self.new[item.new], ((EACH, item.old or 0), (EACH, item.new))
            yield from self.script.edit_extra_keys(
                self.token, (item.entry, goal), at=at, known=_OWN_KEYS
            )
            kept = {key: item.entry[key] for key in ("text", "weight")}
            noted = {key: one for key, one in goal.items() if key not in kept} | kept
            ids = item.entry.get("id"), goal.get("id")
            asks = (
                f"names {_quote(item.text)} {describe_value(ids[1])} (was {describe_value(ids[0])})"
            )
            after = self._replace(place, noted)
            if is_same(*ids):
                self._set(after)
            else:
                ends = ((*at[0], "id"), (*at[1], "id"))
                yield self._edit(after, asks, _SHOWN, old=ids[0], new=ids[1], at=ends)

    def _edit_weights(self) -> Edits:
        after = [*self.items]
        moved: list[_Placed] = []
        new: list[Any] = []
        for place, item in enumerate(self.items):
            weight = item.entry["weight"] if item.new is None else self.new[item.new]["weight"]
            if not is_same(item.entry["weight"], weight):
                after[place] = item._replace(entry={**item.entry, "weight": weight})
                moved.append(item)
                new.append(weight)
        if not moved:
            return
        old = [item.entry["weight"] for item in moved]
        if len(moved) == 1:
            item = moved[0]
            asks = (
                f"weighs {_quote(item.text)} {describe_value(new[0])} (was "
                f"{describe_value(old[0])})"
            )
            at = (EACH, item.old or 0, "weight"), (EACH, item.new or 0, "weight")
            yield self._edit(tuple(after), asks, _SHOWN, old=old[0], new=new[0], at=at)
            return
        sides = " → ".join(", ".join(map(describe_value, side)) for side in (old, new))
        asks = f"gives {len(moved)} statements other weights: {sides}"
        texts = [item.text for item in moved]
        before, now = (dict(zip(texts, side, strict=True)) for side in (old, new))
        yield self._edit(tuple(after), asks, _SHOWN, old=before, new=now, at=((EACH,), (EACH,)))

    def _reword(self) -> Edits:
        for place, item in enumerate(self.items):
            if item.new is None or item.text == self.new[item.new]["text"]:
                continue
            text = self.new[item.new]["text"]
            after = self._replace(place, {**item.entry, "text": text})
            asks = f'asks about "{compare_words(item.text, text)}"'
            at = (EACH, item.old or 0, "text"), (EACH, item.new, "text")
            yield self._edit(after, asks, _ASKED, old=item.text, new=text, at=at)

    def _exchange(self, old: Sequence[int], new: Sequence[int]) -> Change:
        """Return the edit that replaces some statements by others, in place of the first one."""
        before, now = [self.old[at] for at in old], [self.new[at] for at in new]
        verb = "splits" if len(now) > 1 else "joins"
        sides = [" and ".join(_quote(one["text"]) for one in side) for side in (before, now)]
        place = next(place for place, item in enumerate(self.items) if item.old == old[0])
        kept = [item for item in self.items if item.old not in old]
        added = [_Placed(one, None, at) for one, at in zip(now, new, strict=True)]
        after = (*kept[:place], *added, *kept[place:])
        return self._edit(
            after,
            f"{verb} {sides[0]} into {sides[1]}",
            _ASKED,
            old=before if len(before) > 1 else before[0],
            new=now if len(now) > 1 else now[0],
            at=((EACH, old[0]), (EACH, new[0])),
        )

    def _add(self, known: set[int]) -> Edits:
        # Statements are added before others are removed, so that the list is never empty.
        for at in range(len(self.new)):
            if at not in known:
                one = _Placed(self.new[at], None, at)
                asks = self._word_presence(one, "asks about {} twice", "also asks about {}")
                after = (*self.items, one)
                yield self._edit(after, asks, _SHOWN, new=dict(one.entry), at=(None, (EACH, at)))

    def _remove(self) -> Edits:
        for one in self.items:
            if one.new is None and one.old is not None:
                self.items = after = tuple(item for item in self.items if item is not one)
                asks = self._word_presence(
                    one, "no longer asks about {} twice", "no longer asks about {}"
                )
                at = (EACH, one.old), None
                yield self._edit(after, asks, _SHOWN, old=dict(one.entry), at=at)

    def _word_presence(self, one: _Placed, again: str, alone: str) -> str:
        """Say that a statement is added or removed: by `again` if another has the same text."""
        is_known = any(item.text == one.text for item in self.items)
        return (again if is_known else alone).replace("{}", _quote(one.text))

    def _reorder(self) -> Edits:
        order = tuple(sorted(self.items, key=lambda item: item.new or 0))
        old, new = (
            [item.text for item in items if item.old is not None] for items in (self.items, order)
        )
        if old != new:
            moved = _find_moved([item for item in order if item.old is not None])
            why = (
                (
                    f": {_quote(moved.text)} moves from {(moved.old or 0) + 1} to "
                    f"{(moved.new or 0) + 1}"
                )
                if moved
                else ""
            )
            words = {"where": f"the statements of {self.script.goal[self.token].id}", "why": why}
            yield self.script.edit_check(
                "list-reordered", EACH, self._set(order), old=old, new=new, words=words
            )

    def _replace(self, place: int, entry: Statement) -> tuple[_Placed, ...]:
        item = self.items[place]._replace(entry=entry)
        return (*self.items[:place], item, *self.items[place + 1 :])

    def _set(self, items: tuple[_Placed, ...]) -> Any:
        """Make other statements the current ones, and return the current check with them."""
        self.items = items
        check = self.script.current[self.token]
        return set_param(check, EACH, [dict(item.entry) for item in items])

    def _edit(
        self, items: tuple[_Placed, ...], asks: str, decision: Decision, *, at: Ends, **facts: Any
    ) -> Change:
        return self.script.edit_check(
            STATEMENTS_CHANGED,
            EACH,
            self._set(items),
            at=at,
            words={"asks": asks},
            decision=decision,
            **facts,
        )


def _has_same_text(one: Statement, other: Statement) -> bool:
    return bool(one["text"] == other["text"])


def _has_same_name(one: Statement, other: Statement) -> bool:
    return "id" in one and one["id"] == other.get("id")


def _pair_rest(
    old: Sequence[Statement],
    new: Sequence[Statement],
    known: Mapping[int, int],
    removed: set[int],
    added: set[int],
) -> dict[int, int]:
    """Pair the statements still left, by similar words, by id, then in order.

    Returns new indices by old ones.
    """
    left = [at for at in range(len(old)) if at not in known and at not in removed]
    right = [at for at in range(len(new)) if at not in {*known.values()} and at not in added]
    pairs = _pair_near(old, new, left, right)
    for is_match in (_has_same_name, lambda *_: True):
        for one in (one for one in left if one not in pairs):
            free = (at for at in right if at not in pairs.values())
            if (
                other := next((at for at in free if is_match(old[one], new[at])), None)
            ) is not None:
                pairs[one] = other
    return pairs


def _pair_near(
    old: Sequence[Statement], new: Sequence[Statement], left: list[int], right: list[int]
) -> dict[int, int]:
    if len(left) * len(right) > COMPARED.near_pairs:
        return {}
    likeness: dict[tuple[int, int], float] = {}
    for one, other in product(left, right):
        likeness[one, other] = _compare_texts(old[one]["text"], new[other]["text"])
    near = [pair for pair in likeness if likeness[pair] >= NEAR_WORDS]
    pairs: dict[int, int] = {}
    for one, other in sorted(near, key=lambda pair: (-likeness[pair], *pair)):
        if one not in pairs and other not in pairs.values():
            pairs[one] = other
    return pairs


def _compare_texts(old: str, new: str) -> float:
    return SequenceMatcher(None, old.split(), new.split(), autojunk=False).ratio()


def _find_splits(
    old: Sequence[Statement], new: Sequence[Statement], known: Mapping[int, int]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield each statement that two new ones together replace, with these two.

    Each of the two has words that the other lacks.
    """
    left = [at for at in range(len(old)) if at not in known]
    free = [at for at in range(len(new)) if at not in {*known.values()}]
    if len(left) * len(free) ** 2 > COMPARED.near_pairs:
        return
    for one in left:
        words = _list_words(old[one])
        for ends in combinations(free, 2):
            parts = [_list_words(new[at]) for at in ends]
            shared = [words & part for part in parts]
            is_whole = _covers(shared[0] | shared[1], words) and all(map(_covers, shared, parts))
            if is_whole and shared[0] - shared[1] and shared[1] - shared[0]:
                free = [at for at in free if at not in ends]
                yield one, (ends[0], ends[1])
                break


def _covers(shared: set[str], words: set[str]) -> bool:
    return len(shared) >= _COVERED * len(words)


def _list_words(one: Statement) -> set[str]:
    return {word.strip(".,;:!?()\"'") for word in one["text"].lower().split()} - {""}


def _find_moved(order: Sequence[_Placed]) -> _Placed | None:
    """Return the only statement that moved; None if several did."""
    for one in order:
        others = [item.old or 0 for item in order if item is not one]
        if others == sorted(others):
            return one
    return None


def _quote(text: str) -> str:
    return f'"{make_printable(text)}"'
