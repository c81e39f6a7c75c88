from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.errors import LoadError, RefError, RefusedError
from evalstore.store import ArtifactStore

from .conftest import rubric

Save = Callable[..., str]
Git = Callable[..., str]


@pytest.mark.parametrize(
    ("pin", "version", "floating"),
    [
        ("@1.0.0", "1.0.0", False),
        ("@1.0", "1.0.0", False),
        ("@1.2", "1.2.0", False),
        ("@2.1.0-rc.1", "2.1.0-rc.1", False),
        ("@^1", "1.2.0", True),
        ("@^1.0", "1.2.0", True),
        ("@~1.0", "1.0.0", True),
        ("@>=1.0 <2", "1.2.0", True),
        ("@>=1", "2.0.0", True),
        ("@>=2.1.0-rc.0", "2.1.0-rc.1", True),
        ("@latest", "2.0.0", True),
        ("", "2.0.0", True),
    ],
)
def test_pins_of_releases(
    store: ArtifactStore,
    commits: dict[str, str],
    pin: str,
    version: str,
    floating: bool,  # noqa: FBT001
) -> None:
    found = store.resolve(f"rubric/tone{pin}")
    assert (found.version, found.floating, found.commit) == (version, floating, commits[version])
    assert found.tag == f"rubric/tone@{version}"
    assert found.ref == f"rubric/tone{pin}"
    assert found.artifact.version == version


def test_many_references_are_read_ahead_and_mean_what_each_means(
    store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [f"rubric/tone{pin}" for pin in ("@1.0.0", "@1.2", "@^1", "@worktree", "@2.0.0", "@1.0.0")]
    each = tuple(map(store.resolve, refs))
    monkeypatch.setattr("evalstore.store.resolve._MANY_REFS", 4)
    assert store.resolve_all(refs) == each
    assert store.prefetch.commits.keys() == {each[0].tag, each[1].tag, each[4].tag}
    with pytest.raises(RefError, match=r"no version 9\.9\.9"):
        store.resolve_all([*refs, "rubric/tone@9.9.9"])


def test_worktree_is_the_file_on_disk(store: ArtifactStore, repo: Path, git: Git) -> None:
    (repo / "rubrics/tone.yaml").write_text(rubric(version="3.0.0", word="new"))
    found = store.resolve("rubric/tone@worktree")
    assert (found.version, found.tag, found.commit, found.floating) == ("3.0.0", None, None, False)
    assert found.blob == git("hash-object", "rubrics/tone.yaml")
    (repo / "rubrics/tone.yaml").unlink()
    with pytest.raises(RefError, match=r"^there is no rubrics/tone\.yaml$") as caught:
        store.resolve("rubric/tone@worktree")
    assert caught.value.hint == "released: 2.1.0-rc.1, 2.0.0, 1.2.0, 1.0.0"


@pytest.mark.parametrize(
    ("revision", "version"),
    [
        ("HEAD", "2.1.0-rc.1"),
        ("main", "2.1.0-rc.1"),
        ("refs/heads/main", "2.1.0-rc.1"),
        ("HEAD~1", "2.0.0"),
        ("HEAD^^", "1.2.0"),
        ("main~3", "1.0.0"),
        ("side/branch", "1.2.0"),
        ("rubric/tone@1.2.0", "1.2.0"),
        ("rubric/tone@1.2.0~1", "1.0.0"),
        ("refs/tags/rubric/tone@1.2.0", "1.2.0"),
        ("origin/main", "1.0.0"),
    ],
)
def test_revisions(store: ArtifactStore, git: Git, commits: dict[str, str], revision: str, version: str) -> None:
    git("branch", "side/branch", commits["1.2.0"])
    git("update-ref", "refs/remotes/origin/main", commits["1.0.0"])
    found = store.resolve(f"rubric/tone@git:{revision}")
    assert (found.version, found.commit, found.tag) == (version, commits[version], None)


@pytest.mark.parametrize("digits", [7, 12, 40])
def test_revision_by_id(store: ArtifactStore, commits: dict[str, str], digits: int) -> None:
    assert store.resolve(f"rubric/tone@git:{commits['1.0.0'][:digits]}").version == "1.0.0"


def test_revision_by_id_of_a_tag_object(store: ArtifactStore, git: Git) -> None:
    assert store.resolve(f"rubric/tone@git:{git('rev-parse', 'rubric/tone@1.2.0')}").version == "1.2.0"


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("nothing", "no branch, tag or commit is named 'nothing'"),
        ("abcdef0", "no branch, tag or commit is named 'abcdef0'"),
        ("0" * 40, "no branch, tag or commit is named"),
        ("HEAD~9", "goes back further"),
        ("HEAD^2", "goes back further"),
        ("main@{yesterday}", "is not a revision that evalstore reads"),
        ("main^{tree}", "is not a revision that evalstore reads"),
        ("v1-0-gabcdef", "no branch, tag or commit is named"),
    ],
)
def test_revisions_that_name_nothing(store: ArtifactStore, revision: str, message: str) -> None:
    with pytest.raises(RefError, match=message.replace("^", r"\^").replace("{", r"\{")):
        store.resolve(f"rubric/tone@git:{revision}")


