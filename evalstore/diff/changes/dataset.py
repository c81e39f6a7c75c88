"""Finds the changes of a dataset: its defaults, and its questions paired by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalstore.diff.change import Change, QuestionEdit
from evalstore.diff.changes.edit_script import find_key_changes
from evalstore.documents import Pointer, write_canonical
from evalstore.model import is_cosmetic
from evalstore.model.question_ids import list_noted_renames, match_renames
from evalstore.text import count_noun

Row = Mapping[str, Any]
# The keys of a question that say what is right, in the order in which they are edited.
_REFERENCES = (
    "criteria",
    "context",
    "expected",
    "expected_facts",
    "expected_tools",
    "also_valid",
    "format",
)
_OWN_RULES = {
    **dict.fromkeys(("input", "messages"), "question-input-changed"),
    **dict.fromkeys(_REFERENCES, "question-reference-changed"),
}
# The keys that a question inherits from the defaults.
_INHERITED_RULES = {
    "rubric_ref": "question-rubric-ref-changed",
    "bundle": "question-bundle-changed",
}


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of one side by id, as written, each with its index in the list at `where`."""

    own: Mapping[str, Row]
    where: str
    indexes: Mapping[str, int]
    defaults: Mapping[str, Any]

    def find_place(self, id_: str) -> Pointer:
        """Return the pointer to a question."""
        return (self.where, self.indexes[id_])

    def fill_row(self, id_: str) -> dict[str, Any]:
        """Return a question with what it inherits from the defaults."""
        return {key: self.defaults[key] for key in _INHERITED_RULES if key in self.defaults} | dict(
            self.own[id_]
        )


def read_question_set(value: Row) -> QuestionSet | None:
    """Read a dataset's questions or rows; None if its schema would refuse them."""
    where = "rows" if isinstance(value.get("rows"), list) else "questions"
    items, defaults = value.get(where, []), value.get("defaults", {})
    if where == "rows" and "questions" in value:
        return None
    if not (
        isinstance(items, list)
        and isinstance(defaults, dict)
        and all(isinstance(row, dict) for row in items)
    ):
        return None
    ids = [row.get("id") for row in items]
    if not all(isinstance(id_, str) for id_ in ids) or len({*ids}) < len(ids):
        return None
    return QuestionSet(
        own=dict(zip(ids, items, strict=True)),
        where=where,
        indexes={id_: index for index, id_ in enumerate(ids)},
        defaults=defaults,
    )


def find_question_changes(
    old: QuestionSet, new: QuestionSet, renames: Mapping[str, str]
) -> Iterator[Change]:
    """Yield the edits between two sides' questions; `renames` has the new ids by old ones."""
    # Declared renames come first, because such a question may have other content as well. All
    # other renamed questions are found by equal content.
    known = {**list_noted_renames(new.own.values()), **renames}
    matched = match_renames(known, old.own.__contains__, new.own.__contains__)
    renamed = {id_: matched[id_] for id_ in old.own if id_ in matched}
    renamed |= _match_equal_content(old, new, renamed)
    pairs = _PairedQuestions(old, new)
    same = {id_: id_ for id_ in old.own if id_ in new.own}
    yield from _find_default_changes(pairs, {**same, **renamed})
    for before, after in renamed.items():
        yield from _find_row_changes(pairs, (before, after))
    for id_ in old.own:
        if id_ not in new.own and id_ not in renamed:
            words = {"question": id_}
            yield Change(
                "question-removed", dict(old.own[id_]), None, old.find_place(id_), None, words=words
            )
    for id_ in new.own:
        if id_ in old.own:
            # One object on both sides was one line of a file: only its defaults can differ, and
            # `_find_default_changes` compares these.
            if old.own[id_] is not new.own[id_]:
                yield from _find_row_changes(pairs, (id_, id_))
        elif id_ not in renamed.values():
            yield Change(
                "question-added",
                None,
                dict(new.own[id_]),
                None,
                new.find_place(id_),
                words={"question": id_},
            )
    for before, after in renamed.items():
        at = ((*old.find_place(before), "id"), (*new.find_place(after), "id"))
        yield Change("question-id-renamed", before, after, *at, words={"question": after})
    yield from _find_order_changes(old, new)


