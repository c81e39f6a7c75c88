"""Says that the file of allowed signers cannot be read, whether signatures are asked for or not."""

from __future__ import annotations

from collections.abc import Iterator

from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding
from evalstore.places import SETTINGS_FILE
from evalstore.release.integrity_rules import make_finding
from evalstore.store import ArtifactStore
from evalstore.store.signers import find_signers_file


def check_signers_file(store: ArtifactStore) -> Iterator[Finding]:
    """Yield a finding when the store's file of allowed signers cannot be read, such as a link.

    Signatures may be asked for later, and then by what somebody planted.
    """
    try:
        store.read_root_file(find_signers_file(store.settings))
    except EvalstoreError as error:
        yield make_unread_finding(error)


def make_unread_finding(error: EvalstoreError) -> Finding:
    """Return the finding of a file of signers that cannot be read."""
    place = error.place or Place(SETTINGS_FILE)
    return make_finding("signers-missing", place, message=error.message, hint=error.hint or "")
