"""The forty scenarios of table B: a pin resolves to the one tag of that exact name, right or refused, never to another."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable
from typing import NamedTuple

import pytest

from evalstore.errors import EvalstoreError, GitError
from evalstore.model.lock import NO_LOCK
from evalstore.release.integrity.verify import verify
from evalstore.store import ArtifactStore
from tests.release.shop import TONE, Shop, each_in_a_format, mixed, rules
from tests.rows import thin

TAG = f"refs/tags/{TONE}"
NEW = "rubric/tone@9.0.0"


class Scenario(NamedTuple):
    """How a repository is made odd, which pin is asked for, and what is answered: "" is the right one, else why not."""

    make: Callable[[Shop], Shop | None]
    says: str = ""
    ref: str = TONE
    found: str = ""  # by verify, without a lock


def at(name: str) -> Callable[[Shop], None]:
    """Put a ref of this name on other content, version 9.0.0."""
    return lambda stocked: void(stocked.git("update-ref", name, stocked.commit_evil("9.0.0")))


def file(name: str, version: str = "9.0.0") -> Callable[[Shop], None]:
    return lambda stocked: void(stocked.write(f".git/{name}", stocked.commit_evil(version) + "\n"))


def shadow(space: str) -> Callable[[Shop], None]:
    return lambda stocked: void(stocked.git("update-ref", f"{space}{TONE}", stocked.commit_evil()))


def void(_: object) -> None:
    return None


def replace(what: str) -> Callable[[Shop], None]:
    def make(stocked: Shop) -> None:
        void(stocked.git("replace", *(stocked.git("rev-parse", f"rubric/tone@{v}{what}") for v in ("1.0.0", "2.0.0"))))

    return make


def tag(*argv: str) -> Callable[[Shop], None]:
    return lambda stocked: void(stocked.git("tag", "-f", *argv))


def moved(*argv: str) -> Callable[[Shop], None]:
    return lambda stocked: void(stocked.git("tag", "-f", *argv, TONE, stocked.commit_evil()))


def chain(stocked: Shop) -> None:
    """Tag a tag of a tag … two thousand deep."""
    digits = len(stocked.git("rev-parse", "HEAD"))
    algorithm = hashlib.sha256 if digits == 64 else hashlib.sha1
    oid, type_, texts = stocked.git("rev-parse", "HEAD"), "commit", []
    for _ in range(2000):
        text = f"object {oid}\ntype {type_}\ntag {NEW}\ntagger Ada <ada@example.org> 1760000000 +0000\n\nx\n".encode()
        oid, type_ = algorithm(b"tag %d\0" % len(text) + text).hexdigest(), "tag"
        texts.append(text)
    folder = stocked.top.parent / "chain"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / str(number)).write_bytes(text)
    paths = "".join(f"{folder / str(number)}\n" for number in range(len(texts)))
    assert stocked.git("hash-object", "-w", "-t", "tag", "--literally", "--stdin-paths", stdin=paths).split()[-1] == oid
    stocked.git("update-ref", f"refs/tags/{NEW}", oid)


def linked_ref(stocked: Shop) -> None:
    """Put a link of the file system in place of the tag's file."""
    (stocked.top.parent / "outside").write_text(stocked.commit_evil() + "\n")
    path = stocked.top / ".git" / TAG
    path.unlink()
    path.symlink_to(stocked.top.parent / "outside")


def alternates(stocked: Shop) -> None:
    """Let a tag name what lies in another repository's objects."""
    other = stocked.at(stocked.top.parent / "other")
    shutil.copytree(stocked.top, other.top, symlinks=True)
    evil = other.commit_evil()
    stocked.write(".git/objects/info/alternates", f"{other.top}/.git/objects\n")
    stocked.git("update-ref", TAG, evil)


def stand_in(mode: str, what: str) -> Callable[[Shop], None]:
    def make(stocked: Shop) -> None:
        oid = stocked.git(
            "rev-parse", {"blob": "HEAD:rubrics/tone.yaml", "commit": "HEAD", "tree": "HEAD^{tree}"}[what]
        )
        folder = stocked.git("mktree", stdin=f"{mode} {what} {oid}\ttone.yaml\n")
        commit_tree(stocked, stocked.git("mktree", stdin=f"040000 tree {folder}\trubrics\n"))

    return make


