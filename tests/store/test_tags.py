from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evalstore.errors import LoadError
from evalstore.model import Kind
from evalstore.store import ArtifactStore

Save = Callable[..., str]
Git = Callable[..., str]


def names(store: ArtifactStore) -> list[str]:
    return [release.tag for release in store.releases()]


def test_releases_ascend_by_precedence_not_by_text(save: Save, git: Git, repo: Path) -> None:
    save("a", "a")
    versions = ["10.0.0", "2.0.0", "1.0.0", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0-1", "1.0.0+b", "1.0.0+a"]
    for version in versions:
        git("tag", f"rubric/tone@{version}")
    with ArtifactStore.open(repo) as store:
        listed = [str(release.version) for release in store.releases(Kind.RUBRIC, "tone")]
    assert listed == ["1.0.0-1", "1.0.0-rc.2", "1.0.0-rc.10", "1.0.0", "1.0.0+a", "1.0.0+b", "2.0.0", "10.0.0"]


def test_annotated_and_lightweight_tags_are_releases(save: Save, git: Git, repo: Path) -> None:
    commit = save("a", "a", tag="judge/exact@1.0.0")
    git("tag", "judge/exact@1.1.0")
    with ArtifactStore.open(repo) as store:
        first, second = store.releases()
    assert (first.tag_object, first.commit) == (git("rev-parse", "judge/exact@1.0.0"), commit)
    assert (second.tag_object, second.commit) == (None, commit)


def test_packed_refs_are_read_alike(store: ArtifactStore, git: Git) -> None:
    loose = store.releases()
    git("pack-refs", "--all")
    store.forget()
    assert store.releases() == loose


@pytest.mark.parametrize(
    "name",
    [
        "v1.0.0",
        "rubric/tone@1.0",
        "rubric/tone@01.0.0",
        "rubric/Tone@1.0.0",
        "rubric/tone@1.0.0/extra",
        "rubric/tone@1.0.0\u2028",
        "rubric/tone@1.0.0\u202e",
        "rubric/t\u00f6ne@1.0.0",
        "rubric/deep/tone@1.0.0",
        "scorer/tone@1.0.0",
        "xrubric/tone@1.0.0",
        "rubric/tone@\u0661.0.0",
    ],
)
def test_foreign_tags_are_no_releases(save: Save, git: Git, repo: Path, name: str) -> None:
    save("a", "a")
    git("tag", name)
    with ArtifactStore.open(repo) as store:
        assert names(store) == []
        assert [ignored for ignored, _ in store.tags.list_ignored()] == ([name] if name.startswith("rubric/") else [])


def test_tags_that_name_no_commit_under_their_own_name_are_ignored_with_the_reason(
    save: Save, git: Git, repo: Path
) -> None:
    save("a", "a", tag="rubric/good@1.0.0")
    git("tag", "rubric/blob@1.0.0", "HEAD:a")
    git("tag", "rubric/tree@1.0.0", "HEAD^{tree}")
    git("tag", "-a", "-m", "x", "rubric/nested@1.0.0", "rubric/good@1.0.0")
    git("update-ref", "refs/tags/rubric/other@1.0.0", "refs/tags/rubric/good@1.0.0")
    git("symbolic-ref", "refs/tags/rubric/link@1.0.0", "refs/heads/main")
    with ArtifactStore.open(repo) as store:
        assert names(store) == ["rubric/good@1.0.0"]
        assert dict(store.tags.list_ignored()) == {
            "rubric/blob@1.0.0": "names a blob, not a commit",
            "rubric/tree@1.0.0": "names a tree, not a commit",
            "rubric/nested@1.0.0": "names a tag, not a commit",
            "rubric/other@1.0.0": "contains a tag object made for 'rubric/good@1.0.0'",
            "rubric/link@1.0.0": "is a symbolic ref to another ref",
        }


def test_prefix_is_taken_literally(save: Save, git: Git, repo: Path) -> None:
    save("evalstore.yaml", "tag_prefix: a.b/\n")
    for name in ("a.b/rubric/x@1.0.0", "aXb/rubric/x@2.0.0", "rubric/x@3.0.0", "a.b/a.b/rubric/x@4.0.0"):
        git("tag", name)
    with ArtifactStore.open(repo) as store:
        assert names(store) == ["a.b/rubric/x@1.0.0"]
        assert store.tag_prefix == "a.b/"


@pytest.mark.parametrize("prefix", ["../", "*", "-x", "a b", "a..b", "/x", "a//b", "5", "[a]"])
def test_prefix_that_no_ref_can_have_is_refused_at_its_place(save: Save, repo: Path, prefix: str) -> None:
    save("evalstore.yaml", f"strict: false\ntag_prefix: {prefix if prefix in {'5', '[a]'} else repr(prefix)}\n")
    with pytest.raises(LoadError, match="tag_prefix cannot be part of a tag name") as caught:
        ArtifactStore.open(repo)
    assert str(caught.value.place) == "evalstore.yaml:2:13"


def test_many_questions_cost_one_listing(store: ArtifactStore, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    run = type(store.git).run

    def counted(self: object, *argv: str, **options: object) -> bytes:
        asked.append(argv)
        return run(self, *argv, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(store.git), "run", counted)
    for _ in range(200):
        store.resolve("rubric/tone@1.2.0")
    assert len(asked) < 12
