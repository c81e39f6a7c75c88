"""`--sign` with real keys: git itself says whether a release is signed, and by whom."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefusedError, UsageError
from evalstore.store import ArtifactStore
from tests.release.shop import JUDGE, Shop, check_sound, judged, rubric

Cli = Callable[..., Any]

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


def configure(*pairs: tuple[str, str]) -> None:
    for key, value in pairs:
        subprocess.run(["git", "config", "--global", key, value], check=True)


@dataclass(frozen=True)
class Key:
    """An SSH key in the user's home, and the file that says whose it is."""

    path: Path
    allowed: Path


@pytest.fixture
def key(tmp_path: Path) -> Key:
    path, allowed = tmp_path / "id_ed25519", tmp_path / "allowed"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    allowed.write_text(f"ada@example.org {path.with_suffix('.pub').read_text()}")
    configure(("gpg.format", "ssh"), ("user.signingKey", f"{path}.pub"))
    return Key(path, allowed)


def verify(shop: Shop, key: Key, *argv: str) -> str:
    words = ["git", "-c", f"gpg.ssh.allowedSignersFile={key.allowed}", *argv]
    done = subprocess.run(words, cwd=shop.top, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_commit_and_every_tag_are_signed(shop: Shop, key: Key) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    watched: list[str] = []
    assert shop.bump(sign=True, watch_signing=lambda names: watched.extend(names) or names).signed
    assert sorted(watched) == sorted(shop.tags())
    for tag in shop.tags():
        assert 'Good "git" signature for ada@example.org with ED25519 key' in verify(shop, key, "verify-tag", tag)
    assert 'Good "git" signature for ada@example.org' in verify(shop, key, "verify-commit", "HEAD")
    assert len(shop.tags()) == 3
    assert shop.git("status", "--porcelain") == ""
    check_sound(shop)


def test_a_signed_tag_says_what_an_unsigned_one_says(shop: Shop, key: Key) -> None:
    stamp = {f"GIT_{role}_DATE": "2026-09-08T09:00:00+02:00" for role in ("AUTHOR", "COMMITTER")}
    shop.bump(sign=True, signature=stamp, message="No filler wörds")
    text = shop.git("cat-file", "tag", "rubric/tone@1.0.0").partition("-----BEGIN SSH SIGNATURE-----")[0]
    with ArtifactStore.open(shop.root) as store:
        digest = store.resolve("rubric/tone@1.0.0").digest
    assert text == (
        f"object {shop.git('rev-parse', 'HEAD')}\ntype commit\ntag rubric/tone@1.0.0\n"
        "tagger Ada Tester <ada@example.org> 1788850800 +0200\n\n"
        f"No filler wörds\n\nEvalstore-Digest: {digest}\nEvalstore-Bump: none\nEvalstore-Previous: none\n"
    )


def test_a_key_of_an_agent_needs_no_file(shop: Shop, key: Key, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(("user.signingKey", f"key::{key.path.with_suffix('.pub').read_text().strip()}"))
    if shutil.which("ssh-agent") is None:
        pytest.skip("ssh-agent is not installed")
    with agent(key.path) as socket:
        monkeypatch.setenv("SSH_AUTH_SOCK", socket)
        shop.bump(sign=True)
    assert "Good" in verify(shop, key, "verify-tag", "rubric/tone@1.0.0")


@contextmanager
def agent(key: Path) -> Iterator[str]:
    """Hold a key in an agent; yields the socket that it listens at."""
    out = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    words = dict(part.split("=", 1) for part in out.replace("\n", ";").split(";") if part.startswith("SSH_"))
    env = {**os.environ, "SSH_AUTH_SOCK": words["SSH_AUTH_SOCK"]}
    subprocess.run(["ssh-add", "-q", str(key)], env=env, check=True, stderr=subprocess.DEVNULL)
    yield words["SSH_AUTH_SOCK"]
    os.kill(int(words["SSH_AGENT_PID"]), 15)


def test_the_repository_chooses_neither_the_key_nor_the_program(
    shop: Shop, key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, script = tmp_path / "ran", tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho $0 >> {marker}\nexit 1\n")
    script.chmod(0o755)
    for name in (
        "gpg.program",
        "gpg.ssh.program",
        "gpg.x509.program",
        "gpg.openpgp.program",
        "gpg.ssh.defaultKeyCommand",
    ):
        shop.git("config", name, str(script))
    shop.git("config", "gpg.format", "x509")
    shop.git("config", "user.signingKey", str(tmp_path / "theirs"))
    (shop.top / "ssh-keygen").write_bytes(script.read_bytes())
    (shop.top / "ssh-keygen").chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f".:{os.environ['PATH']}")
        patch.chdir(shop.top)
        shop.bump("rubric/tone", sign=True)
    assert not marker.exists()
    env = ["-c", "gpg.format=ssh", "-c", "gpg.ssh.program=ssh-keygen"]
    assert "Good" in verify(shop, key, *env, "verify-tag", "rubric/tone@1.0.0")


def test_a_key_that_the_user_has_for_some_repositories_only(shop: Shop, key: Key, tmp_path: Path) -> None:
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    configure(
        ("user.signingKey", f"{other}.pub"), (f"includeIf.gitdir:{tmp_path}/.path", str(tmp_path / "work.config"))
    )
    (tmp_path / "work.config").write_text(f'[user]\n\tsigningKey = "{key.path}.pub"\n')
    shop.bump(sign=True)
    assert "Good" in verify(shop, key, "verify-tag", "rubric/tone@1.0.0")


def test_a_user_without_a_global_config(shop: Shop, gpg: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shop.git("config", "user.name", "Ada")
    shop.git("config", "user.email", "ada@example.org")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(RefusedError, match="gpg has no key that it can sign with"):
        shop.bump(sign=True)
    check_nothing_happened(shop)


def check_nothing_happened(shop: Shop) -> None:
    assert shop.git("for-each-ref") == ""
    assert [path.name for path in (shop.top / ".git/evalstore").iterdir()] == ["lock"]


def test_without_a_key_there_is_one_sentence(cli: Cli, shop: Shop) -> None:
    shop.git("config", "user.signingKey", "mine alone")
    shop.git("config", "gpg.format", "ssh")
    configure(("gpg.format", "ssh"))
    ran = cli("-C", shop.root, "bump", "--all", "--sign")
    assert (ran.code, ran.out) == (3, "")
    first, second = ran.err.strip().split("\n")
    assert first == "error: the release cannot be signed: git's global config has no signing key"
    assert "git config --global user.signingKey" in second
    check_nothing_happened(shop)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda key: key.path.unlink(), "its private key is not next to it and not in the agent"),
        (lambda key: key.path.with_suffix(".pub").unlink(), "the key in git's global config does not exist"),
        (lambda key: key.path.chmod(0o644), "its private key can be read by others"),
        (lambda _: configure(("gpg.ssh.program", "/nowhere/ssh-keygen")), "the program that git signs with is missing"),
        (
            lambda _: configure(("gpg.format", "openpgp"), ("gpg.program", "/nowhere/gpg")),
            "the program that git signs with is missing",
        ),
        (lambda _: configure(("user.signingKey", "")), "git's global config has no signing key"),
        (lambda _: configure(("gpg.format", "parchment")), "invalid value for 'gpg.format'"),
    ],
)
def test_a_key_that_does_not_sign_is_one_sentence(
    shop: Shop, key: Key, spoil: Callable[[Key], object], said: str
) -> None:
    spoil(key)
    with pytest.raises(RefusedError, match=f"the release cannot be signed: {said}"):
        shop.bump(sign=True)
    check_nothing_happened(shop)


