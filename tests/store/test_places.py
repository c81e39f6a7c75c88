"""Where a store can be opened, and what is said where it cannot."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.errors import GitError, LoadError, RefError
from evalstore.store import ArtifactStore
from evalstore.store.locate import find_repository

from .conftest import rubric

Save = Callable[..., str]
Git = Callable[..., str]


@pytest.fixture
def clone(git: Git, commits: dict[str, str], repo: Path, tmp_path: Path) -> Callable[..., Path]:
    def run(*options: str) -> Path:
        git("clone", "-q", *options, f"file://{repo}", str(tmp_path / "clone"), cwd=tmp_path)
        return tmp_path / "clone"

    return run


def test_root_of_a_repository(store: ArtifactStore, repo: Path) -> None:
    assert (store.root, store.prefix, store.settings) == (repo, "", {})


def test_folder_within_the_working_tree(store: ArtifactStore, repo: Path) -> None:
    with ArtifactStore.open(repo / "rubrics") as within:
        assert within.root == repo
        assert within.resolve("rubric/tone@1.0.0") == store.resolve("rubric/tone@1.0.0")


def test_subfolder_store_is_found_from_below(save: Save, repo: Path) -> None:
    save("eval/store/evalstore.yaml", "strict: true\n")
    save("eval/store/rubrics/tone.yaml", rubric(), tag="rubric/tone@1.0.0")
    (repo / "eval/store/rubrics/deep").mkdir()
    with ArtifactStore.open(repo / "eval/store/rubrics/deep") as store:
        assert (store.root, store.prefix) == (repo / "eval/store", "eval/store/")
        assert store.settings == {"strict": True}
        assert store.resolve("rubric/tone@1.0.0").blob == store.resolve("rubric/tone@worktree").blob
        assert [str(ref) for ref in store.working()] == ["rubric/tone@worktree"]
    with ArtifactStore.open(repo / "eval") as above:
        assert above.root == repo


def test_settings_that_are_a_link_mark_nothing(save: Save, repo: Path, tmp_path: Path) -> None:
    save("sub/rubrics/tone.yaml", rubric())
    (tmp_path / "outside.yaml").write_text("strict: true\n")
    (repo / "sub/evalstore.yaml").symlink_to(tmp_path / "outside.yaml")
    with ArtifactStore.open(repo / "sub") as store:
        assert (store.root, store.settings) == (repo, {})


def test_link_to_the_store_is_followed_where_the_user_names_it(
    store: ArtifactStore, repo: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(repo)
    with ArtifactStore.open(tmp_path / "link") as linked:
        assert linked.root == repo


def test_bare_repository(store: ArtifactStore, clone: Callable[..., Path]) -> None:
    with ArtifactStore.open(clone("--bare")) as bare:
        assert (bare.root, bare.prefix, bare.working()) == (None, "", [])
        assert bare.resolve("rubric/tone@^1") == store.resolve("rubric/tone@^1")
        assert bare.resolve("rubric/tone@git:main").version == "2.1.0-rc.1"
        with pytest.raises(RefError, match="a bare repository has no working tree") as caught:
            bare.resolve("rubric/tone@worktree")
    assert caught.value.hint == "pin a release, or rubric/tone@git:HEAD"


def test_bare_repository_reads_its_settings_from_head(save: Save, git: Git, repo: Path, tmp_path: Path) -> None:
    save("evalstore.yaml", "tag_prefix: evals/\n")
    save("rubrics/tone.yaml", rubric(), tag="evals/rubric/tone@1.0.0")
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare"))
    with ArtifactStore.open(tmp_path / "bare") as bare:
        assert bare.resolve("rubric/tone").tag == "evals/rubric/tone@1.0.0"


def test_bare_repository_of_a_store_in_a_subfolder(save: Save, git: Git, repo: Path, tmp_path: Path) -> None:
    save("evals/web/evalstore.yaml", "tag_prefix: web/\n")
    save("evals/web/rubrics/tone.yaml", rubric(), tag="web/rubric/tone@1.0.0")
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "bare"))
    with ArtifactStore.open(tmp_path / "bare") as bare:
        assert (bare.root, bare.prefix) == (None, "evals/web/")
        assert bare.resolve("rubric/tone").tag == "web/rubric/tone@1.0.0"
        assert bare.resolve("rubric/tone@git:HEAD").version == "1.0.0"


def test_bare_repository_of_two_stores_is_refused_and_a_store_at_its_root_is_read(
    save: Save, git: Git, repo: Path, tmp_path: Path
) -> None:
    for name in "ab":
        save(f"{name}/evalstore.yaml", "")
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "two"))
    with pytest.raises(GitError, match="has 2 stores: a/, b/"):
        ArtifactStore.open(tmp_path / "two")
    save("rubrics/tone.yaml", rubric(), tag="rubric/tone@1.0.0")
    git("clone", "-q", "--bare", str(repo), str(tmp_path / "three"))
    with ArtifactStore.open(tmp_path / "three") as bare:
        assert bare.resolve("rubric/tone").version == "1.0.0"


def test_empty_bare_repository(git: Git, tmp_path: Path) -> None:
    git("init", "-q", "--bare", str(tmp_path / "bare"))
    with ArtifactStore.open(tmp_path / "bare") as bare:
        assert bare.releases() == []
        with pytest.raises(RefError, match="HEAD has no commit yet"):
            bare.resolve("rubric/tone@git:HEAD")


def test_linked_worktree_has_its_own_head_and_files(
    store: ArtifactStore, git: Git, commits: dict[str, str], tmp_path: Path
) -> None:
    git("worktree", "add", "-q", "--detach", str(tmp_path / "tree"), commits["1.2.0"])
    with ArtifactStore.open(tmp_path / "tree") as linked:
        assert linked.root == tmp_path / "tree"
        assert linked.resolve("rubric/tone@git:HEAD").version == "1.2.0"
        assert linked.resolve("rubric/tone@worktree").version == "1.2.0"
        assert linked.resolve("rubric/tone@2.0.0") == store.resolve("rubric/tone@2.0.0")


def test_detached_head(store: ArtifactStore, git: Git, commits: dict[str, str]) -> None:
    git("checkout", "-q", commits["1.0.0"])
    assert store.resolve("rubric/tone@git:HEAD").version == "1.0.0"
    assert store.resolve("rubric/tone@2.0.0").version == "2.0.0"


def test_unborn_branch_is_not_taken_for_a_tag_named_head(git: Git, repo: Path, commits: dict[str, str]) -> None:
    git("tag", "HEAD")
    git("checkout", "-q", "--orphan", "fresh")
    with ArtifactStore.open(repo) as store, pytest.raises(RefError, match="HEAD has no commit yet"):
        store.resolve("rubric/tone@git:HEAD")


def test_shallow_clone_says_what_may_be_missing(clone: Callable[..., Path]) -> None:
    with ArtifactStore.open(clone("--depth=1")) as shallow:
        assert shallow.repository.shallow
        assert shallow.resolve("rubric/tone@2.1.0-rc.1").version == "2.1.0-rc.1"
        with pytest.raises(RefError, match=r"has no version 1\.0\.0") as caught:
            shallow.resolve("rubric/tone@1.0.0")
    assert "this clone is shallow and may lack tags: git fetch --unshallow --tags" in str(caught.value.hint)


def test_shallow_clone_ends_its_history(clone: Callable[..., Path]) -> None:
    with (
        ArtifactStore.open(clone("--depth=1")) as shallow,
        pytest.raises(RefError, match="further than the history of this clone") as caught,
    ):
        shallow.resolve("rubric/tone@git:HEAD~1")
    assert caught.value.hint == "git fetch --unshallow --tags"


def test_tag_less_clone_says_so(clone: Callable[..., Path]) -> None:
    with ArtifactStore.open(clone("--no-tags")) as tagless, pytest.raises(RefError) as caught:
        tagless.resolve("rubric/tone@1.0.0")
    assert "this clone has no release tags: git fetch --tags" in str(caught.value.hint)


def test_partial_clone_fetches_nothing_and_says_so(git: Git, repo: Path, clone: Callable[..., Path]) -> None:
    git("config", "uploadpack.allowFilter", "true")
    partial = ArtifactStore.open(clone("--filter=blob:none", "--no-checkout"))
    with partial, pytest.raises(GitError, match="is missing from this clone") as caught:
        partial.resolve("rubric/tone@1.0.0")
    hint = str(caught.value.hint)
    assert "partial clone" in hint
    # The command of the hint brings it.
    git(*hint.removeprefix("git ").partition(",")[0].split(" "), cwd=partial.repository.top)
    with ArtifactStore.open(partial.repository.top) as whole:
        assert whole.resolve("rubric/tone@1.0.0").version == "1.0.0"


@pytest.mark.parametrize("format_", ["sha1", "sha256"])
def test_both_object_formats(git: Git, tmp_path: Path, format_: str) -> None:
    repo = tmp_path / format_
    git("init", "-q", f"--object-format={format_}", str(repo))
    (repo / "rubrics").mkdir()
    (repo / "rubrics/tone.yaml").write_text(rubric())
    git("add", ".", cwd=repo)
    git("commit", "-q", "-m", "x", cwd=repo)
    git("tag", "-a", "-m", "x", "rubric/tone@1.0.0", cwd=repo)
    with ArtifactStore.open(repo) as store:
        found = store.resolve("rubric/tone@1.0.0")
        assert found.blob == store.resolve("rubric/tone@worktree").blob
        assert len(str(found.commit)) == (40 if format_ == "sha1" else 64)


def test_outside_a_repository(tmp_path: Path) -> None:
    with pytest.raises(GitError, match="is not in a git repository") as caught:
        ArtifactStore.open(tmp_path)
    assert caught.value.hint == f"evalstore init {tmp_path}"


@pytest.mark.parametrize("name", ["missing", "a file", "nul\0byte"])
def test_no_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "a file").write_text("")
    with pytest.raises(GitError, match=r"there is no folder|is not a folder"):
        ArtifactStore.open(f"{tmp_path}/{name}")


def test_broken_git_folder_is_not_passed_over_for_a_parent_repository(store: ArtifactStore, repo: Path) -> None:
    (repo / "sub/.git").mkdir(parents=True)
    with pytest.raises(GitError, match="git cannot read the repository in "):
        ArtifactStore.open(repo / "sub")


@pytest.mark.parametrize(("text", "message"), [("- a\n", "settings must be a mapping"), ("a: [\n", "not YAML")])
def test_broken_settings_are_placed(save: Save, repo: Path, text: str, message: str) -> None:
    save("evalstore.yaml", text)
    with pytest.raises(LoadError, match=message) as caught:
        ArtifactStore.open(repo)
    assert str(caught.value.place).startswith("evalstore.yaml:")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_repository_of_another_user_is_read_only_by_the_users_own_leave(
    store: ArtifactStore, git: Git, repo: Path
) -> None:
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(GitError, match="belongs to another user") as caught:
        ArtifactStore.open(repo)
    assert "git config --global --add safe.directory" in str(caught.value.hint)
    subprocess.run(["git", "config", "--global", "--add", "safe.directory", str(repo)], check=True)
    with ArtifactStore.open(repo) as trusted:
        assert trusted.resolve("rubric/tone@1.0.0").version == "1.0.0"


def test_git_dir_of_a_surrounding_hook_changes_nothing(
    store: ArtifactStore, git: Git, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = store.resolve("rubric/tone@1.0.0")
    git("init", "-q", str(tmp_path / "other"))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "other/.git"))
    with ArtifactStore.open(repo) as again:
        assert again.resolve("rubric/tone@1.0.0") == expected
        assert again.releases() == store.releases()


def test_rows_are_streamed_from_the_same_place(save: Save, repo: Path) -> None:
    save("datasets/big.jsonl", '{"id": "a", "input": "old"}\n\n{"id": "b", "input": "old"}')
    save("datasets/big.yaml", 'id: big\nversion: "1.0.0"\nrows: big.jsonl\n', tag="dataset/big@1.0.0")
    (repo / "datasets/big.jsonl").write_text('{"id": "c", "input": "new"}\n')
    with ArtifactStore.open(repo) as store:
        assert [row["id"] for row in store.rows("dataset/big@1.0.0")] == ["a", "b"]
        assert [question.input for question in store.questions("dataset/big@worktree")] == ["new"]


@pytest.mark.parametrize(
    ("line", "message"),
    [("[1]", "a row must be an object"), ('{"id": "x"}', "the row has no input"), ("{", "not JSON")],
)
def test_broken_row_is_placed(save: Save, repo: Path, line: str, message: str) -> None:
    save("datasets/big.jsonl", f'{{"id": "a", "input": "x"}}\n{line}\n')
    save("datasets/big.yaml", 'id: big\nversion: "1.0.0"\nrows: big.jsonl\n', tag="dataset/big@1.0.0")
    with ArtifactStore.open(repo) as store, pytest.raises(LoadError, match=message) as caught:
        list(store.rows("dataset/big@1.0.0"))
    assert str(caught.value.place).startswith("dataset/big@1.0.0:datasets/big.jsonl:2")


@pytest.mark.parametrize("name", ["../secret.jsonl", "/etc/passwd", "sub/x.jsonl", "big.yaml", 5])
def test_rows_name_a_file_beside_the_dataset_only(save: Save, repo: Path, name: object) -> None:
    save("datasets/big.yaml", f'id: big\nversion: "1.0.0"\nrows: {name}\n')
    with (
        ArtifactStore.open(repo) as store,
        pytest.raises(LoadError, match="`rows` must name a file next to the dataset"),
    ):
        list(store.rows("dataset/big@worktree"))


def test_a_path_with_a_line_feed_is_one_path(git: Callable[..., str], tmp_path: Path) -> None:
    top, side = (tmp_path / "a\nb" / name for name in ("repo", "side"))
    git("init", "-q", str(top))
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=top)
    git("worktree", "add", "-q", str(side), cwd=top)
    assert find_repository(top).git[:2] == (top / ".git", top / ".git")
    assert find_repository(side).git[:2] == (top / ".git/worktrees/side", top / ".git")
