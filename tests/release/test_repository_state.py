"""What people do to tags, ledgers and branches by hand, and that no command is green, or advises in vain, after it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import RefError, RefusedError
from evalstore.release.changes.values import ArtifactState
from evalstore.store import ArtifactStore
from evalstore.store.listing import list_artifacts
from evalstore.versions import Bump
from tests.release.shop import Shop, rubric

LEDGER = ".evalstore/sums/rubric/tone"


def read_release_word(cli: Callable[..., Any], store: Path) -> str:
    return str(cli("-C", store, "list").out.splitlines()[1])


@pytest.mark.parametrize("annotate", [["-a", "-m", "by hand"], []], ids=["annotated", "lightweight"])
def test_a_tag_beside_an_unchanged_file_is_no_release_of_it(
    released: Shop, cli: Callable[..., Any], annotate: list[str]
) -> None:
    released.git("tag", *annotate, "rubric/tone@1.1.0")
    (one,) = released.status().artifacts
    assert (one.state, one.ok) == (ArtifactState.BROKEN, False)
    assert "the file at its commit has version 1.0.0" in one.message
    ran = cli("-C", released.root, "status", "--check")
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "1 of 1 artifact cannot be compared with a release")
    assert read_release_word(cli, released.root).split() == ["rubric/tone", "1.1.0", "2", "1.0.0", "changed"]
    with pytest.raises(RefusedError, match="is not valid"):
        released.bump()


def test_a_version_in_another_spelling_is_still_that_of_the_release(shop: Shop) -> None:
    spelled = rubric().replace("version: 1.0.0", '"version":\n  "1.0" # the first')
    shop.write("rubrics/tone.yaml", spelled)
    shop.bump()
    assert shop.status().artifacts == ()


def test_a_conflict_in_a_ledger_ends_in_no_release(released: Shop, cli: Callable[..., Any]) -> None:
    whole = released.read(LEDGER)
    released.write(LEDGER, b"<<<<<<< HEAD\n" + whole + b"=======\n>>>>>>> theirs\n")
    released.git("commit", "-qam", "merge")
    # Nothing else changed, and the next bump would stop at it.
    ran = cli("-C", released.root, "status", "--check")
    assert (ran.code, "hint: after a conflict, keep the lines of both sides" in ran.out) == (1, True)
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    with pytest.raises(RefusedError, match="this ledger line is malformed"):
        released.bump()
    ran = cli("-C", released.root, "status", "--check")
    assert (ran.code, "hint: after a conflict, keep the lines of both sides" in ran.out) == (1, True)
    released.write(LEDGER, whole)
    released.git("commit", "-qam", "resolve")
    assert len(released.bump().released) == 1


def test_a_bump_in_a_conflict_names_the_way_out_that_status_names(released: Shop, cli: Callable[..., Any]) -> None:
    released.git("switch", "-qc", "other")
    for branch, word in (("other", "only"), ("main", "just")):
        released.git("switch", "-q", branch)
        released.write("rubrics/tone.yaml", rubric(ban=word))
        released.git("commit", "-qam", word)
    subprocess.run(["git", "merge", "other"], cwd=released.top, capture_output=True, check=False)
    way_out = "or git merge --abort; then evalstore bump --again if your release is unpushed"
    assert way_out in " ".join(cli("-C", released.root, "status").out.split())
    for refs in (("rubric/tone",), ("--all",)):
        ran = cli("-C", released.root, "bump", *refs)
        assert (ran.code, way_out in ran.err) == (3, True)


def test_a_clone_without_ledgers_is_no_conflict(released: Shop, cli: Callable[..., Any], tmp_path: Path) -> None:
    released.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    options = ("--filter=blob:none", "--sparse", "-q")
    released.run("clone", *options, f"file://{released.top}", str(clone), cwd=tmp_path)
    folder = str(Path(released.folder) / "rubrics")
    released.run("sparse-checkout", "set", folder, cwd=clone)
    assert not (clone / released.folder / ".evalstore/sums").exists()
    assert cli("-C", clone / released.folder, "status", "--check").code == 0


def test_a_clone_without_tags_never_says_that_nothing_was_released(
    released: Shop, cli: Callable[..., Any], tmp_path: Path
) -> None:
    released.run("clone", "-q", "--no-tags", str(released.top), str(tmp_path / "clone"), cwd=tmp_path)
    clone = tmp_path / "clone" / released.folder
    for command in ("resolve", "log", "blame"):
        ran = cli("-C", clone, command, "rubric/tone")
        assert (ran.code, ran.err.splitlines()[0]) == (
            3,
            "error: rubric/tone@1.0.0 was released, but its tag is not in this clone",
        )
    assert "released, but this clone has no tag of it" in read_release_word(cli, clone)
    assert "hint: git fetch --tags" in cli("-C", clone, "status").out


def test_a_floating_reference_means_no_older_release_than_the_ledger_records(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.git("tag", "-d", "rubric/tone@2.0.0")
    with ArtifactStore.open(released.root) as store:
        for ref in ("rubric/tone", "rubric/tone@latest", "rubric/tone@>=1", "rubric/tone@^2", "rubric/tone@2.0.0"):
            with pytest.raises(RefError, match=r"rubric/tone@2\.0\.0 was released, but its tag"):
                store.resolve(ref)
        assert store.resolve("rubric/tone@^1").version == "1.0.0"
        assert list_artifacts(store).artifacts[0].latest == "1.0.0"


def test_a_candidate_above_another_branch_goes_on_from_its_own_release(released: Shop) -> None:
    """The other branch has 2.0.0, and so this one's candidate is of 3.0.0; what it was edited from is 1.0.0."""
    branch = released.git("branch", "--show-current").strip()
    released.git("checkout", "-qb", "other")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.git("checkout", "-q", branch)
    released.write("rubrics/tone.yaml", rubric(ban="only").replace("1.0.0", "3.0.0", 1))
    (made,) = released.bump(pre="rc").released
    assert (made.ref, made.previous) == ("rubric/tone@3.0.0-rc.1", "1.0.0")
    (one,) = released.status().artifacts
    assert (one.released, one.ok) == ("1.0.0", True)
    released.write("rubrics/tone.yaml", rubric(ban="lastly").replace("1.0.0", "3.0.0-rc.1", 1))
    (one,) = released.status().artifacts
    assert one.released == "1.0.0"


