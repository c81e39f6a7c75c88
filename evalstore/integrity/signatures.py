"""Holds the signature of every release against the signers that the store allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evalstore.errors import EvalstoreError, Place
from evalstore.integrity.rules import make_finding
from evalstore.integrity.tags import ReleaseTag
from evalstore.model import Finding
from evalstore.store import ArtifactStore
from evalstore.store.signatures import is_signature_required, open_signature_check, read_signers
from evalstore.store.tags import TAG_REFS


def check_signatures(store: ArtifactStore, tags: Iterable[ReleaseTag], signers: bytes | None) -> Iterator[Finding]:
    """Yield the releases that no allowed signer has signed, where the settings ask for it.

    `signers` is a file of allowed signers from elsewhere, which asks for it, too; by default it is the store's own.
    """
    if signers is None and not is_signature_required(store):
        return
    try:
        allowed = read_signers(store) if signers is None else signers
    except EvalstoreError as error:
        place = error.place or Place("evalstore.yaml")
        yield make_finding("signers-missing", place, message=error.message, hint=error.hint or "")
        return
    with open_signature_check(store.git, store.repository.hex_digits, allowed) as find_flaw:
        for tag in tags:
            try:
                object_ = store.objects.read(tag.oid)
            except EvalstoreError:  # `check_release` reports it
                continue
            flaw = find_flaw(tag.oid, object_.data) if object_.type == "tag" else "it is a lightweight tag"
            if flaw:
                yield make_finding("release-unsigned", Place(TAG_REFS + tag.name), ref=tag.ref, what=flaw, tag=tag.name)
