"""`signed: require`: every release is signed by somebody whom the store allows; with real keys, and real git."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError
from evalstore.model import Finding
from evalstore.release.changes.status import read_status
from evalstore.release.integrity.gate import GateOptions, check_change
from evalstore.release.integrity.verify import verify
from evalstore.store import ArtifactStore
from tests.release.shop import Shop, rubric

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


def find_in_change(shop: Shop, base: str, day: int) -> list[str]:
    with ArtifactStore.open(shop.root) as store:
        options = GateOptions(datetime(2090, 1, day, tzinfo=UTC))
        return [finding.message for finding in check_change(store, base, options).verification.findings]


def date(day: int) -> dict[str, str]:
    stamp = f"{int(datetime(2090, 1, day, tzinfo=UTC).timestamp())} +0000"
    return {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}


def git_on(shop: Shop, day: int, *argv: str) -> None:
    subprocess.run(["git", *argv], cwd=shop.top, env={**os.environ, **date(day)}, check=True, capture_output=True)


EXPIRED = "rubric/tone@2.0.0 is not signed by an allowed signer: its key had expired when the release arrived, on "


@pytest.fixture
def until(signed: Shop) -> Shop:
    """The key of Ada counts until 3 January 2090, and `main` has a commit of the first of that month."""
    line = signed.read(SIGNERS).decode()
    signed.write(SIGNERS, line.replace("ada@example.org ", 'ada@example.org valid-before="20900103" '))
    signed.git("add", "-A")
    git_on(signed, 1, "commit", "-qm", "Until the third")
    signed.git("branch", "-M", "main")
    signed.write("rubrics/tone.yaml", rubric(ban="just"))
    return signed


def test_a_key_counts_when_a_release_reaches_the_base_not_when_it_says_that_it_was_made(until: Shop) -> None:
    git_on(until, 5, "commit", "-q", "--allow-empty", "-m", "Two days too late")
    until.bump("rubric/tone", signature=date(2))  # dated back, commit and tag
    assert only(until) == f"{EXPIRED}2090-01-05"
    assert find_in_change(until, "HEAD", 9) == [f"{EXPIRED}2090-01-05"]
    # Where it has not arrived, it arrives today.
    assert find_in_change(until, "HEAD~1", 2) == []
    assert find_in_change(until, "HEAD~1", 9) == [f"{EXPIRED}2090-01-09"]


@pytest.mark.parametrize("day", [2, 5])
def test_a_release_of_a_branch_arrives_with_its_merge(until: Shop, day: int) -> None:
    until.git("checkout", "-q", "-b", "side")
    until.bump("rubric/tone", signature=date(2))
    until.git("checkout", "-q", "main")
    git_on(until, day, "merge", "-q", "--no-ff", "side")
    late = [f"{EXPIRED}2090-01-05"] if day == 5 else []  # in time it counts, also when it has expired since
    assert [finding.message for finding in find(until)] == late
    assert find_in_change(until, "main", 9) == late


@pytest.mark.parametrize("again", [("-a", "-m", "x"), ()], ids=["annotated", "lightweight"])
def test_a_release_that_the_ledger_lists_as_signed_is_signed_without_the_setting(
    cli: Callable[..., Any], signed: Shop, key: Callable[[str], str], again: tuple[str, ...]
) -> None:
    (signed.root / SIGNERS).unlink()
    signed.write("evalstore.yaml", "")
    signed.git("add", "-A")
    signed.git("commit", "-qm", "Signatures are not required")
    assert find(signed) == []
    tag = ("rubric/tone@1.0.0", "rubric/tone@1.0.0^{commit}")
    signed.git("tag", "-f", *again, *tag)
    why = "it is not signed" if again else "it is a lightweight tag"
    assert only(signed) == f"rubric/tone@1.0.0 is not signed by an allowed signer: {why}"
    for command in (["verify"], ["gate", "--base", "HEAD"]):
        ran = cli("-C", signed.root, *command)
        assert (ran.code, "release-unsigned" in ran.out) == (1, True)
    # Whose key it is counts where signers are named, which nobody does here.
    key("eve")
    signed.git("tag", "-f", "-s", "-m", "x", *tag)
    assert find(signed) == []


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


def test_a_signer_that_is_added_before_signatures_are_required_is_a_finding(
    released: Shop, cli: Callable[..., Any]
) -> None:
    released.git("branch", "base")
    lines = ("ada@example.org ssh-ed25519 AAAA\n", "eve@example.org ssh-ed25519 BBBB\n")
    for count, line in enumerate(lines, 1):
        released.write(SIGNERS, "".join(lines[:count]))
        released.commit(SIGNERS)
        ran = cli("-C", released.root, "gate", "--base", "base", "--format", "json")
        (found,) = json.loads(ran.out)["findings"]
        assert (ran.code, found["rule"], found["file"]) == (0, "signer-added", SIGNERS)
        assert found["message"].startswith(f"{line.split()[0]} may sign now")
        assert cli("-C", released.root, "gate", "--base", "base", "--strict").code == 1
        released.git("branch", "-f", "base")
    assert cli("-C", released.root, "gate", "--base", "base", "--strict").code == 0


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


@pytest.mark.parametrize("settings", ["", "signed: optional\n", "signed: require\n"])
def test_a_planted_link_is_found_whether_signatures_are_required_or_not(
    shop: Shop, settings: str, tmp_path: Path
) -> None:
    shop.bump("rubric/tone")
    shop.write("evalstore.yaml", settings)
    (tmp_path / "planted").write_text("* ssh-ed25519 AAAA\n")
    (shop.root / SIGNERS).symlink_to(tmp_path / "planted")
    with ArtifactStore.open(shop.root) as store:
        for findings in (verify(store).findings, read_status(store).findings):
            assert [(one.rule, one.file) for one in findings if one.file == SIGNERS] == [("signers-missing", SIGNERS)]
