"""Working trees with CRLF: what git keeps with LF is released with LF, and no file counts as changed."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable

import pytest

from evalstore.errors import RefusedError
from evalstore.release.integrity.verify import Verification, check_lock, verify
from evalstore.release.records.lock import lock
from evalstore.store import ArtifactStore
from evalstore.store.listing import list_artifacts
from evalstore.store.working_files import normalize_pieces
from tests.release.shop import JUDGE, Shop, rubric
from tests.rows import thin

FILES = ("rubrics/tone.yaml", "judges/accuracy.yaml", "datasets/web.yaml", "datasets/web.jsonl")
ROW = '{"id": "a", "input": "x", "rubric_ref": "rubric/tone@1.0.0"}\n'
# What says so -> the attributes, the settings, and whether git then keeps LF.
WAYS = {
    "attributes": ("* text=auto eol=crlf\n", (), True),
    "a text": ("*.yaml text\n*.jsonl eol=crlf\n", (), True),
    "autocrlf": ("", ("core.autocrlf", "true"), True),
    "autocrlf of the user": ("", ("--global", "core.autocrlf", "input"), True),
    "no text": ("* -text\n", ("core.autocrlf", "true"), False),
    "nothing": ("", (), False),
}


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


@pytest.fixture
def fresh(shop: Shop) -> Shop:
    shop.write("rubrics/tone.yaml", crlf(rubric()))
    shop.write("judges/accuracy.yaml", crlf(JUDGE.replace('"Is', "|\n  Is\n  ").replace('}}"', "}}")))
    shop.write("datasets/web.yaml", crlf("id: web\nversion: 1.0.0\nrows: web.jsonl\n"))
    shop.write("datasets/web.jsonl", crlf(ROW))
    return shop


def looked(shop: Shop, question: Callable[[ArtifactStore], Verification]) -> Verification:
    with ArtifactStore.open(shop.root) as store:
        return question(store)


def check_as_git_has_it(shop: Shop, name: str, path: str, *, lf: bool) -> None:
    data = subprocess.run(["git", "show", f"{name}:{path}"], cwd=shop.top, capture_output=True, check=True).stdout
    version = name.rpartition("@")[2]
    ledger = shop.read(f".evalstore/sums/{name.partition('@')[0]}").decode().split()
    assert (b"\r" not in data) == lf
    assert ledger[ledger.index(version) + 1] == hashlib.sha256(data).hexdigest()
    assert shop.git("status", "--porcelain") == ""
    assert looked(shop, verify).findings == ()
    assert shop.status().artifacts == ()
    with ArtifactStore.open(shop.root) as store:
        assert not any(one.changed for one in list_artifacts(store).artifacts)


@pytest.mark.parametrize("way", thin(WAYS, 2))
def test_a_release_holds_the_bytes_that_git_would_commit(fresh: Shop, way: str) -> None:
    attributes, settings, lf = WAYS[way]
    if settings:
        fresh.git("config", *settings)
    fresh.write(".gitattributes", attributes)
    fresh.git("add", ".gitattributes")
    fresh.git("commit", "-q", "-m", "Line ends")
    fresh.bump()
    with ArtifactStore.open(fresh.root) as store:
        lock(store)
    fresh.git("add", "evalstore.lock")
    fresh.git("commit", "-q", "-m", "Lock")
    check_as_git_has_it(fresh, "rubric/tone@1.0.0", FILES[0], lf=lf)
    assert all(b"\r\n" in fresh.read(path) for path in FILES)

    fresh.git("rm", "-q", "-r", "--cached", ".")
    fresh.git("reset", "-q", "--hard")  # every file as git writes it, ledgers and lock included
    assert looked(fresh, check_lock).findings == ()
    check_as_git_has_it(fresh, "rubric/tone@1.0.0", FILES[0], lf=lf)
    fresh.write(FILES[0], crlf(rubric(ban="just")))
    assert [one.ref for one in fresh.bump("rubric/tone", dependents=True).done] == [
        "rubric/tone@2.0.0",
        "dataset/web@2.0.0",
    ]
    assert fresh.read(FILES[0]) == crlf(rubric(ban="just", version="2.0.0"))
    assert b"rubric/tone@2.0.0" in fresh.read(FILES[3])
    check_as_git_has_it(fresh, "rubric/tone@2.0.0", FILES[0], lf=lf)


def test_what_git_holds_with_crlf_stays_so_under_auto(fresh: Shop) -> None:
    fresh.bump()
    fresh.git("config", "core.autocrlf", "true")
    fresh.write(FILES[0], crlf(rubric(ban="just")))
    fresh.bump()
    check_as_git_has_it(fresh, "rubric/tone@2.0.0", FILES[0], lf=False)


def test_to_git_a_cr_alone_is_no_text_under_auto_and_crlf_is_an_old_name_of_text(fresh: Shop) -> None:
    fresh.git("config", "core.autocrlf", "true")
    fresh.write(FILES[3], crlf(ROW) + b"\r")
    fresh.write(".gitattributes", "rubrics/* -crlf\n")
    fresh.git("add", ".gitattributes")
    fresh.git("commit", "-q", "-m", "Line ends")
    fresh.bump()
    assert fresh.git("status", "--porcelain") == ""
    check_as_git_has_it(fresh, "rubric/tone@1.0.0", FILES[0], lf=False)
    check_as_git_has_it(fresh, "judge/accuracy@1.0.0", FILES[1], lf=True)


def test_a_ledger_that_differs_in_more_than_line_ends_is_refused(fresh: Shop) -> None:
    fresh.bump()
    fresh.write(".evalstore/sums/rubric/tone", fresh.read(".evalstore/sums/rubric/tone").replace(b"\n", b"0\r\n"))
    fresh.write(FILES[0], rubric(ban="just"))
    with pytest.raises(RefusedError, match="the ledger differs from the committed one"):
        fresh.bump()


@pytest.mark.parametrize("text", [b"", b"\r", b"a\r\nb\r", b"\r\r\n\n", b"\r\n\r\n"])
def test_line_ends_are_found_wherever_a_text_is_cut(text: bytes) -> None:
    for at in range(len(text) + 1):
        assert b"".join(normalize_pieces([text[:at], text[at:]])) == text.replace(b"\r\n", b"\n")
