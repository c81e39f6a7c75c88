"""The rounds in which an artifact of a suite is recognised, strongest evidence first."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from evalstore.migration.merging.artifact_groups import ArtifactGroup
from evalstore.migration.merging.stored_artifacts import StoredArtifact

FileStored = Callable[[StoredArtifact, Container[str]], Any]
ListKeys = Callable[[ArtifactGroup, Mapping[str, str]], list[Any]]
# How an artifact of a suite is recognised, strongest evidence first: the key under which a stored
# one is filed (`cases` are those that the suite still has), and the keys by which a group looks for
# it (`pins` are those of the questions).
CONTENT_ROUNDS = 3  # the first rounds
MATCH_ROUNDS: Sequence[tuple[FileStored, ListKeys]] = (
    (
        lambda item, _: (item.origin.case, item.origin.part, item.origin.base),
        lambda group, _: [(*key, group.base) for key in group.keys],
    ),
    (
        lambda item, _: (item.origin.case, item.origin.base),
        lambda group, _: [(key.case, group.base) for key in group.keys],
    ),
    (lambda item, _: None if item.origin.case else item.origin.base, lambda group, _: [group.base]),
    (
        # A judge that the whole suite asks belongs to no case.
        lambda item, _: (
            (item.origin.case, item.origin.part) if item.origin.case or item.origin.part else None
        ),
        lambda group, _: [tuple(key) for key in group.keys],
    ),
    (
        lambda item, cases: None if item.origin.case in cases else item.origin.base,
        lambda group, _: [group.base],
    ),
    (
        lambda item, cases: None if item.origin.case in cases else item.name,
        lambda group, pins: [
            pins[key.case].partition("@")[0] for key in group.keys if key.case in pins
        ],
    ),
)