def linked_folder(stocked: Shop) -> None:
    blob = stocked.git("hash-object", "-w", "--stdin", stdin="elsewhere")
    commit_tree(stocked, stocked.git("mktree", stdin=f"120000 blob {blob}\trubrics\n"))


def commit_tree(stocked: Shop, tree: str) -> None:
    stocked.git("tag", "-f", "-a", "-m", "x", NEW, stocked.git("commit-tree", "-m", "x", tree))


def bomb(stocked: Shop) -> None:
    stocked.git("tag", "-a", "-m", "x", NEW, stocked.commit_aside(rubrics__tone="#" * (8 << 20)))


def packed(line: bytes) -> Callable[[Shop], None]:
    def make(stocked: Shop) -> None:
        stocked.git("pack-refs", "--all")
        path = stocked.top / ".git/packed-refs"
        path.write_bytes(path.read_bytes() + stocked.commit_evil().encode() + b" " + line + b"\n")

    return make


def cloned(*options: str) -> Callable[[Shop], Shop]:
    def make(stocked: Shop) -> Shop:
        stocked.git("config", "uploadpack.allowFilter", "true")
        target = stocked.top.parent / "clone"
        stocked.git("clone", "-q", *options, f"file://{stocked.top}", str(target))
        return stocked.at(target)

    return make


def twins(stocked: Shop) -> None:
    for build, word in (("a", "one"), ("b", "two")):
        commit = stocked.commit_aside(rubrics__tone=mixed(version=f"1.0.0+{build}", word=word))
        stocked.git("tag", "-a", "-m", "x", f"rubric/tone@1.0.0+{build}", commit)