def test_revision_with_two_meanings_is_refused(store: ArtifactStore, git: Git, commits: dict[str, str]) -> None:
    git("branch", "twice", commits["1.0.0"])
    git("tag", "twice", commits["2.0.0"])
    with pytest.raises(RefError, match="'twice' names 2 commits") as caught:
        store.resolve("rubric/tone@git:twice")
    assert caught.value.hint == "write the full name, as in refs/heads/main"


def test_branch_named_like_a_commit_is_refused(store: ArtifactStore, git: Git, commits: dict[str, str]) -> None:
    git("branch", commits["1.0.0"][:8], commits["2.0.0"])
    with pytest.raises(RefError, match="names 2 commits"):
        store.resolve(f"rubric/tone@git:{commits['1.0.0'][:8]}")


def test_file_missing_at_a_commit_is_said(store: ArtifactStore, commits: dict[str, str]) -> None:
    with pytest.raises(RefError, match=r"there is no judges/tone\.yaml at "):
        store.resolve(f"judge/tone@git:{commits['1.0.0']}")


@pytest.mark.parametrize(
    ("ref", "message", "hint"),
    [
        ("rubric/tone@9.9.9", "rubric/tone has no version 9.9.9", "released: 2.1.0-rc.1, 2.0.0, 1.2.0, 1.0.0"),
        ("rubric/tone@1.0.0+build", "rubric/tone has no version 1.0.0+build", "released: 2.1.0-rc.1"),
        ("rubric/tone@~3.1", "rubric/tone has no release in the range ~3.1", "released: 2.1.0-rc.1, 2.0.0"),
        ("rubric/tones@1.0.0", "there is no rubric/tones", "did you mean rubric/tone? released: 2.1.0-rc.1"),
        ("judge/tone@1.0.0", "there is no judge/tone", "list the artifacts: evalstore list"),
        ("rubric/zebra", "there is no rubric/zebra", "list the artifacts: evalstore list"),
        ("rubric/tones@worktree", "there is no rubric/tones", "did you mean rubric/tone? released: 2.1.0-rc.1"),
        ("rubric/zebra@worktree", "there is no rubric/zebra", "list the artifacts: evalstore list"),
    ],
)
def test_what_is_not_there_is_said_with_what_is(store: ArtifactStore, ref: str, message: str, hint: str) -> None:
    with pytest.raises(RefError) as caught:
        store.resolve(ref)
    assert caught.value.message == message
    assert str(caught.value.hint).startswith(hint)


def test_long_lists_of_versions_are_cut(save: Save, git: Git, repo: Path) -> None:
    save("a", "a")
    for minor in range(20):
        git("tag", f"rubric/tone@1.{minor}.0")
    with ArtifactStore.open(repo) as store, pytest.raises(RefError) as caught:
        store.resolve("rubric/tone@2.0.0")
    assert str(caught.value.hint).endswith("1.8.0 and 8 older")


def test_file_without_release_is_told_apart(store: ArtifactStore, repo: Path) -> None:
    (repo / "rubrics/fresh.yaml").write_text(rubric("fresh"))
    with pytest.raises(RefError, match="rubric/fresh has no release yet") as caught:
        store.resolve("rubric/fresh@1.0.0")
    assert caught.value.hint == (
        "release it: evalstore bump rubric/fresh; to use the file as it is, pin @worktree, or score with `worktree` (--worktree)"
    )


def test_only_pre_releases_are_no_latest(save: Save, repo: Path) -> None:
    save("rubrics/tone.yaml", rubric(version="1.0.0-rc.1"), tag="rubric/tone@1.0.0-rc.1")
    with ArtifactStore.open(repo) as store, pytest.raises(RefError, match="has no release that is not a pre-release"):
        store.resolve("rubric/tone@latest")


