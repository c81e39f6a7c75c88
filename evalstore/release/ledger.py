"""The ledger of an artifact as a release writes it: a line more, and none after one that the tags do not know; pure."""

from __future__ import annotations

import hashlib

from evalstore.errors import RefusedError
from evalstore.store.ledger import locate_ledger
from evalstore.versions import Version, find_version

LEDGER_LIMIT = 1 << 20


def extend_ledger(ledger: bytes, version: Version, content: bytes) -> bytes:
    """Return the ledger with the line of one more release."""
    whole = ledger if ledger.endswith(b"\n") or not ledger else ledger + b"\n"
    return whole + f"{version} {hashlib.sha256(content).hexdigest()}\n".encode()


def list_ledger_versions(ledger: bytes) -> list[Version]:
    """Return the versions that a ledger names; a line of another form is left to `verify`."""
    words = (line.split(" ")[0] for line in ledger.decode("utf-8", "replace").split("\n"))
    return [version for word in words if (version := find_version(word))]


def check_ledger_complete(name: str, ledger: bytes, tagged: list[Version]) -> None:
    """Refuse to go on from the tags of a clone when the ledger knows a later release than they do."""
    recorded = max(list_ledger_versions(ledger), default=None)
    if recorded is not None and (not tagged or recorded > max(tagged)):
        raise RefusedError(
            f"{name}@{recorded} was released, but its tag is not in this clone",
            hint=f"git fetch --tags (--unshallow); if it was withdrawn, take its line out of {locate_ledger(name)}",
        )
