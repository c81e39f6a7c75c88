"""The gate: validate, verify and status of a change at once, judged by what its base says and not by what it brings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from evalstore.errors import LoadError, RefusedError
from evalstore.lint import find_store_sources
from evalstore.model import Finding, Findings, Severity
from evalstore.release.base_changes import find_base_changes
from evalstore.release.base_policy import judge_by_base
from evalstore.release.base_store import BaseStore, read_base_store
from evalstore.release.status import read_status
from evalstore.release.status_values import Status
from evalstore.release.validator import make_validator
from evalstore.release.verify import Verification, verify
from evalstore.store import ArtifactStore
from evalstore.store.presence import require_artifacts

Watch = Callable[[Sequence[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class GateOptions:
    """What a change is judged by besides its base: the time, strictness, and signers from elsewhere (None: the base's).

    `watches` wrap the iterations of validate, verify and status (progress bars) by their names; `whole` gives every
    finding its line of the file.
    """

    now: datetime
    strict: bool = False
    signers: bytes | None = None
    whole: bool = False
    watches: Mapping[str, Watch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GateResult:
    """What validate, verify and status say of a change since a base (a commit), and what it does to the store itself.

    `strict`: the store, its base or the caller wants no finding at all.
    """

    base: str
    strict: bool
    findings: tuple[Finding, ...]
    validation: Findings
    verification: Verification
    status: Status

    @property
    def ok(self) -> bool:
        """Whether the change may go in."""
        passed = {Severity.INFO} if self.strict else {Severity.INFO, Severity.WARNING}
        found = chain(self.findings, self.validation.findings, self.status.findings)
        return self.verification.ok and self.status.ok and all(finding.severity in passed for finding in found)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Every finding once: what several of the three commands say is said by the first."""
        found = (self.findings, self.validation.findings, self.verification.findings, self.status.findings)
        return tuple(dict.fromkeys(chain.from_iterable(found)))


def check_change(store: ArtifactStore, base: str, options: GateOptions, *, folder: Path | None = None) -> GateResult:
    """Judge the working tree as a change since `base`, a revision; raises as the three commands do.

    Releases are those of the base's tag prefix; settings count where they are the stricter of both; signers, locks,
    ledgers and acceptances are the base's. `folder` is where the store was looked for, and where the base has it.
    Raises `RefusedError` in a bare repository.
    """
    if store.root is None:
        raise RefusedError("a bare repository has no working files to check", hint="run it in a clone")
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
        read_status(after, today=options.now.date(), base=before.commit, watch=options.watches.get("status", iter)),
    )


def _validate(store: ArtifactStore, base: BaseStore, options: GateOptions) -> Findings:
    sources = list(find_store_sources(store.root)) if store.root else []
    validate_by = make_validator(
        store if _has_lock(store) else store.without_lock(),
        sources,
        today=options.now.date(),
        strict=options.strict,
        watch=options.watches.get("validate", iter),
        whole=options.whole,
    )
    found = validate_by(settings=store.settings)
    return judge_by_base(store, base.commit, found, lambda settings: validate_by(settings=settings))


def _has_lock(store: ArtifactStore) -> bool:
    """Whether there is a lock to go by; what is wrong with it is a finding."""
    try:
        return store.lock.exists
    except LoadError:
        return False