@pytest.mark.process
def test_a_locked_key_is_not_waited_for_where_nobody_can_be_asked(shop: Shop, key: Key) -> None:
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", str(key.path)], check=True, capture_output=True)
    words = [sys.executable, "-m", "evalstore", "-C", str(shop.root), "bump", "--all", "--sign"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, start_new_session=True)  # no terminal
    assert (ran.returncode, ran.stderr.split("\n")[0]) == (3, "error: the release cannot be signed: the key is locked")
    check_nothing_happened(shop)


@pytest.fixture
def gpg(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    if shutil.which("gpg") is None:
        pytest.skip("gpg is not installed")
    home = tmp_path_factory.mktemp("g")  # short: its agent listens at a socket there
    home.chmod(0o700)
    monkeypatch.setenv("GNUPGHOME", str(home))
    yield home
    subprocess.run(["gpgconf", "--kill", "gpg-agent"], check=False, capture_output=True)


def test_gpg_where_the_config_of_the_user_says_nothing_else(shop: Shop, gpg: Path) -> None:
    with pytest.raises(RefusedError, match="gpg has no key that it can sign with"):
        shop.bump(sign=True)
    check_nothing_happened(shop)
    words = [
        "gpg",
        "--batch",
        "--quiet",
        "--passphrase",
        "",
        "--quick-gen-key",
        "Ada Tester <ada@example.org>",
        "ed25519",
    ]
    subprocess.run([*words, "sign"], check=True, capture_output=True)
    shop.bump(sign=True)
    for words in (["verify-tag", "rubric/tone@1.0.0"], ["verify-commit", "HEAD"]):
        done = subprocess.run(["git", *words], cwd=shop.top, capture_output=True, text=True, check=True)
        assert 'Good signature from "Ada Tester <ada@example.org>"' in done.stderr
    check_sound(shop)


def test_a_sha256_repository_is_signed_too(tmp_path: Path, git: Callable[..., str], key: Key) -> None:
    (tmp_path / "repo").mkdir()
    git("init", "-q", "--object-format=sha256", ".")
    shop = Shop(tmp_path / "repo", git)
    shop.write("rubrics/tone.yaml", rubric())
    shop.bump(sign=True)
    shop.write("rubrics/tone.yaml", rubric(ban="just"))
    shop.bump(sign=True)
    assert "Good" in verify(shop, key, "verify-tag", "rubric/tone@2.0.0")
    assert "Good" in verify(shop, key, "verify-commit", "HEAD")
    check_sound(shop)


def test_without_tags_the_commit_is_signed(shop: Shop, key: Key) -> None:
    shop.bump(sign=True, tag=False)
    assert "Good" in verify(shop, key, "verify-commit", "HEAD")


def test_without_a_commit_there_is_nothing_to_sign(shop: Shop) -> None:
    with pytest.raises(UsageError, match="there is nothing to sign without a commit"):
        shop.bump(sign=True, commit=False)


def test_what_the_command_says(cli: Cli, shop: Shop, key: Key) -> None:
    ran = cli("-C", shop.root, "bump", "--all", "--sign")
    commit = shop.git("rev-parse", "--short=12", "HEAD")
    assert ran.out.startswith(f"Released 1 artifact on main in commit {commit}, signed, from the working files:\n")
