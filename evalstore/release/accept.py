"""Accept: one change of the working tree at a lower level, written into the file that people review."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple

from evalstore.diff import AcceptedLevel, DiffFinding
from evalstore.documents import encode_document, write_yaml
from evalstore.documents.edit import put_item
from evalstore.errors import RefError, RefusedError, UsageError
from evalstore.files import sweep_below, write_below
from evalstore.release.git_state import complete_signature as complete
from evalstore.status.acceptances import Acceptance, read_accepted_file, read_change_policy
from evalstore.status.status import survey_store
from evalstore.status.values import ArtifactState, ArtifactStatus
from evalstore.store import ArtifactStore
from evalstore.transactions.locking import lock_repository
from evalstore.validation import ACCEPTED
from evalstore.versions import Bump, Version, parse_version

_LOWER = {Bump.MAJOR: Bump.MINOR, Bump.MINOR: Bump.PATCH}
_REASON = 1000  # characters


class AcceptOptions(NamedTuple):
    """What is asked for: why, down to which level (None: one lower), and until which day (None: the next release)."""

    reason: str
    level: Bump | None = None
    until: date | None = None


@dataclass(frozen=True, slots=True)
class WrittenAcceptance:
    """An acceptance that was written, in which file, and where its artifact stands with it."""

    acceptance: Acceptance
    file: str
    standing: ArtifactStatus


def accept(
    store: ArtifactStore, fingerprint: str, options: AcceptOptions, *, today: date, signature: Mapping[str, str]
) -> WrittenAcceptance:
    """Accept the change with this fingerprint, of a working file since its last release, at a lower level.

    `signature` holds git's GIT_AUTHOR_* variables where they should not come from the user's settings. Raises
    `RefError` where there is no such change, and `RefusedError` where its level cannot be lowered so.
    """
    options = options._replace(reason=_check_reason(options.reason))
    if options.until and options.until < today:
        raise UsageError(f"{options.until} is past, so it would accept nothing", hint="name a day to come, or none")
    if store.root is None:
        raise RefusedError("a bare repository has no changes to accept", hint="run it in a clone")
    with lock_repository(store, signature) as repository:
        # What was accepted before does not count here: whoever looks again looks at the rule's level.
        policy = replace(read_change_policy(store, today), acceptances=())
        standing, finding = _find_change(survey_store(store, policy).artifacts, fingerprint)
        signed = complete(repository.git, signature)
        by = f"{signed['GIT_AUTHOR_NAME']} <{signed['GIT_AUTHOR_EMAIL']}>"
        told = AcceptedLevel(
            _choose_level(finding, options.level), finding.level, options.reason, by, today, options.until
        )
        since = parse_version(standing.released or "")
        acceptance = Acceptance(standing.ref, since, finding.fingerprint, finding.rule, finding.message, told)
        sweep_below(store.root, ACCEPTED)  # what a killed one left; the lock keeps the living out
        write_below(store.root, ACCEPTED, insert_acceptance(store, acceptance))
    after = survey_store(store, read_change_policy(store, today)).artifacts
    return WrittenAcceptance(acceptance, ACCEPTED, next(one for one in after if one.ref == standing.ref))


def _find_change(standings: Sequence[ArtifactStatus], fingerprint: str) -> tuple[ArtifactStatus, DiffFinding]:
    found = [(standing, finding) for standing in standings for finding in standing.findings]
    for standing, finding in found:
        if finding.fingerprint == fingerprint:
            return standing, finding
    for standing, finding in found:
        if any(child.fingerprint == fingerprint for child in _list_descendants(finding)):
            message = f"{fingerprint} is a part of {finding.rule} of {standing.ref}, which is accepted as a whole"
            raise RefError(message, hint=f"evalstore accept {finding.fingerprint}")
    broken = next((standing.ref for standing in standings if standing.state is ArtifactState.BROKEN), None)
    hint = f"{broken} cannot be compared: evalstore status" if broken else "evalstore diff REF shows those there are"
    raise RefError(f"no change since a last release has the fingerprint {fingerprint}", hint=hint)


def _list_descendants(finding: DiffFinding) -> Iterable[DiffFinding]:
    for child in finding.children:
        yield child
        yield from _list_descendants(child)


def _choose_level(finding: DiffFinding, asked: Bump | None) -> Bump:
    level = asked or _LOWER.get(finding.level, finding.level)
    if level >= finding.level:
        raise RefusedError(
            f"{finding.rule} needs {'only ' if finding.level is Bump.PATCH else ''}a {finding.level} bump as it is",
            hint="a change that anyone can notice needs at least a patch; there is nothing to accept",
        )
    return level


def _check_reason(text: str) -> str:
    words = " ".join(text.split())
    if not words or len(words) > _REASON:
        raise UsageError(f"the reason has {len(words)} characters", hint=f"say in 1 to {_REASON} why it may need less")
    return words


_HEADER = (
    "# yaml-language-server: $schema=schema/accepted.schema.json\n# Written by evalstore accept; review it like code.\n"
)


def insert_acceptance(store: ArtifactStore, acceptance: Acceptance) -> bytes:
    """Return the bytes of the file with one more entry, or with this one in place of an older one of its change.

    Entries take several lines each, in order, so that two branches seldom touch the same ones; what else people have
    written there stays as it is.
    """
    document, entry = read_accepted_file(store), _format_entry(acceptance)
    if document is None:
        return write_yaml({"accepted": [entry]}, header=_HEADER).encode()
    orders = [_acceptance_key(one) for one in document.value["accepted"]]
    index = sum(one < _acceptance_key(entry) for one in orders)
    same = _acceptance_key(entry) in orders
    return encode_document(
        put_item(document, "accepted", orders.index(_acceptance_key(entry)) if same else index, entry, replace=same)
    )


def _acceptance_key(entry: Mapping[str, Any]) -> tuple[str, Version, str]:
    return entry["artifact"], parse_version(entry["since"]), entry["fingerprint"]


def _format_entry(acceptance: Acceptance) -> dict[str, str]:
    told = acceptance.accepted
    return {
        "artifact": acceptance.artifact,
        "since": str(acceptance.since),
        "fingerprint": acceptance.fingerprint,
        "rule": acceptance.rule,
        "change": acceptance.change,
        "was": str(told.was),
        "level": str(told.level),
        "reason": told.reason,
        **({"until": str(told.until)} if told.until else {}),
        "by": told.by,
        "day": str(told.day),
    }
