"""Finds what a change takes away: artifacts, and examples of those that stay; a removal is no edit of what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from evalstore.documents import Document, read_yaml
from evalstore.documents.json_writer import write_canonical
from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding, Kind, Ref, parse_ref
from evalstore.model.example import EXAMPLES
from evalstore.release.base_store import BaseStore
from evalstore.release.integrity_rules import make_finding
from evalstore.store import ArtifactStore
from evalstore.store.artifacts import ARTIFACT_LIMIT
from evalstore.store.repository.objects import list_folder
from evalstore.text import count_noun


def find_removals(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    """Yield the artifacts that the branch began with and no longer has, and those that lost examples.

    An artifact that says where its releases go on (`renamed_from`) takes nothing away.
    """
    present = {ref.name: ref for ref in store.working()}
    listed = dict(_list_artifacts(base))
    gone = [name for name in listed if name not in present]
    renamed = (
        set(_list_former_names(store, [ref for name, ref in present.items() if name not in listed])) if gone else set()
    )
    for name in gone:
        if name not in renamed:
            ref = parse_ref(name)
            yield make_finding("artifact-removed", Place(ref.path), name=name, base=base.name, path=ref.path)
    for name, oid in listed.items():
        if name in present and present[name].kind is not Kind.DATASET:
            yield from _find_lost_examples(base, store, present[name], oid)


def _list_artifacts(base: BaseStore) -> Iterator[tuple[str, str]]:
    """Yield the name of every artifact of the commit from which the branch began, and the blob of its file."""
    for kind in Kind:
        for file, entry in sorted(
            list_folder(base.store.objects, base.fork, f"{base.fork_prefix}{kind.folder}").items()
        ):
            if file.endswith(".yaml"):
                yield f"{kind}/{file.removesuffix('.yaml')}", entry.oid


def _list_former_names(store: ArtifactStore, refs: list[Ref]) -> Iterator[str]:
    for ref in refs:
        with suppress(EvalstoreError):  # a file that cannot be read is a finding of `validate`
            if former := store.resolve(ref).artifact.former_name:
                yield former


def _find_lost_examples(base: BaseStore, store: ArtifactStore, ref: Ref, oid: str) -> Iterator[Finding]:
    data = base.store.objects.read(oid, ARTIFACT_LIMIT).data
    if EXAMPLES.encode() not in data:
        return
    with suppress(EvalstoreError):  # a file that cannot be read is a finding of `validate`
        document = store.resolve(ref).artifact.document
        kept = {write_canonical(one) for one in _read_examples(document.value)}
        lost = [one for one in _read_examples(read_yaml(data, ref.path).value) if write_canonical(one) not in kept]
        if lost:
            yield _make_example_finding(base, ref, document, len(lost))


def _make_example_finding(base: BaseStore, ref: Ref, document: Document, count: int) -> Finding:
    place = document.locate((EXAMPLES,)) if EXAMPLES in document.value else Place(ref.path)
    return make_finding("examples-removed", place, name=ref.name, base=base.name, count=count_noun(count, "example"))


def _read_examples(value: Any) -> list[Any]:
    found = value.get(EXAMPLES) if isinstance(value, Mapping) else None
    return found if isinstance(found, list) else []
