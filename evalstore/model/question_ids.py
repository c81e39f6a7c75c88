"""Earlier ids of questions, and their ids on another side."""

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
    """Return the new ids, by old id, that a migration noted for questions renamed at the source."""
    known = (row for row in rows if isinstance(row, Mapping) and isinstance(row.get("id"), str))
    return {former: row["id"] for row in known if (former := read_former_id(row))}


def list_later_ids(renames: Mapping[str, str], id_: str) -> list[str]:
    """Return the later ids of a question, following one rename after another; a cycle ends them."""
    names = [id_]
    while (after := renames.get(names[-1])) is not None and after not in names:
        names.append(after)
    return names[1:]


def match_contents(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Return the ids that questions have on the other side, matched by content.

    Both sides are digests by id.

    An id with the same content on both sides stays. The others match if exactly one question on
    each side has that content; empty content matches nothing.
    """
    changed = {id_: content for id_, content in old.items() if new.get(id_) != content}
    others = (id_ for id_ in new if id_ in changed or id_ not in old)
    before = _index_unique(changed.items())
    after = _index_unique((id_, new[id_]) for id_ in others)
    return {id_: after[content] for content, id_ in before.items() if content in after}


def build_names(paired: Mapping[str, str], ids: Container[str]) -> dict[str, str]:
    """Return names for run A's questions other than their ids: `paired` ones get those of B.

    A question of A (`ids`) whose id another question takes gets a name that B does not have.
    """
    taken = sorted(id_ for id_ in paired.values() if id_ in ids and id_ not in paired)
    return {**paired, **{id_: f"{id_} (in A)" for id_ in taken}}


def _index_unique(ids: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return ids by content, if no other id has the same content."""
    found = [*ids]
    counts = Counter(content for _, content in found)
    return {content: id_ for id_, content in found if content and counts[content] == 1}


def match_renames(
    renames: Mapping[str, str], is_before: Callable[[str], bool], is_after: Callable[[str], bool]
) -> dict[str, str]:
    """Return the ids that questions of one side have on the other, by their old ids.

    If two questions could have become the same one, neither matches.
    """
    found: dict[str, str] = {}
    for id_ in renames:
        if is_before(id_) and not is_after(id_):
            later = list_later_ids(renames, id_)
            name = next((name for name in later if is_after(name) and not is_before(name)), None)
            found |= {} if name is None else {id_: name}
    taken = Counter(found.values())
    return {id_: name for id_, name in found.items() if taken[name] == 1}