NONE, NOT_VALID, DANGEROUS = "has no version", "is not valid", "dangerous ref names"
SCENARIOS = {
    # B1 to B3 and B11: what git would take for the tag.
    "a branch of that name, no tag": Scenario(at(f"refs/heads/{NEW}"), NONE, NEW),
    "a remote branch of that name, no tag": Scenario(at(f"refs/remotes/{NEW}"), NONE, NEW),
    "a ref outside of the spaces, no tag": Scenario(at(f"refs/{NEW}"), NONE, NEW),
    "a file in the git folder, no tag": Scenario(file(NEW), NONE, NEW),
    "a ref outside of the spaces beside the tag": Scenario(shadow("refs/")),
    "a file in the git folder beside the tag": Scenario(file(TONE, "1.0.0")),
    "a branch beside the tag": Scenario(shadow("refs/heads/")),
    "a missing tag that reads like git describe": Scenario(lambda _: None, NONE, "rubric/tone@9.0.0-g{head}"),
    # B4: replace refs.
    "a replace ref for the tag object": Scenario(replace("")),
    "a replace ref for the commit": Scenario(replace("^{commit}")),
    "a replace ref for the tree": Scenario(replace("^{tree}")),
    "a replace ref for the blob": Scenario(replace(":rubrics/tone.yaml")),
    # B5 and B6: tags that name no commit under their own name.
    "a tag object of another name": Scenario(
        lambda stocked: void(stocked.git("update-ref", TAG, stocked.git("rev-parse", "rubric/tone@2.0.0"))),
        NOT_VALID,
        found="tag-invalid",
    ),
    "a tag of a tag": Scenario(tag("-a", "-m", "x", TONE, "rubric/tone@2.0.0"), NOT_VALID, found="tag-invalid"),
    "a chain of two thousand tags": Scenario(chain, NOT_VALID, NEW, "tag-invalid"),
    "a symbolic ref to a branch": Scenario(
        lambda stocked: void(stocked.git("symbolic-ref", TAG, "refs/heads/main")), NOT_VALID, found="tag-invalid"
    ),
    "a symbolic ref to another tag": Scenario(
        lambda stocked: void(stocked.git("symbolic-ref", TAG, "refs/tags/rubric/tone@2.0.0")),
        NOT_VALID,
        found="tag-invalid",
    ),
    "a lightweight tag of a tree": Scenario(tag(TONE, "HEAD^{tree}"), NOT_VALID, found="tag-invalid"),
    "a lightweight tag of a blob": Scenario(tag(TONE, "HEAD:rubrics/tone.yaml"), NOT_VALID, found="tag-invalid"),
    "an annotated tag of a tree": Scenario(tag("-a", "-m", "x", TONE, "HEAD^{tree}"), NOT_VALID, found="tag-invalid"),
    "an annotated tag of a blob": Scenario(
        tag("-a", "-m", "x", TONE, "HEAD:rubrics/tone.yaml"), NOT_VALID, found="tag-invalid"
    ),
    # B7 and B8: the five that no exact name tells, and a ledger or a hash does.
    "an annotated tag that moved": Scenario(moved("-a", "-m", "x"), NOT_VALID, found="tag-moved"),
    "a lightweight tag that moved": Scenario(moved(), NOT_VALID, found="tag-moved"),
    "a link in place of the ref": Scenario(linked_ref, NOT_VALID, found="tag-moved"),
    "a tag into another repository's objects": Scenario(alternates, NOT_VALID, found="tag-moved"),
    "a loose blob with other bytes": Scenario(Shop.forge_blob, "does not match its id", found="object-damaged"),
    # B9 and B10: what stands in place of the file.
    "a symbolic link as the file": Scenario(stand_in("120000", "blob"), "is a symbolic link", NEW, "release-invalid"),
    "a submodule as the file": Scenario(stand_in("160000", "commit"), "is a submodule", NEW, "release-invalid"),
    "a folder as the file": Scenario(stand_in("040000", "tree"), "is a folder", NEW, "release-invalid"),
    "a symbolic link as its folder": Scenario(linked_folder, "is a symbolic link", NEW, "release-invalid"),
    "a blob of many megabytes": Scenario(bomb, "larger than", NEW, "release-invalid"),
    # B12 and B13: names.
    "a packed ref that climbs out": Scenario(packed(b"refs/tags/rubric/../../evil@1.0.0"), found=DANGEROUS),
    "a packed ref with an escape": Scenario(packed(b"refs/tags/rubric/tone\x1b[2J@1.0.0")),
    "a name with a line separator": Scenario(tag("rubric/tone@1.0.0\u2028refs"), found="tag-ignored"),
    "a name that reads right to left": Scenario(tag("rubric/tone@1.0.0\u202e"), found="tag-ignored"),
    # B14 and B15: clones that lack something.
    "a shallow clone without the tag": Scenario(cloned("--depth=1"), "shallow", found="tags-missing"),
    "a clone without tags": Scenario(cloned("--no-tags"), "git fetch --tags", found="tags-missing"),
    "a partial clone without the blob": Scenario(
        cloned("--filter=blob:none", "--no-checkout"), "is missing from this clone", found="object-missing"
    ),
    # B16 and B17: versions that are alike, or none to git.
    "two tags that differ after the plus": Scenario(twins, found="release-unlisted"),
    "a version that git cannot tag": Scenario(lambda _: None, NONE, "rubric/tone@1.0.0-rc.lock"),
}
FILES = {"a file in the git folder, no tag", "a file in the git folder beside the tag", "a link in place of the ref",
         "a packed ref that climbs out", "a packed ref with an escape"}  # fmt: skip


def test_there_are_forty() -> None:
    assert len(SCENARIOS) == 40


@pytest.mark.parametrize(("name", "format_"), each_in_a_format(SCENARIOS))
def test_a_pin_is_right_or_refused(of_format: Callable[[str], Shop], format_: str, name: str) -> None:
    if format_ == "reftable" and name in FILES:
        pytest.skip("refs are not files there")
    stocked, scenario = of_format(format_), SCENARIOS[name]
    right = stocked.answer(TONE)
    stocked = scenario.make(stocked) or stocked
    ref = scenario.ref.format(head=stocked.git("rev-parse", "HEAD")[:7])
    with ArtifactStore.open(stocked.top) as store:
        for locked, said in zip((False, True), answer(store, ref), strict=True):
            expected = scenario.says or right
            assert expected in said or (locked and scenario.says and "is locked at" in said), said
        if scenario.found == DANGEROUS:  # git lists nothing then; a pin of its own it finds without reading that line
            with pytest.raises(GitError, match=DANGEROUS):
                verify(store)
            return
        found = rules(verify(store, lock=NO_LOCK))
    assert (scenario.found in found) if scenario.found else (found == [])


