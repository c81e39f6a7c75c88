"""Accepts one change of the working tree at a lower level.

The acceptance is written to .evalstore/accepted.yaml, for review.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple

from evalstore.diff import AcceptedLevel, DiffFinding
from evalstore.documents import encode_document, write_yaml
from evalstore.documents.edit import put_item
from evalstore.errors import RefError, RefusedError, UsageError
from evalstore.lint import ACCEPTED
from evalstore.release.changes.acceptances import Acceptance, read_accepted_file, read_change_policy
from evalstore.release.changes.status import survey_store
from evalstore.release.changes.values import ArtifactState, ArtifactStatus
from evalstore.release.transactions.checkout import complete_signature
from evalstore.release.transactions.locking import lock_repository, write_locked_file
from evalstore.store import ArtifactStore
from evalstore.store.repository.config import read_config
from evalstore.versions import Bump, Version, parse_version

_LOWER = {Bump.MAJOR: Bump.MINOR, Bump.MINOR: Bump.PATCH}
_REASON = 1000  # characters
_HEADER = (
    "# yaml-language-server: $schema=schema/accepted.schema.json\n# Written by evalstore accept; "
    "review it like code.\n"
)


class AcceptOptions(NamedTuple):
    """Why a change is accepted, at which level, and until when.

    Without `level` it is one lower; without `until` it counts until the next release.
    """

    reason: str
    level: Bump | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class WrittenAcceptance:
    """A written acceptance, its file, and its artifact's status with it."""

    acceptance: Acceptance
    file: str
    status: ArtifactStatus


def accept(
    store: ArtifactStore,
    fingerprint: str,
    options: AcceptOptions,
    *,
    today: date,
    signature: Mapping[str, str],
) -> WrittenAcceptance:
    """Accept the change with this fingerprint at a lower level.

    It is a change of a working file since its last release. `signature` has git's GIT_AUTHOR_*
    variables, to override the user's settings. Raises `RefError` if there is no such change, and
    `RefusedError` if its level cannot be lowered that way.
    """
    options = options._replace(reason=_check_reason(options.reason))
    if options.until and options.until < today:
        raise UsageError(
            f"{options.until} is in the past, so the acceptance would have no effect",
            hint="name a later day, or leave --until out",
        )
    if store.root is None:
        raise RefusedError("a bare repository has no changes to accept", hint="run it in a clone")
    with lock_repository(store, signature) as repository:
        # Without earlier acceptances: accepting a change again starts from the rule's level.
        policy = replace(read_change_policy(store, today), acceptances=())
        status, finding = _find_change(survey_store(store, policy).artifacts, fingerprint)
        identity = complete_signature(read_config(repository.git), signature)
        by = f"{identity['GIT_AUTHOR_NAME']} <{identity['GIT_AUTHOR_EMAIL']}>"
        accepted = AcceptedLevel(
            _choose_level(finding, options.level),
            finding.level,
            options.reason,
            by,
            today,
            options.until,
        )
        since = parse_version(status.released or "")
        acceptance = Acceptance(
            status.ref, since, finding.fingerprint, finding.rule, finding.message, accepted
        )
        write_locked_file(store.root, ACCEPTED, insert_acceptance(store, acceptance))
    after = survey_store(store, read_change_policy(store, today)).artifacts
    return WrittenAcceptance(
        acceptance, ACCEPTED, next(other for other in after if other.ref == status.ref)
    )


def _find_change(
    statuses: Sequence[ArtifactStatus], fingerprint: str
) -> tuple[ArtifactStatus, DiffFinding]:
    pairs = [(status, finding) for status in statuses for finding in status.findings]
    for status, finding in pairs:
        if finding.fingerprint == fingerprint:
            return status, finding
    for status, finding in pairs:
        if any(child.fingerprint == fingerprint for child in _list_descendants(finding)):
            message = (
                f"{fingerprint} is part of {finding.rule} of {status.ref}, which you can accept "
                "only as a whole"
            )
            raise RefError(message, hint=f"evalstore accept {finding.fingerprint}")
    broken = next((status.ref for status in statuses if status.state is ArtifactState.BROKEN), None)
    hint = (
        f"{broken} cannot be compared: evalstore status"
        if broken
        else "list the fingerprints: evalstore diff REF"
    )
    raise RefError(f"no change since a last release has the fingerprint {fingerprint}", hint=hint)


def _list_descendants(finding: DiffFinding) -> Iterable[DiffFinding]:
    for child in finding.children:
        yield child
        yield from _list_descendants(child)


def _choose_level(finding: DiffFinding, chosen: Bump | None) -> Bump:
    level = chosen or _LOWER.get(finding.level, finding.level)
    if level >= finding.level:
        raise RefusedError(
            (
                f"{finding.rule} needs {'only ' if finding.level is Bump.PATCH else ''}a "
                f"{finding.level} bump as it is"
            ),
            hint="a noticeable change needs at least a patch, so there is nothing to accept",
        )
    return level


def _check_reason(text: str) -> str:
    words = " ".join(text.split())
    if not words or len(words) > _REASON:
        raise UsageError(
            f"the reason has {len(words)} characters",
            hint=f"say in 1 to {_REASON} characters why a lower level is enough",
        )
    return words


def insert_acceptance(store: ArtifactStore, acceptance: Acceptance) -> bytes:
    """Return the bytes of the file with one more entry.

    It replaces an older entry for the same change. Entries take several lines each, in order, so
    that two branches seldom touch the same lines; comments and layout stay.
    """
    document, entry = read_accepted_file(store), _format_entry(acceptance)
    if document is None:
        return write_yaml({"accepted": [entry]}, header=_HEADER).encode()
    key, keys = (
        _acceptance_key(entry),
        [_acceptance_key(other) for other in document.value["accepted"]],
    )
    is_replaced = key in keys
    index = keys.index(key) if is_replaced else sum(other < key for other in keys)
    return encode_document(put_item(document, "accepted", index, entry, replace=is_replaced))


def _acceptance_key(entry: Mapping[str, Any]) -> tuple[str, Version, str]:
    return entry["artifact"], parse_version(entry["since"]), entry["fingerprint"]


def _format_entry(acceptance: Acceptance) -> dict[str, str]:
    accepted = acceptance.accepted
    return {
        "artifact": acceptance.artifact,
        "since": str(acceptance.since),
        "fingerprint": acceptance.fingerprint,
        "rule": acceptance.rule,
        "change": acceptance.change,
        "was": str(accepted.was),
        "level": str(accepted.level),
        "reason": accepted.reason,
        **({"until": str(accepted.until)} if accepted.until else {}),
        "by": accepted.by,
        "day": str(accepted.day),
    }
