"""Reads files of allowed signers (ssh-keygen(1)), and checks tags' signatures against them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from evalstore.errors import LoadError, Place, RefusedError
from evalstore.store.contents import StoreReader
from evalstore.store.repository.git import CommandError, Git
from evalstore.text import make_excerpt

SIGNERS_FILE = ".evalstore/allowed_signers"
_SSH_MARK = b"-----BEGIN SSH SIGNATURE-----"
_MARK = b"-----BEGIN "
# Principals, options and a key:
# `a@b,c@d valid-before="20270101",namespaces="git" ssh-ed25519 AAAA… comment`.
_LINE = re.compile(
    rb'\s*("[^"]*"|[^\s"]+)\s+(?:((?:"[^"]*"|[^\s"])+)\s+)?((?:ssh|ecdsa|'
    rb'sk)-[^\s"]+\s+[A-Za-z0-9+/=]+)'
)
_OPTION = re.compile(rb'(?:"[^"]*"|[^,"])+')
_BEFORE = re.compile(rb'valid-before="?([0-9]{8}(?:[0-9]{4}(?:[0-9]{2})?)?)Z?"?', re.IGNORECASE)
# Options that make a key count for less.
_TIGHTER = (
    b"valid-before=",
    b"valid-after=",
    b"namespaces=",
)
_TIME = "%Y%m%d%H%M%S"
_STRANGER = "its key belongs to no allowed signer"
_OTHER_KEY = "it is not signed with an SSH key, as allowed signers require"

# Why the tag object with an id and these bytes does not count as signed, judged at a moment (None:
# the one in the tag); "" if it does count.
SignatureCheck = Callable[[str, bytes, datetime | None], str]


class AllowedSigner(NamedTuple):
    """One line: who may sign (as written), with which key and options.

    Without a key it is the whole line.
    """

    principals: bytes
    key: bytes
    options: frozenset[bytes]

    def is_within(self, other: AllowedSigner) -> bool:
        """Whether this line allows nothing that another line for the same key does not."""
        more = self.options - other.options
        same = (self.principals, self.key) == (other.principals, other.key)
        return (
            same
            and other.options <= self.options
            and all(one.lower().startswith(_TIGHTER) for one in more)
        )


def is_signature_required(settings: Mapping[str, Any]) -> bool:
    """Whether the settings ask for signed releases; any word but `optional` does."""
    return bool(settings.get("signed", "optional") != "optional")


def read_required_signers(store: StoreReader) -> bytes | None:
    """Return the file of allowed signers if the settings ask for signed releases; else None.

    Raises like `read_signers`.
    """
    return read_signers(store) if is_signature_required(store.settings) else None


def read_signers(store: StoreReader) -> bytes:
    """Return the file of allowed signers; raises `RefusedError` if there is none."""
    name = find_signers_file(store.settings)
    data = store.read_root_file(name)
    if data is None:
        raise build_signers_error(name)
    return data


def find_signers_file(settings: Mapping[str, Any]) -> str:
    """Return the path of the file of allowed signers; `LoadError` if it is outside the store."""
    name = settings.get("allowed_signers", SIGNERS_FILE)
    if not isinstance(name, str) or name.startswith("/") or ".." in name.split("/"):
        raise LoadError(
            "allowed_signers must name a file of the store", place=Place("evalstore.yaml")
        )
    return name


def build_signers_error(name: str) -> RefusedError:
    """Return the error for a store that requires signatures but has no file of signers."""
    hint = f'a line for each: echo "<email> $(cat ~/.ssh/<key>.pub)" >> {name}'
    return RefusedError(
        f"evalstore.yaml requires signed releases, but there is no {name}", hint=hint
    )


def parse_signers(data: bytes) -> Iterator[AllowedSigner]:
    """Yield the lines of a file of allowed signers, even those that only ssh-keygen may read."""
    for line in data.split(b"\n"):
        if match := _LINE.match(line):
            yield AllowedSigner(
                match[1], b" ".join(match[3].split()), frozenset(_OPTION.findall(match[2] or b""))
            )
        elif line.strip() and not line.lstrip().startswith(b"#"):
            yield AllowedSigner(line.strip(), b"", frozenset())


def find_added_signers(old: bytes, new: bytes) -> list[AllowedSigner]:
    """Return the lines of `new` that make a signature count which did not count under `old`."""
    known = list(parse_signers(old))
    return [one for one in parse_signers(new) if not any(one.is_within(other) for other in known)]


@contextmanager
def open_signature_check(
    git: Git, hex_digits: int, signers: bytes | None
) -> Iterator[SignatureCheck]:
    """Yield the check of tags against a file of allowed signers (None: anybody's).

    Object ids have `hex_digits`. It runs the program that the user's global config names for SSH,
    and none that the repository names. git itself checks whether a key was valid when the tag says
    that it was made; the additional check is of a moment that the tag's author did not choose.
    """
    from evalstore.store.repository.scratch import open_scratch_repository

    with tempfile.TemporaryDirectory(prefix="evalstore-") as folder:
        files: dict[bytes, Path] = {}

        def place_signers(data: bytes) -> Path:
            if data not in files:
                files[data] = Path(folder, f"allowed_signers_{len(files)}")
                files[data].write_bytes(data)
            return files[data]

        def find_flaw(oid: str, data: bytes, moment: datetime | None) -> str:
            flaw = _find_flaw(scratch, place_signers(signers or b""), oid, data)
            if signers is None:
                return "" if flaw.startswith((_STRANGER, _OTHER_KEY)) else flaw
            valid = signers if flaw or moment is None else _drop_expired(signers, moment)
            if (
                flaw
                or moment is None
                or valid == signers
                or not _find_flaw(scratch, place_signers(valid), oid, data)
            ):
                return flaw
            return f"its key had expired when the release arrived, on {moment:%Y-%m-%d}"

        with open_scratch_repository(git, hex_digits) as scratch:
            yield find_flaw


def _drop_expired(signers: bytes, moment: datetime) -> bytes:
    """Return the lines whose keys were still valid at a moment; a day without a zone is UTC."""
    return b"\n".join(line for line in signers.split(b"\n") if not _is_expired(line, moment))


def _is_expired(line: bytes, moment: datetime) -> bool:
    match = _BEFORE.search(line)
    if match is None:
        return False
    try:
        return moment >= datetime.strptime(match[1].decode().ljust(14, "0"), _TIME).replace(
            tzinfo=UTC
        )
    except ValueError:  # ssh-keygen ignores such a line, too
        return True


def _find_flaw(scratch: Git, signers: Path, oid: str, data: bytes) -> str:
    if _MARK not in data:
        return "it is not signed"
    if _SSH_MARK not in data:
        return _OTHER_KEY
    try:
        scratch.run("-c", f"gpg.ssh.allowedSignersFile={signers}", "verify-tag", oid)
    except CommandError as failure:
        lines = [
            line.removeprefix(f"{signers}:") for line in failure.stderr.splitlines() if line.strip()
        ]
        if "No principal matched." in lines and lines[0].startswith("Good "):
            return f"{_STRANGER} ({lines[0].rpartition(' with ')[2]})"
        return (
            "git could not verify its signature: "
            f"{make_excerpt(lines[0]) if lines else 'it does not say why'}"
        )
    return ""