def test_two_part_version_in_a_file_reads_as_three(save: Save, repo: Path) -> None:
    save("rubrics/tone.yaml", rubric(version="1.0"), tag="rubric/tone@1.0.0")
    with ArtifactStore.open(repo) as store:
        assert store.resolve("rubric/tone@1.0").artifact.version == "1.0.0"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        (
            rubric(version="1.0.1"),
            "the file at its commit has version 1.0.1",
            "rubric/tone@1.0.0:rubrics/tone.yaml:2:10",
        ),
        (
            rubric("other"),
            "the id is 'other', but the file belongs to rubric/tone",
            "rubric/tone@1.0.0:rubrics/tone.yaml:1:5",
        ),
        ("id: tone\nversion: 1.0\n", "the version 1.0 is not a version", "rubric/tone@1.0.0:rubrics/tone.yaml:2:10"),
        ("id: tone\n", "there is no version", "rubric/tone@1.0.0:rubrics/tone.yaml:1:1"),
        ("- a list\n", "its root is not a mapping", "rubric/tone@1.0.0:rubrics/tone.yaml:1:1"),
        ("a: 'open\n", "not YAML", "rubric/tone@1.0.0:rubrics/tone.yaml:1:4"),
    ],
)
def test_tag_of_a_file_that_is_not_that_version_is_refused(
    save: Save, repo: Path, text: str, message: str, place: str
) -> None:
    save("rubrics/tone.yaml", text, tag="rubric/tone@1.0.0")
    with (
        ArtifactStore.open(repo) as store,
        pytest.raises(RefusedError, match=r"the tag rubric/tone@1\.0\.0 is not valid: ") as caught,
    ):
        store.resolve("rubric/tone@1.0.0")
    assert message in caught.value.message
    assert str(caught.value.place) == place


def test_tag_of_a_commit_without_the_file_is_refused(save: Save, repo: Path) -> None:
    save("README", "x", tag="rubric/tone@1.0.0")
    with (
        ArtifactStore.open(repo) as store,
        pytest.raises(RefusedError, match=r"is not valid: there is no rubrics/tone\.yaml at"),
    ):
        store.resolve("rubric/tone@latest")


def test_number_as_version_is_hinted(save: Save, repo: Path) -> None:
    save("rubrics/tone.yaml", "id: tone\nversion: 1.10\n")
    with ArtifactStore.open(repo) as store, pytest.raises(LoadError) as caught:
        store.resolve("rubric/tone@worktree")
    assert str(caught.value) == "rubrics/tone.yaml:2:10: the version 1.10 is not a version"
    assert caught.value.hint == 'quote it, as in version: "1.2.0"'


def test_digests_ignore_version_and_comments(save: Save, repo: Path) -> None:
    save("rubrics/tone.yaml", rubric(), tag="rubric/tone@1.0.0")
    save("rubrics/tone.yaml", "# a comment\n" + rubric(version="1.0.1"), tag="rubric/tone@1.0.1")
    with ArtifactStore.open(repo) as store:
        first, second = store.resolve("rubric/tone@1.0.0"), store.resolve("rubric/tone@1.0.1")
    assert (first.digest, first.scoring_digest) == (second.digest, second.scoring_digest)
    assert first.blob != second.blob


def test_commit_tells_author_and_date(store: ArtifactStore, commits: dict[str, str]) -> None:
    commit = store.commit(commits["1.0.0"])
    assert (commit.author, commit.email, commit.summary) == ("Ada Tester", "ada@example.org", "Change the ruler")
    assert commit.date.startswith("2025-10-09T08:")


@pytest.mark.parametrize(
    ("author", "told"),
    [
        ("Ada <a@x> 99999999999999999999 +0000", ("(unreadable)", "", "")),
        ("Ada <a@x> 999999999999 +0000", ("Ada", "a@x", "")),
        ("Ada <a@x> 0 +9999", ("Ada", "a@x", "")),
        ("Ada <a@x> 0 -0130", ("Ada", "a@x", "1969-12-31T22:30:00-01:30")),
        ("Ada <a@x>", ("Ada", "a@x", "")),
        ("no address 5 +0000", ("(unreadable)", "", "")),
        ("x <" * 4000 + "> 0 +0000", ("x <" * 3999 + "x", "", "1970-01-01T00:00:00+00:00")),
        ("", ("(unreadable)", "", "")),
    ],
)
def test_odd_authors_are_told_as_far_as_they_go(
    store: ArtifactStore, git: Git, author: str, told: tuple[str, str, str]
) -> None:
    tree = git("rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nauthor {author}\ncommitter C <c@x> 0 +0000\n\nOdd\n\nbody\n"
    oid = git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=text)
    commit = store.commit(oid)
    assert (commit.author, commit.email, commit.date) == told
    assert commit.summary == "Odd"
