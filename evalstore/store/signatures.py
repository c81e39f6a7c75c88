"""Asks git whether tags are signed by those whom a store allows: SSH keys, in a scratch repository."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evalstore.errors import LoadError, Place, RefusedError
from evalstore.store.contents import StoreContents
from evalstore.store.git import CommandError, Git
from evalstore.store.scratch import open_scratch_repository
from evalstore.store.settings import FILE_LIMIT, read_root_file
from evalstore.text import make_excerpt

SIGNERS_FILE = ".evalstore/allowed_signers"
_SSH_MARK = b"-----BEGIN SSH SIGNATURE-----"
_MARK = b"-----BEGIN "

# Why the tag object with an id and these bytes does not count as signed; "" for one that does.
SignatureCheck = Callable[[str, bytes], str]


def is_signature_required(store: StoreContents) -> bool:
    """Whether the settings ask for signed releases; any word but `optional` does."""
    return bool(store.settings.get("signed", "optional") != "optional")


def read_required_signers(store: StoreContents) -> bytes | None:
    """Return the file of allowed signers where the settings ask for signed releases, as `read_signers`; else None."""
    return read_signers(store) if is_signature_required(store) else None


def read_signers(store: StoreContents) -> bytes:
    """Return the file of allowed signers, as ssh-keygen(1) has it; `RefusedError` when there is none."""
    name = store.settings.get("allowed_signers", SIGNERS_FILE)
    if not isinstance(name, str) or name.startswith("/") or ".." in name.split("/"):
        raise LoadError("allowed_signers names no file of the store", place=Place("evalstore.yaml"))
    data = read_root_file(
        store.repository, store.objects, root=store.root, prefix=store.prefix, name=name, limit=FILE_LIMIT
    )
    if data is None:
        hint = f'a line for each: echo "<email> $(cat ~/.ssh/<key>.pub)" >> {name}'
        raise RefusedError(f"evalstore.yaml asks for signed releases, and there is no {name}", hint=hint)
    return data


@contextmanager
def open_signature_check(git: Git, hex_digits: int, signers: bytes) -> Iterator[SignatureCheck]:
    """Yield the check of tags against a file of allowed signers; object ids have `hex_digits`.

    It runs the program that the user's global config names for SSH, and none that the repository names.
    """
    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        file = Path(folder, "allowed_signers")
        file.write_bytes(signers)
        with open_scratch_repository(git, hex_digits) as scratch:
            yield lambda oid, data: _find_flaw(scratch, file, oid, data)


def _find_flaw(scratch: Git, signers: Path, oid: str, data: bytes) -> str:
    if _MARK not in data:
        return "it is not signed"
    if _SSH_MARK not in data:
        return "it is signed with no SSH key, and allowed signers have SSH keys"
    try:
        scratch.run("-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-tag", oid)
    except CommandError as failure:
        lines = [line.removeprefix(f"{signers}:") for line in failure.stderr.splitlines() if line.strip()]
        if "No principal matched." in lines and lines[0].startswith("Good "):
            return f"its key is none of the allowed signers' ({lines[0].rpartition(' with ')[2]})"
        return f"git does not verify its signature: {make_excerpt(lines[0]) if lines else 'it does not say why'}"
    return ""