def _match_equal_content(
    old: QuestionSet, new: QuestionSet, known: Mapping[str, str]
) -> dict[str, str]:
    removed = _index_contents(old, {*new.own, *known})
    added = _index_contents(new, {*old.own, *known.values()})
    return {removed[content]: added[content] for content in removed if content in added}


def _index_contents(side: QuestionSet, paired: set[str]) -> dict[str, str]:
    """Return the ids of questions that are not paired yet, by their content."""
    rest = [id_ for id_ in side.own if id_ not in paired]
    return {_canonicalise_content(side.fill_row(id_)): id_ for id_ in rest}


def _canonicalise_content(row: Row) -> str:
    return write_canonical({key: item for key, item in row.items() if key != "id"})


@dataclass(slots=True)
class _PairedQuestions:
    """The questions of both sides; each pair is built once, even if several edits concern it."""

    old: QuestionSet
    new: QuestionSet
    known: dict[str, QuestionEdit] = field(default_factory=dict)

    def find(self, before: str, after: str) -> QuestionEdit:
        """Return the pair of a question by its ids."""
        if after not in self.known:
            own = self.old.own[before], self.new.own[after]
            self.known[after] = QuestionEdit(after, own, (self.old.defaults, self.new.defaults))
        return self.known[after]


def _find_default_changes(pairs: _PairedQuestions, ids: Mapping[str, str]) -> Iterator[Change]:
    old, new = pairs.old, pairs.new
    for key, (before, after) in find_key_changes(old.defaults, new.defaults).items():
        places = [("defaults", key) if key in side.defaults else None for side in (old, new)]
        silent = {id_: now for id_, now in ids.items() if key not in old.own[id_]}
        users = tuple(pairs.find(*pair) for pair in silent.items() if key not in new.own[pair[1]])
        many = f"the default of {count_noun(len(users), 'question')}"
        words = {
            "question": many if users else "the default that no question uses",
            "key": key,
            "users": str(len(users)),
        }
        rule = _find_key_rule(key)
        was, now = places
        yield Change(rule, before, after, was, now, name=key, words=words, questions=users)


def _find_key_rule(key: str) -> str:
    known = {**_OWN_RULES, **_INHERITED_RULES}.get(key)
    return known or ("metadata-changed" if is_cosmetic(key) else "extension-field-changed")


def _find_row_changes(pairs: _PairedQuestions, ids: tuple[str, str]) -> Iterator[Change]:
    """Yield the edits of a question's own keys, and of its rubric and bundle, inherited or not."""
    old, new = pairs.old, pairs.new
    sides = old.own[ids[0]], new.own[ids[1]]
    places = old.find_place(ids[0]), new.find_place(ids[1])
    whole = find_key_changes(old.fill_row(ids[0]), new.fill_row(ids[1]))
    differ = find_key_changes(*sides)
    # Keys that no schema knows have no fixed order, so they are sorted by name; notes come last.
    for key in sorted(differ, key=lambda key: (_rank_key(key), key)):
        if key == "id" or (key in _INHERITED_RULES and key not in whole):
            continue
        is_listed = key in _OWN_RULES or key in _INHERITED_RULES
        before = (*places[0], key) if is_listed or key in sides[0] else None
        after = (*places[1], key) if is_listed or key in sides[1] else None
        values = whole[key] if key in _INHERITED_RULES else differ[key]
        words = {"question": ids[1], "key": key}
        yield Change(
            _find_key_rule(key),
            *values,
            before,
            after,
            name=key,
            words=words,
            questions=(pairs.find(*ids),),
        )


def _rank_key(key: str) -> int:
    known = [*_OWN_RULES]
    if key in known:
        return known.index(key)
    return len(known) + (2 if is_cosmetic(key) else key in _INHERITED_RULES)


def _find_order_changes(old: QuestionSet, new: QuestionSet) -> Iterator[Change]:
    common = _list_common_ids(old, new)
    before, after = ([id_ for id_ in side.own if id_ in common] for side in (old, new))
    if before != after:
        yield Change(
            "list-reordered", before, after, ("questions",), ("questions",), name="questions"
        )


def _list_common_ids(old: QuestionSet, new: QuestionSet) -> frozenset[str]:
    return frozenset(old.own) & frozenset(new.own)
