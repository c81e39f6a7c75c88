"""The gate: validate, verify and status of a change, judged by its base.

It also says what the change does to the store.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from evalstore.documents import read_json
from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError
from evalstore.files import SMALL_FILE, read_below
from evalstore.languages.schema_comparison import SchemaRelation, compare_schemas
from evalstore.lint import find_store_sources
from evalstore.lint.bundles import locate_bundle
from evalstore.lint.sources import BUNDLE_FOLDER, BUNDLE_SUFFIX
from evalstore.model import Finding, Findings, Severity
from evalstore.model.lock import LOCK_FILE, NO_LOCK, Lock
from evalstore.places import SETTINGS_FILE
from evalstore.progress import Watch
from evalstore.release.changes.base_policy import judge_by_base
from evalstore.release.changes.base_store import BaseStore, read_base_store
from evalstore.release.changes.status import read_status
from evalstore.release.changes.validator import make_validator
from evalstore.release.changes.values import Status
from evalstore.release.integrity.verify import Verification, verify
from evalstore.release.integrity_rules import make_finding
from evalstore.release.records.base_removals import find_removals
from evalstore.release.records.ledger_records import describe_lines, quote_ledger_path
from evalstore.store import ArtifactStore
from evalstore.store.ledger import Ledger, locate_ledger, parse_ledger
from evalstore.store.repository.objects import list_folder
from evalstore.store.revisions import find_head
from evalstore.store.signers import (
    AllowedSigner,
    find_added_signers,
    find_signers_file,
    is_signature_required,
    read_signers,
)
from evalstore.store.store_detection import require_artifacts
from evalstore.store.store_moves import STORE_FOLDERS
from evalstore.store.working_files import find_rewritten, read_working_files
from evalstore.text import count_noun, make_excerpt


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What judges a change besides its base: the time, strictness and outside signers.

    Without `signers`, those of the base count. `watches` wrap the iterations of validate, verify
    and status (progress bars), by name; `whole` gives every finding its line of the file.
    """

    now: datetime
    strict: bool = False
    signers: bytes | None = None
    whole: bool = False
    watches: Mapping[str, Watch[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GateResult:
    """What validate, verify and status say about a change since a base, and what it does.

    `strict`: the store, its base or the caller allows no finding at all.
    """

    base: str
    strict: bool
    findings: tuple[Finding, ...]
    validation: Findings
    verification: Verification
    status: Status

    @property
    def ok(self) -> bool:
        """Whether the change may be merged."""
        passed = {Severity.INFO} if self.strict else {Severity.INFO, Severity.WARNING}
        found = chain(self.findings, self.validation.findings, self.status.findings)
        return (
            self.verification.ok
            and self.status.ok
            and all(finding.severity in passed for finding in found)
        )

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Every finding once: what several of the three commands say is reported by the first."""
        found = (
            self.findings,
            self.validation.findings,
            self.verification.findings,
            self.status.findings,
        )
        return tuple(dict.fromkeys(chain.from_iterable(found)))


def check_change(
    store: ArtifactStore, base: str, options: GateOptions, *, folder: Path | None = None
) -> GateResult:
    """Judge the working tree as a change since `base`, a revision; raises like the three commands.

    Releases are those with the base's tag prefix; of both settings, the stricter count; signers,
    locks, ledgers and acceptances are the base's. `folder` is where the store was looked for, and
    where the base has it. Raises `RefusedError` in a bare repository.
    """
    if store.root is None:
        raise RefusedError(
            "a bare repository has no working files to check", hint="run it in a clone"
        )
    before = read_base_store(store, base, folder or store.root)
    after = before.store  # with the settings of the change, and the releases of the base
    changes = tuple(find_base_changes(before, store))
    if not any(finding.rule == "store-emptied" for finding in changes):
        require_artifacts(after)
    validation = _validate(after, before, options)
    watch = options.watches.get("verify", iter)
    return GateResult(
        before.commit,
        options.strict or store.strict or before.settings.get("strict") is True,
        changes,
        validation,
        verify(after, watch=watch, signers=options.signers, base=before, now=options.now),
        read_status(
            after,
            today=options.now.date(),
            base=before.commit,
            watch=options.watches.get("status", iter),
        ),
    )


def _validate(store: ArtifactStore, base: BaseStore, options: GateOptions) -> Findings:
    sources = list(find_store_sources(store.root)) if store.root else []
    validate_by = make_validator(
        store if _find_lock(store).exists else store.without_lock(),
        sources,
        today=options.now.date(),
        strict=options.strict,
        watch=options.watches.get("validate", iter),
        whole=options.whole,
    )
    found = validate_by(settings=store.settings)
    return judge_by_base(store, base.commit, found, lambda settings: validate_by(settings=settings))


def _find_lock(store: ArtifactStore) -> Lock:
    """Return the lock to rely on; empty if it cannot be read, which is a separate finding."""
    try:
        return store.lock
    except LoadError:
        return NO_LOCK


def find_base_changes(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    """Yield what a change removes from the store or from its checks.

    `store` has the settings that the change brings.
    """
    if base.exists:
        yield from _find_moves(base, store)
        yield from _find_lost_releases(base)
        yield from find_removals(base, store)
        yield from _find_signer_changes(base, store)
        yield from _find_unlocked(base, store)
        yield from _find_looser_bundles(base, store)
    yield from _find_rewritten(store)


def _find_moves(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    count = sum(len(ledger.lines) for ledger in base.ledgers.values()) or len(
        base.store.tags.list_releases()
    )
    if count and not store.has_working_file():
        # `:/` is the top for git.
        path = "." if base.prefix == store.prefix else shlex.quote(f":/{base.prefix}")
        yield make_finding(
            "store-emptied",
            Place(SETTINGS_FILE),
            base=base.name,
            count=count_noun(count, "release"),
            path=path,
        )
    if base.prefix not in store.moves.list_prefixes():
        was, now = (prefix.rstrip("/") or "." for prefix in (base.prefix, store.prefix))
        yield make_finding("store-moved", Place(SETTINGS_FILE), base=base.name, was=was, now=now)
    if count and store.settings.get("tag_prefix", "") != base.tag_prefix:
        now = store.settings.get("tag_prefix", "")
        yield make_finding(
            "tag-prefix-changed",
            Place(SETTINGS_FILE),
            "/tag_prefix",
            base=base.name,
            was=base.tag_prefix,
            now=now,
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
    is_required = is_signature_required(base.settings)
    if is_required and not is_signature_required(store.settings):
        what = "evalstore.yaml no longer says `signed: require`"
        yield make_finding("signers-changed", Place(SETTINGS_FILE), what=what, base=base.name)
        return
    with suppress(EvalstoreError):  # a missing file is a separate finding
        file = find_signers_file(store.settings)
        new = read_signers(store)
        for signer in find_added_signers(_read_base_signers(base), new):
            yield make_finding(
                "signers-changed" if is_required else "signer-added",
                Place(file),
                what=_describe_signer(signer),
                base=base.name,
            )


def _read_base_signers(base: BaseStore) -> bytes:
    """Return who may sign according to the base; nobody if it has no file and needs none."""
    try:
        return base.read_signers()
    except EvalstoreError:
        if is_signature_required(base.settings):
            raise
        return b""


def _describe_signer(signer: AllowedSigner) -> str:
    parts = (signer.principals, signer.key)
    who, key = (make_excerpt(part.decode("utf-8", "replace"), 40) for part in parts)
    if not key:
        return f"evalstore cannot read the line {who!r}, which may name a signer"
    return f"{who} may sign now ({key})"


def _find_unlocked(base: BaseStore, store: ArtifactStore) -> Iterator[Finding]:
    lock = _find_lock(store)
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
        before, now = (
            locate_bundle(settings, name) for settings in (base.settings, store.settings)
        )
        old = base.store.read_file_at(base.commit, before, SMALL_FILE)
        try:
            new = read_below(store.root, now, SMALL_FILE)
        except LoadError:  # an existing file that cannot be read is a separate finding
            new = None
        if old is not None and old != new and (what := _describe_looser(old, new)):
            facts = {"name": name, "base": base.name, "what": what, "path": shlex.quote(before)}
            yield make_finding("bundle-loosened", Place(now), **facts)


def _describe_looser(old: bytes, new: bytes | None) -> str:
    """Say how one schema allows more rows than another; "" if it does not."""
    if new is None:
        return "it is gone"
    try:
        found = compare_schemas(*(read_json(data, BUNDLE_FOLDER).value for data in (old, new)))
    except EvalstoreError:
        return "they cannot be compared"
    if found.relation in {
        SchemaRelation.ASSUMED,
        SchemaRelation.INCOMPARABLE,
        SchemaRelation.LOOSENED,
    }:
        return found.why or (
            f"as with {make_excerpt(json.dumps(found.examples[-1]))}"
            if found.examples
            else "it may be"
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