# A clone does not copy what a remote did, or the scenario is itself a clone or nothing at all.
STAYS = FILES | {"a shallow clone without the tag", "a clone without tags", "a partial clone without the blob"}
SPACES = ("tags", "replace", "rubric")


@pytest.mark.parametrize("name", thin((name for name in SCENARIOS if name not in STAYS), 12))
def test_a_pin_is_right_or_refused_after_a_fetch(stocked: Shop, clone: Callable[..., Shop], name: str) -> None:
    mine, scenario = clone(stocked), SCENARIOS[name]
    right = mine.answer(TONE)
    assert rules(mine.verify()) == []
    scenario.make(stocked)
    spaces = ["+refs/heads/*:refs/remotes/origin/*", *(f"+refs/{space}/*:refs/{space}/*" for space in SPACES)]
    mine.git("fetch", "-q", "--force", "--prune", "origin", *spaces, check=False)
    ref = scenario.ref.format(head=stocked.git("rev-parse", "HEAD")[:7])
    said = mine.ask(lambda store: answer(store, ref))
    assert [one for one in said if one != right and re.fullmatch("[0-9a-f]{64}", one)] == []
    assert (said[0] == right) == (not scenario.says or name == "a loose blob with other bytes")
    assert said[0] == right or ref != TONE or mine.verify_without_lock().findings


def answer(store: ArtifactStore, ref: str) -> list[str]:
    """Return the digest of a reference, or what is said when it is refused: without the lock and with it."""
    said = []
    for one in (store.without_lock(), store):
        try:
            said.append(one.resolve(ref).digest)
        except EvalstoreError as error:
            said.append(f"{error} {error.hint}")
    return said


# "Grafts, worktrees, bare, dup or unsorted packed-refs: right answers everywhere", and the peeled lines of B18.


def grafted(stocked: Shop) -> None:
    stocked.write(".git/info/grafts", f"{stocked.git('rev-parse', TONE + '^{}')} {stocked.commit_evil()}\n")


def unsorted(stocked: Shop) -> None:
    stocked.git("pack-refs", "--all")
    path = stocked.top / ".git/packed-refs"
    head, *lines = path.read_text().splitlines()
    pairs = [
        f"{line}\n{lines[i + 1]}" if lines[i + 1 : i + 2] and lines[i + 1][0] == "^" else line
        for i, line in enumerate(lines)
        if line[0] != "^"
    ]
    path.write_text("\n".join([head.replace(" sorted", ""), *reversed(pairs)]) + "\n")


def doubled(stocked: Shop) -> None:
    stocked.git("pack-refs", "--all")
    path = stocked.top / ".git/packed-refs"
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([head.replace(" sorted", ""), *lines, *lines]) + "\n")


def worktree(stocked: Shop) -> Shop:
    stocked.git("worktree", "add", "-q", "--detach", str(stocked.top.parent / "second"))
    return stocked.at(stocked.top.parent / "second")


RIGHT = {
    "grafts": grafted,
    "packed refs, peeled": lambda stocked: void(stocked.git("pack-refs", "--all")),
    "packed refs out of order": unsorted,
    "packed refs twice": doubled,
    "objects in a pack": lambda stocked: void(stocked.git("gc", "-q")),
    "a worktree": worktree,
    "a bare clone": cloned("--bare"),
    "a full clone": cloned(),
    "a detached head": lambda stocked: void(stocked.git("checkout", "-q", "--detach")),
    "an older commit checked out": lambda stocked: void(stocked.git("checkout", "-q", "rubric/other@1.0.0")),
}


@pytest.mark.parametrize(("name", "format_"), each_in_a_format(RIGHT))
def test_odd_but_honest_repositories_answer_right(of_format: Callable[[str], Shop], format_: str, name: str) -> None:
    stocked = of_format(format_)
    right = stocked.answer(TONE)
    stocked = RIGHT[name](stocked) or stocked
    assert stocked.answer(TONE) == stocked.answer(TONE, locked=False) == right
    assert rules(stocked.verify()) == []
    if name != "an older commit checked out":  # which has no lock yet
        assert rules(stocked.check_lock()) == []