def test_after_a_reset_no_branch_is_made_up(released: Shop, cli: Callable[..., Any]) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.bump()
    released.git("branch", "kept")
    released.git("reset", "-q", "--hard", "HEAD~1")
    (one,) = released.status().artifacts
    assert (one.state, one.message) == (
        ArtifactState.BEHIND,
        "no noticeable change; kept has the released 2.0.0",
    )
    released.git("branch", "-qD", "kept")
    (one,) = released.status().artifacts
    assert one.message == "no noticeable change; no branch here has the released 2.0.0"
    # There is nothing to release: no command is named that would do nothing.
    assert cli("-C", released.root, "status").out.splitlines()[-1] == "1 of 1 artifact differs from the last release"
    released.write("rubrics/tone.yaml", rubric(ban="only"))
    with pytest.raises(RefusedError, match="is already released, with other content") as caught:
        released.bump(level=Bump.MAJOR)
    assert caught.value.hint == "write 3.0.0 into the file; or commit the edit, then git merge rubric/tone@2.0.0"
    released.write("rubrics/tone.yaml", rubric(version="3.0.0", ban="only"))
    assert released.bump().released[0].tag == "rubric/tone@3.0.0"


def test_a_folder_beside_the_store_says_where_it_is(shop: Shop, cli: Callable[..., Any]) -> None:
    shop.write("evals/evalstore.yaml", "")
    shop.write("evals/rubrics/kind.yaml", rubric("kind"))
    (shop.root / "rubrics/tone.yaml").unlink()
    shop.git("add", "-A")
    shop.git("commit", "-qm", "store")
    assert cli("-C", shop.root / "evals", "bump", "--all").code == 0
    for command in (["resolve", "rubric/kind"], ["resolve", "rubric/other"], ["list"]):
        assert "evalstore -C evals status" in cli("-C", shop.root, *command).err
