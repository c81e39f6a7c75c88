"""`signed: require`: every release is signed by somebody whom the store allows; with real keys, and real git."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError
from evalstore.model import Finding
from evalstore.release.verify import verify
from evalstore.store import ArtifactStore
from tests.release.conftest import Shop, rubric

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")

SIGNERS = ".evalstore/allowed_signers"


def configure(*pairs: tuple[str, str]) -> None:
    for key, value in pairs:
        subprocess.run(["git", "config", "--global", key, value], check=True)


@pytest.fixture
def key(tmp_path: Path) -> Callable[[str], str]:
    """Make a key of that name, choose it for signing, and return its public part."""

    def choose(name: str) -> str:
        path = tmp_path / name
        if not path.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
        configure(("gpg.format", "ssh"), ("user.signingKey", f"{path}.pub"))
        return path.with_suffix(".pub").read_text()

    return choose


@pytest.fixture
def signed(shop: Shop, key: Callable[[str], str]) -> Shop:
    """A store that asks for signatures, with one release by Ada, who may."""
    shop.write("evalstore.yaml", "signed: require\n")
    shop.write(SIGNERS, f"ada@example.org {key('ada')}")
    assert shop.bump("rubric/tone").signed
    return shop


def find(shop: Shop, signers: bytes | None = None) -> list[Finding]:
    with ArtifactStore.open(shop.root) as store:
        return list(verify(store, signers=signers).findings)


def only(shop: Shop, signers: bytes | None = None) -> str:
    (finding,) = find(shop, signers)
    assert finding.rule == "release-unsigned"
    return finding.message


def test_a_bump_signs_without_being_asked_and_verify_takes_it(signed: Shop) -> None:
    assert find(signed) == []


def test_a_signed_tag_that_is_made_again_unsigned(signed: Shop) -> None:
    message = signed.git("tag", "-l", "--format=%(contents:subject)\n\n%(contents:body)", "rubric/tone@1.0.0")
    signed.git("tag", "-f", "-a", "-m", message, "rubric/tone@1.0.0", "rubric/tone@1.0.0^{commit}")
    assert only(signed) == "rubric/tone@1.0.0 is not signed by an allowed signer: it is not signed"
    signed.git("tag", "-f", "rubric/tone@1.0.0", "rubric/tone@1.0.0^{commit}")
    assert only(signed).endswith("it is a lightweight tag")


def test_somebody_elses_key_and_a_signature_of_another_tag(
    signed: Shop, key: Callable[[str], str], tmp_path: Path
) -> None:
    raw = signed.git("cat-file", "tag", "rubric/tone@1.0.0")
    key("eve")
    signed.git("tag", "-f", "-s", "-m", "x", "rubric/tone@1.0.0", "rubric/tone@1.0.0^{commit}")
    assert "its key belongs to no allowed signer (ED25519 key SHA256:" in only(signed)
    forged = raw.replace("Evalstore-Bump: none", "Evalstore-Bump: patch") + "\n"
    (tmp_path / "forged").write_text(forged)
    oid = signed.git("hash-object", "-t", "tag", "-w", str(tmp_path / "forged"))
    signed.git("update-ref", "refs/tags/rubric/tone@1.0.0", oid)
    assert "git could not verify its signature" in only(signed)


def test_a_key_counts_for_its_time_alone(signed: Shop) -> None:
    line = signed.read(SIGNERS).decode()
    signed.write(SIGNERS, line.replace("ada@example.org ", 'ada@example.org valid-before="20010101" '))
    assert "not signed by an allowed signer" in only(signed)


def test_without_the_file_nobody_is_taken_for_a_signer(signed: Shop) -> None:
    (signed.root / SIGNERS).unlink()
    (finding,) = find(signed)
    assert (finding.rule, SIGNERS in finding.message) == ("signers-missing", True)
    signed.write("rubrics/tone.yaml", rubric(ban="just"))
    with pytest.raises(RefusedError, match=r"there is no \.evalstore/allowed_signers"):
        signed.bump("rubric/tone")


def test_who_may_not_sign_releases_nothing(signed: Shop, key: Callable[[str], str]) -> None:
    key("eve")
    signed.write("rubrics/tone.yaml", rubric(ban="just"))
    before = signed.git("for-each-ref")
    with pytest.raises(RefusedError, match="would not be signed by an allowed signer"):
        signed.bump("rubric/tone")
    assert signed.git("for-each-ref") == before


def test_signers_that_are_kept_elsewhere(
    cli: Callable[..., Any], signed: Shop, key: Callable[[str], str], tmp_path: Path
) -> None:
    """Whoever pushes can change the store's own list, and not this one."""
    mine = tmp_path / "mine"
    mine.write_bytes(signed.read(SIGNERS))
    signed.write(SIGNERS, f"eve@example.org {key('eve')}")
    signed.git("tag", "-f", "-s", "-m", "x", "rubric/tone@1.0.0", "rubric/tone@1.0.0^{commit}")
    assert find(signed) == []
    assert "belongs to no allowed signer" in only(signed, mine.read_bytes())
    signed.write("evalstore.yaml", "")
    ran = cli("-C", signed.root, "verify", "--signers", mine)
    assert (ran.code, "release-unsigned" in ran.out) == (1, True)
    assert cli("-C", signed.root, "verify").code == 0


@pytest.mark.parametrize("word", ["required", "true", "[require]"])
def test_a_word_that_means_nothing_asks_for_signatures(signed: Shop, word: str) -> None:
    signed.write("evalstore.yaml", f"signed: {word}\n")
    signed.git("tag", "-f", "rubric/tone@1.0.0", "rubric/tone@1.0.0^{commit}")
    assert only(signed).endswith("it is a lightweight tag")


def test_the_repository_chooses_no_program(signed: Shop, tmp_path: Path) -> None:
    marker, script = tmp_path / "ran", tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {marker}\nexit 0\n")
    script.chmod(0o755)
    for name in ("gpg.program", "gpg.ssh.program"):
        signed.git("config", name, str(script))
    signed.git("config", "gpg.ssh.allowedSignersFile", str(tmp_path / "theirs"))
    assert find(signed) == []
    assert not marker.exists()
