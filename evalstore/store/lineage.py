"""Follows a renamed artifact to its former ids."""

from __future__ import annotations

from evalstore.errors import EvalstoreError
from evalstore.model import parse_ref
from evalstore.model.artifact import RENAMED_FROM
from evalstore.store.store import ArtifactStore


def list_former_names(store: ArtifactStore, name: str) -> list[str]:
    """Return the released names (`<kind>/<id>`) that an artifact had before, latest first.

    Its first release under a name says the one before it, or its file if there is no release. What
    cannot be read is ignored.
    """
    names = [name]
    while (
        (former := _find_former_name(store, names[-1]))
        and former not in names
        and _is_released(store, former)
    ):
        names.append(former)
    return names[1:]


def _find_former_name(store: ArtifactStore, name: str) -> str:
    try:
        ref = parse_ref(name)
        first = next(iter(store.releases(ref.kind, ref.id)), None)
        if first is None:
            return store.resolve(ref.with_pin("worktree")).artifact.former_name
        blob = store.find_file_at(first.commit, ref.path)
        # A large file is parsed only if it may say something.
        if blob is None or RENAMED_FROM.encode() not in store.objects.read(blob).data:
            return ""
        return store.resolve(ref.with_pin(str(first.version))).artifact.former_name
    except EvalstoreError:  # whoever reads it for its own sake reports why
        return ""


def _is_released(store: ArtifactStore, name: str) -> bool:
    ref = parse_ref(name)
    return bool(store.releases(ref.kind, ref.id))
