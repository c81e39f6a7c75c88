"""Finds what a change does to the store itself since its base: releases, signers, locks and files that git rewrites."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import suppress

from evalstore.documents import read_json
from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError
from evalstore.files import SMALL_FILE, read_below
from evalstore.languages.schema_comparison import SchemaRelation, compare_schemas
from evalstore.lint.references import locate_bundle
from evalstore.lint.sources import BUNDLE_FOLDER, BUNDLE_SUFFIX
from evalstore.model import Finding
from evalstore.model.lock import LOCK_FILE, NO_LOCK
from evalstore.places import SETTINGS_FILE
from evalstore.release.base_store import BaseStore
from evalstore.release.integrity_rules import make_finding
from evalstore.release.ledger_records import describe_lines, quote_ledger_path
from evalstore.store import ArtifactStore
from evalstore.store.ledger import Ledger, locate_ledger, parse_ledger
from evalstore.store.objects import list_folder
from evalstore.store.revisions import find_head
from evalstore.store.signers import (
    AllowedSigner,
    find_added_signers,
    find_signers_file,
    is_signature_required,
    read_signers,
)
from evalstore.store.store_moves import STORE_FOLDERS
from evalstore.store.working_files import find_rewritten, read_working_files
from evalstore.text import count_noun, make_excerpt


def find_base_changes(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    """Yield what a change takes from the store or from its checks; `store` has the settings that it brings."""
    if base.exists:
        yield from _find_moves(base, store)
        yield from _find_lost_releases(base)
        yield from _find_signer_changes(base, store)
        yield from _find_unlocked(base, store)
        yield from _find_looser_bundles(base, store)
    yield from _find_rewritten(store)


def _find_moves(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    count = sum(len(ledger.lines) for ledger in base.ledgers.values()) or len(base.store.tags.list_releases())
    if count and not store.has_working_file():
        path = "." if base.prefix == store.prefix else shlex.quote(f":/{base.prefix}")  # git: from the top
        yield make_finding(
            "store-emptied", Place(SETTINGS_FILE), base=base.name, count=count_noun(count, "release"), path=path
        )
    if base.prefix not in store.moves.list_prefixes():
        was, now = (prefix.rstrip("/") or "." for prefix in (base.prefix, store.prefix))
        yield make_finding("store-moved", Place(SETTINGS_FILE), base=base.name, was=was, now=now)
    if count and store.settings.get("tag_prefix", "") != base.tag_prefix:
        now = store.settings.get("tag_prefix", "")
        yield make_finding(
            "tag-prefix-changed", Place(SETTINGS_FILE), "/tag_prefix", base=base.name, was=base.tag_prefix, now=now
        )


def _find_lost_releases(base: BaseStore) -> Iterator[Finding]:
    for name, then in base.ledgers.items():
        kept = frozenset(_read_ledger(base, name).raw)
        if lost := parse_ledger(b"\n".join(line for line in then.raw if line not in kept)).lines:
            yield make_finding(
                "ledger-shortened",
                Place(locate_ledger(name)),
                name=name,
                base=base.name,
                lines=describe_lines(lost),
                path=quote_ledger_path(name),
            )


def _read_ledger(base: BaseStore, name: str) -> Ledger:
    try:
        return base.store.ledgers.read(name)
    except EvalstoreError:
        return Ledger()


def _find_signer_changes(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    if not is_signature_required(base.settings):
        return
    if not is_signature_required(store.settings):
        what = "evalstore.yaml no longer says `signed: require`"
        yield make_finding("signers-changed", Place(SETTINGS_FILE), what=what, base=base.name)
        return
    with suppress(EvalstoreError):  # a file that is missing is a finding of its own
        file = find_signers_file(store.settings)
        for signer in find_added_signers(base.read_signers(), read_signers(store)):
            yield make_finding("signers-changed", Place(file), what=_describe_signer(signer), base=base.name)


def _describe_signer(signer: AllowedSigner) -> str:
    who, key = (make_excerpt(part.decode("utf-8", "replace"), 40) for part in (signer.principals, signer.key))
    return f"{who} may sign now ({key})" if key else f"evalstore cannot read the line {who!r}, which may name a signer"


def _find_unlocked(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    try:
        lock = store.lock
    except LoadError:
        lock = NO_LOCK
    gone = [ref for ref in base.lock.refs if ref not in lock.refs]
    if not gone:
        return
    texts = [data for _, data in read_working_files(store, store.working()) if data]
    for ref in gone:
        if any(ref.encode() in text for text in texts):
            yield make_finding("lock-loosened", Place(LOCK_FILE), ref=ref, base=base.name)


def _find_looser_bundles(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    if store.root is None:
        return
    folder = list_folder(store.objects, base.commit, f"{base.prefix}{BUNDLE_FOLDER}")
    names = {name.removesuffix(BUNDLE_SUFFIX) for name in folder if name.endswith(BUNDLE_SUFFIX)}
    declared = base.settings.get(BUNDLE_FOLDER)
    for name in sorted({*names, *(map(str, declared) if isinstance(declared, dict) else ())}):
        before, now = (locate_bundle(settings, name) for settings in (base.settings, store.settings))
        old = base.read_file(before, SMALL_FILE)
        try:
            new = read_below(store.root, now, SMALL_FILE)
        except LoadError:  # a file that is there and cannot be read is a finding of its own
            new = None
        if old is not None and old != new and (what := _describe_looser(old, new)):
            facts = {"name": name, "base": base.name, "what": what, "path": shlex.quote(before)}
            yield make_finding("bundle-loosened", Place(now), **facts)


def _describe_looser(old: bytes, new: bytes | None) -> str:
    """Say how one schema lets more rows through than another; "" where it does not."""
    if new is None:
        return "it is gone"
    try:
        found = compare_schemas(*(read_json(data, BUNDLE_FOLDER).value for data in (old, new)))
    except EvalstoreError:
        return "they cannot be compared"
    if found.relation in {SchemaRelation.ASSUMED, SchemaRelation.INCOMPARABLE, SchemaRelation.LOOSENED}:
        return found.why or (
            f"as with {make_excerpt(json.dumps(found.examples[-1]))}" if found.examples else "it may be"
        )
    return ""


def _find_rewritten(store: ArtifactStore) -> Iterator[Finding]:
    head = find_head(store.git)
    if head is None or store.root is None:
        return
    for folder in STORE_FOLDERS:
        try:
            list_folder(store.objects, head, store.prefix + folder)
        except RefusedError as error:
            yield make_finding("folder-replaced", Place(folder), path=folder, message=error.message)
    for path, attribute in find_rewritten(store, head):
        yield make_finding("file-rewritten", Place(path), path=path, attribute=attribute)
