"""Finds what a change removes from a store: artifacts, targets and examples in its base."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, LoadError, Place
from evalstore.files import SMALL_FILE
from evalstore.model import Finding, Kind, Ref, parse_ref
from evalstore.model.artifact import RENAMED_FROM, find_former_name
from evalstore.model.example import EXAMPLES, Example, read_examples
from evalstore.places import SETTINGS_FILE
from evalstore.release.changes.base_store import BaseStore
from evalstore.release.integrity_rules import make_finding
from evalstore.store import ArtifactStore
from evalstore.store.repository.objects import is_regular, list_folder
from evalstore.store.working_files import is_blob, read_working_files
from evalstore.text import count_noun

_SUFFIX = ".yaml"
_TARGETS = "targets"


def find_removals(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    """Yield what is gone since the base.

    An artifact that another one names as `renamed_from` continues there, so it is not gone.
    """
    before = dict(_list_base_files(base))
    working = {ref.name: ref for ref in store.working()}
    gone = [name for name in before if name not in working]
    renamed = _find_renamed(store) if gone else {}
    yield from _find_removed_artifacts(base, [name for name in gone if name not in renamed])
    yield from _find_removed_targets(base, store)
    after = {name: working.get(name) or renamed.get(name) for name in before}
    for name, ref in after.items():
        if ref is not None and ref.kind is not Kind.DATASET:
            yield from _find_removed_examples(base, store, before[name], ref)


def _list_base_files(base: BaseStore) -> Iterator[tuple[str, str]]:
    """Yield `<kind>/<id>` and the blob of every artifact at the commit where the change began."""
    commit, prefix = base.origin
    for kind in Kind:
        for file, entry in list_folder(base.store.objects, commit, prefix + kind.folder).items():
            if file.endswith(_SUFFIX) and is_regular(entry):
                yield f"{kind}/{file.removesuffix(_SUFFIX)}", entry.oid


def _find_renamed(store: ArtifactStore) -> Mapping[str, Ref]:
    """Return the working files that declare a former artifact, by that artifact's name."""
    found: dict[str, Ref] = {}
    for ref, data in read_working_files(store, store.working()):
        if data is not None and RENAMED_FROM.encode() in data:
            found[find_former_name(ref.kind, _read_value(data, ref.path))] = ref
    return found


def _find_removed_artifacts(base: BaseStore, gone: list[str]) -> Iterator[Finding]:
    if not gone:
        return
    released = {name for name, ledger in base.ledgers.items() if ledger.lines}
    released |= {release.name for release in base.store.tags.list_releases()}
    # A draft that nobody was graded by may go; one that a target is about may not.
    wanted = released | set(_read_targets(base.settings).values())
    for name in (one for one in gone if one in wanted):
        path = parse_ref(name).path
        restore = shlex.quote(f":/{base.prefix}{path}")
        facts = {"name": name, "base": base.name, "path": restore, "former": name}
        yield make_finding("artifact-removed", Place(path), **facts)


def _find_removed_targets(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    kept = _read_targets(store.settings)
    for target, dataset in _read_targets(base.settings).items():
        if target not in kept:
            facts = {"target": target, "dataset": dataset, "base": base.name}
            yield make_finding("target-removed", Place(SETTINGS_FILE), f"/{_TARGETS}", **facts)


def _read_targets(settings: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the names of the datasets (`dataset/<id>`) that targets are about, by target."""
    targets = settings.get(_TARGETS)
    found: dict[str, str] = {}
    for name, target in (targets if isinstance(targets, Mapping) else {}).items():
        written = target.get("dataset") if isinstance(target, Mapping) else None
        found[str(name)] = str(written or "").partition("@")[0]
    return found


def _find_removed_examples(
    base: BaseStore, store: ArtifactStore, blob: str, ref: Ref
) -> Iterator[Finding]:
    if store.root is None:
        return
    with suppress(LoadError):  # a file that cannot be read is a separate finding
        if is_blob(store.root, ref.path, blob):
            return
    old = base.store.objects.read(blob, SMALL_FILE).data
    if EXAMPLES.encode() not in old:
        return
    new = next((data for _, data in read_working_files(store, [ref]) if data), b"")
    before = [_identify(example) for example in read_examples(_read_value(old, ref.path))]
    kept = {_identify(example) for example in read_examples(_read_value(new, ref.path))}
    if lost := [one for one in before if one not in kept]:
        facts = {
            "name": ref.name,
            "base": base.name,
            "count": len(lost),
            "all": count_noun(len(before), "example"),
        }
        yield make_finding("examples-removed", Place(ref.path), f"/{EXAMPLES}", **facts)


def _identify(example: Example) -> tuple[str, str]:
    """Return what an example asks and expects: its note and its place may change."""
    return example.key, example.expected


def _read_value(data: bytes, path: str) -> dict[str, Any]:
    """Return a file's mapping; an empty one if it has none, which is a separate finding."""
    try:
        value = read_yaml(data, path).value
    except EvalstoreError:
        return {}
    return value if isinstance(value, dict) else {}
