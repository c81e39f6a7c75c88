"""The ids that questions have had, and those that they have on another side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any


def read_former_id(row: Mapping[str, Any]) -> str | None:
    """Return the id that a question had before its source renamed it."""
    source = row.get("x_source")
    former = source.get("renamed_from") if isinstance(source, Mapping) else None
    return former if isinstance(former, str) else None


def list_noted_renames(rows: Iterable[Any]) -> dict[str, str]:
    """Return the ids that a migration noted of questions that their source renamed, by old id."""
    known = (row for row in rows if isinstance(row, Mapping) and isinstance(row.get("id"), str))
    return {former: row["id"] for row in known if (former := read_former_id(row))}


def list_later_ids(renames: Mapping[str, str], id_: str) -> list[str]:
    """Return the later ids of a question, one rename after the other; a circle ends them."""
    names = [id_]
    while (after := renames.get(names[-1])) is not None and after not in names:
        names.append(after)
    return names[1:]


def match_contents(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Return the ids that questions have on the other side, by content.

    Both sides are digests by id.

    An id with one content on both sides stays. Of the others, those match of which each side has
    one question with that content; an empty one says nothing.
    """
    changed = {id_: content for id_, content in old.items() if new.get(id_) != content}
    others = (id_ for id_ in new if id_ in changed or id_ not in old)
    before = _index_unique(changed.items())
    after = _index_unique((id_, new[id_]) for id_ in others)
    return {id_: after[content] for content, id_ in before.items() if content in after}


def build_names(paired: Mapping[str, str], ids: Container[str]) -> dict[str, str]:
    """Return names of run A's questions other than their ids: `paired` have those of B.

    A question of A (`ids`) whose id another one takes gets a name that B does not have.
    """
    taken = sorted(id_ for id_ in paired.values() if id_ in ids and id_ not in paired)
    return {**paired, **{id_: f"{id_} (in A)" for id_ in taken}}


def _index_unique(ids: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return ids by their content, where no other has the same."""
    found = [*ids]
    counts = Counter(content for _, content in found)
    return {content: id_ for id_, content in found if content and counts[content] == 1}


def match_renames(
    renames: Mapping[str, str], is_before: Callable[[str], bool], is_after: Callable[[str], bool]
) -> dict[str, str]:
    """Return the ids that questions of one side have on the other, by their old ones.

    Where two questions could have become one, neither has.
    """
    found: dict[str, str] = {}
    for id_ in renames:
        if is_before(id_) and not is_after(id_):
            later = list_later_ids(renames, id_)
            name = next((name for name in later if is_after(name) and not is_before(name)), None)
            found |= {} if name is None else {id_: name}
    taken = Counter(found.values())
    return {id_: name for id_, name in found.items() if taken[name] == 1}
