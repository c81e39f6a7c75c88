"""Finds the changes of a dataset: its defaults, and its questions paired by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from evalstore.diff.change import Change
from evalstore.diff.changes.edit_script import build_key_change, find_key_changes
from evalstore.documents import Pointer, write_canonical
from evalstore.model import is_cosmetic
from evalstore.model.question_ids import list_noted_renames, match_renames

Row = Mapping[str, Any]
# The keys of a question that ask and that grade, in the order in which they are edited.
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

    def fill_whole(self, id_: str) -> dict[str, Any]:
        """Return a question with all defaults."""
        return {**self.defaults, **self.own[id_]}


def read_question_set(value: Row) -> QuestionSet | None:
    """Read a dataset's questions, or the rows that stand in their place; None when its schema would refuse them."""
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
    """Yield the edits between two sides' questions; `renames` are the declared new ids by old ones."""
    # Declared renames are followed first: such a question may have other content as well. The
    # others pair by content.
    known = {**list_noted_renames(new.own.values()), **renames}
    matched = match_renames(known, old.own.__contains__, new.own.__contains__)
    renamed = {id_: matched[id_] for id_ in old.own if id_ in matched}
    renamed |= _match_equal_content(old, new, renamed)
    yield from _find_default_changes(
        old, new, {**{id_: id_ for id_ in _list_common_ids(old, new)}, **renamed}
    )
    for before, after in renamed.items():
        yield from _find_row_changes(old, new, (before, after))
    for id_ in old.own:
        if id_ not in new.own and id_ not in renamed:
            words = {"question": id_}
            yield Change(
                "question-removed", dict(old.own[id_]), None, old.find_place(id_), None, words=words
            )
    for id_ in new.own:
        if id_ in old.own:
            # What is one object was one line: only its defaults can differ, and they are compared
            # by themselves.
            if old.own[id_] is not new.own[id_]:
                yield from _find_row_changes(old, new, (id_, id_))
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
    sides = ((old, {*new.own, *known}), (new, {*old.own, *known.values()}))
    removed, added = (
        {_canonicalise_content(side.fill_row(id_)): id_ for id_ in side.own if id_ not in paired}
        for side, paired in sides
    )
    return {removed[content]: added[content] for content in removed if content in added}


def _canonicalise_content(row: Row) -> str:
    return write_canonical({key: item for key, item in row.items() if key != "id"})


def _find_default_changes(
    old: QuestionSet, new: QuestionSet, pairs: Mapping[str, str]
) -> Iterator[Change]:
    defaults = dict(old.defaults)
    for key, (before, after) in find_key_changes(old.defaults, new.defaults).items():
        at: Pointer = ("defaults", key)
        users = [
            id_ for id_, now in pairs.items() if key not in old.own[id_] and key not in new.own[now]
        ]
        many = f"{len(users)} question{'' if len(users) == 1 else 's'}"
        words = {"question": f"the default of {many}", "key": key, "users": str(len(users))}
        change = Change("unclassified-change", before, after, at, at, name=key, words=words)
        if key in _INHERITED_RULES:
            yield replace(change, rule=_INHERITED_RULES[key])
            continue
        # What a question inherits is read as if it were written there.
        edited = (
            {**defaults, key: after}
            if key in new.defaults
            else {k: v for k, v in defaults.items() if k != key}
        )
        rows = [
            (
                _add_graders(old, id_, {**defaults, **old.own[id_]}),
                _add_graders(new, pairs[id_], {**edited, **old.own[id_]}),
            )
            for id_ in users
        ]
        rule = _OWN_RULES.get(
            key, "metadata-changed" if is_cosmetic(key) else "extension-field-changed"
        )
        yield replace(
            change, rule=rule, question=rows[0] if rows else None, other_questions=tuple(rows[1:])
        )
        defaults = edited


def _find_row_changes(old: QuestionSet, new: QuestionSet, ids: tuple[str, str]) -> Iterator[Change]:
    at = (old.find_place(ids[0]), new.find_place(ids[1]))
    old_row, new_row = old.own[ids[0]], new.own[ids[1]]
    whole = (old.fill_whole(ids[0]), new.fill_whole(ids[1]))
    for change in _find_own_changes(old, new, ids):
        has_other_rubric = whole[0].get("rubric_ref") != whole[1].get("rubric_ref")
        yield replace(change, whole_question=whole) if has_other_rubric else change
    differ = find_key_changes(old.fill_row(ids[0]), new.fill_row(ids[1]))
    for key, rule in _INHERITED_RULES.items():
        if key in differ and (key in old_row or key in new_row):
            words = {"question": ids[1], "key": key}
            yield Change(
                rule,
                *differ[key],
                (*at[0], key),
                (*at[1], key),
                name=key,
                words=words,
                whole_question=whole,
            )
    for key in filter(is_cosmetic, find_key_changes(old_row, new_row)):
        yield build_key_change("metadata-changed", key, (old_row, new_row), at).with_words(
            question=ids[1]
        )


def _find_own_changes(old: QuestionSet, new: QuestionSet, ids: tuple[str, str]) -> Iterator[Change]:
    """Yield the edits of a question's own keys, each with the question just before and just after it."""
    at = (old.find_place(ids[0]), new.find_place(ids[1]))
    old_row, new_row = old.own[ids[0]], new.own[ids[1]]
    differ = find_key_changes(old_row, new_row)
    # The defaults were edited before: what a question inherits on both sides is as it is now.
    inherited = {key: item for key, item in new.defaults.items() if key not in differ}
    inherited |= {key: item for key, item in old.defaults.items() if key in differ}
    current = {
        key: item for key, item in {**inherited, **old_row}.items() if key not in _INHERITED_RULES
    }
    # Some rubric may take values from keys that no schema knows. They are edited by name, in
    # whatever order they stand: of a check that takes two of them, what is said of one depends on
    # whether the other is there yet.
    ruled = {*_OWN_RULES, *_INHERITED_RULES, "id"}
    extra = sorted(key for key in differ if not is_cosmetic(key) and key not in ruled)
    for key in (*filter(differ.__contains__, _OWN_RULES), *extra):
        edited = {name: item for name, item in current.items() if name != key}
        edited |= {key: side[key] for side in (new.defaults, new_row) if key in side}  # noqa: B035  # the last one wins
        yield Change(
            _OWN_RULES.get(key, "extension-field-changed"),
            *differ[key],
            (*at[0], key) if key in old_row or key in _OWN_RULES else None,
            (*at[1], key) if key in new_row or key in _OWN_RULES else None,
            name=key,
            words={"question": ids[1], "key": key},
            question=(_add_graders(old, ids[0], current), _add_graders(new, ids[1], edited)),
        )
        current = edited


def _add_graders(side: QuestionSet, id_: str, row: Row) -> Row:
    """Return a row with the rubric and bundle that grade it on this side, its own before the defaults'."""
    graders = {**side.defaults, **side.own[id_]}
    asked = {key: item for key, item in row.items() if key not in _INHERITED_RULES}
    return {**asked, **{key: graders[key] for key in _INHERITED_RULES if key in graders}}


def _find_order_changes(old: QuestionSet, new: QuestionSet) -> Iterator[Change]:
    common = _list_common_ids(old, new)
    before, after = ([id_ for id_ in side.own if id_ in common] for side in (old, new))
    if before != after:
        yield Change(
            "list-reordered", before, after, ("questions",), ("questions",), name="questions"
        )


def _list_common_ids(old: QuestionSet, new: QuestionSet) -> frozenset[str]:
    return frozenset(old.own) & frozenset(new.own)
