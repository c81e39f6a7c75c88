"""The commit on the way to B's content: not that of a backport, of a releaser or of a merger."""

from __future__ import annotations

from typing import Any

from evalstore.release.history.artifact_parts import WHOLE, ArtifactPart
from evalstore.release.history.origins import OriginFinder, PartOrigin
from evalstore.store import ArtifactStore
from tests.provenance.conftest import Story, ban, brief, rubric

SIMPLY, LENGTH = ArtifactPart("item", "ban", "values", "simply"), ArtifactPart("param", "brief", "max_chars")


def origin(story: Story, old: str, new: str, part: ArtifactPart = SIMPLY, name: str = "rubric/r") -> PartOrigin:
    with ArtifactStore.open(story.root) as store:
        sides = [store.resolve(f"{name}@{pin}") for pin in (old, new)]
        return OriginFinder(store).find_origins(*sides, [part])[part]


def test_a_backport_gets_no_blame(story: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.git("branch", "maint")
    bob = story.release(rubric("2.0.0", ban("foo", "simply"), brief(50)), "Bob", by="Releasebot")
    story.git("checkout", "-q", "maint")
    cyd = story.release(rubric("1.0.1", ban("foo", "simply"), brief(50)), "Cyd")
    found = origin(story, "1.0.0", "2.0.0")
    assert (found.commit, found.author, found.released_in, found.released_by) == (bob, "Bob", "2.0.0", "Releasebot")
    assert (origin(story, "1.0.0", "1.0.1").commit, origin(story, "1.0.0", "1.0.1").released_in) == (cyd, "1.0.1")


def test_a_merged_branch_is_its_authors_and_a_squashed_one_names_all(story: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.git("checkout", "-qb", "feature")
    bob = story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.git("checkout", "-q", "main")
    (story.root / "notes.txt").write_text("x")
    story.commit("Ann")
    story.git("merge", "-q", "--no-ff", "feature", "-m", "Merge feature", author="Maint")
    story.tag("rubric/r@1.0.0-merged")
    story.release(rubric("2.0.0", ban("foo", "simply"), brief(50)), "Releasebot")
    assert (origin(story, "1.0.0", "2.0.0").commit, origin(story, "1.0.0", "2.0.0").author) == (bob, "Bob")
    story.git("checkout", "-qb", "side")
    story.change(rubric("2.0.0", ban("foo", "simply"), brief(20)), "Cyd")
    story.change(rubric("2.0.0", ban("foo", "simply", "just"), brief(20)), "Eve")
    story.git("checkout", "-q", "main")
    story.git("merge", "-q", "--squash", "side")
    squash = story.commit("Maint", "Squash\n\nCo-authored-by: Cyd <c@x.org>\nCo-authored-by: Eve <e@x.org>")
    story.release(rubric("3.0.0", ban("foo", "simply", "just"), brief(20)), "Releasebot")
    found = origin(story, "2.0.0", "3.0.0", LENGTH)
    assert (found.commit, found.author, found.co_authors, found.released_in) == (
        squash,
        "Maint",
        ("Cyd", "Eve"),
        "3.0.0",
    )


def test_rebase_and_cherry_pick_keep_the_author(story: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.git("checkout", "-qb", "feature")
    story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.git("checkout", "-q", "main")
    (story.root / "notes.txt").write_text("x")
    story.commit("Ann")
    story.git("rebase", "-q", "main", "feature", author="Maint")
    rebased = story.git("rev-parse", "HEAD")
    story.release(rubric("2.0.0", ban("foo", "simply"), brief(50)), "Releasebot")
    assert (origin(story, "1.0.0", "2.0.0").commit, origin(story, "1.0.0", "2.0.0").author) == (rebased, "Bob")
    story.git("checkout", "-qb", "maint", "rubric/r@1.0.0")
    story.git("cherry-pick", rebased, author="Picker")
    picked = story.git("rev-parse", "HEAD")
    story.release(rubric("1.0.1", ban("foo", "simply"), brief(50)), "Releasebot")
    found = origin(story, "1.0.0", "1.0.1")
    assert (found.commit, found.author) == (picked, "Bob")
    assert found.commit != rebased


def test_the_way_back_undoes_the_commit_that_it_lacks(story: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    bob = story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.release(rubric("2.0.0", ban("foo", "simply"), brief(50)), "Releasebot")
    found = origin(story, "2.0.0", "1.0.0")
    assert (found.commit, found.undoes, found.released_in) == (bob, True, "2.0.0")
    cyd = story.release(rubric("3.0.0", ban("foo"), brief(50)), "Cyd")
    assert (origin(story, "2.0.0", "3.0.0").commit, origin(story, "2.0.0", "3.0.0").undoes) == (cyd, False)


def test_a_check_that_was_renamed_and_then_removed_is_the_removers(story: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.change(rubric("1.0.0", ban("foo", name="no_foo"), brief(50)), "Renamer")
    gone = story.change(rubric("1.0.0", brief(50)), "Remover")
    story.release(rubric("2.0.0", brief(50)), "Releasebot")
    assert origin(story, "1.0.0", "2.0.0", ArtifactPart("check", "ban")).commit == gone
    assert origin(story, "1.0.0", "2.0.0", ArtifactPart("presence", "ban")).author == "Remover"


def test_a_history_that_is_lost_starts_where_it_starts(story: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.git("checkout", "-q", "--orphan", "new")
    root = story.commit("Squasher", "import")
    story.release(rubric("2.0.0", ban("foo", "simply"), brief(50)), "Releasebot")
    found = origin(story, "1.0.0", "2.0.0")
    assert (found.commit, found.author, found.subject, found.released_in) == (root, "Squasher", "import", "2.0.0")


def test_a_judge_and_a_question_are_traced_in_their_own_files(story: Any) -> None:
    judge = {
        "id": "tone",
        "version": "1.0.0",
        "template": "Rate: {{ output }}",
        "score_type": "binary",
        "model": {"id": "m"},
    }
    dataset = {"id": "d", "version": "1.0.0", "questions": [{"id": "a", "input": "x", "expected_facts": ["y"]}]}
    story.release(judge, kind="judge")
    story.release(dataset, kind="dataset")
    model = story.change({**judge, "model": {"id": "n"}}, "Bob", "judge")
    story.change({**judge, "model": {"id": "n"}, "title": "Tone"}, "Titler", "judge")
    story.release({**judge, "version": "2.0.0", "model": {"id": "n"}, "title": "Tone"}, "Releasebot", "judge")
    facts = story.change(
        {**dataset, "questions": [{"id": "b", "input": "x", "expected_facts": ["z"]}]}, "Cyd", "dataset"
    )
    (story.root / "evalstore.yaml").write_text("renames: {dataset/d: {a: b}}\n")
    story.release(
        {**dataset, "version": "2.0.0", "questions": [{"id": "b", "input": "x", "expected_facts": ["z"]}]},
        "Releasebot",
        "dataset",
    )
    assert origin(story, "1.0.0", "2.0.0", WHOLE, "judge/tone").commit == model
    assert origin(story, "1.0.0", "2.0.0", ArtifactPart("reference", "b"), "dataset/d").commit == facts


def test_a_part_of_a_store_in_a_folder_with_a_prefix(story: Any) -> None:
    plain, story.root = story.root, story.root / "evals"
    story.root.mkdir()
    (story.root / "evalstore.yaml").write_text("tag_prefix: evals/\n")
    story.write(rubric("1.0.0", ban("foo"), brief(50)))
    story.commit()
    story.tag("evals/rubric/r@1.0.0")
    bob = story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.change(rubric("2.0.0", ban("foo", "simply"), brief(50)), "Releasebot")
    story.tag("evals/rubric/r@2.0.0")
    assert plain != story.root
    assert (origin(story, "1.0.0", "2.0.0").commit, origin(story, "1.0.0", "2.0.0").released_in) == (bob, "2.0.0")


def test_neither_a_graft_nor_a_setting_tells_another_history(story: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    bob = story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.change(rubric("1.0.0", ban("foo", "simply"), brief(20)), "Cyd")
    tip = story.release(rubric("2.0.0", ban("foo", "simply"), brief(20)), "Mallory")
    (story.root / ".git" / "info").mkdir(exist_ok=True)
    (story.root / ".git" / "info" / "grafts").write_text(f"{tip} {story.git('rev-parse', 'rubric/r@1.0.0^{commit}')}\n")
    for name, value in (("log.follow", "true"), ("log.showSignature", "true"), ("log.excludeDecoration", "*")):
        story.git("config", name, value)
    found = origin(story, "1.0.0", "2.0.0")
    assert (found.commit, found.author, found.released_in) == (bob, "Bob", "2.0.0")
