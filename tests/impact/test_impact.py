from __future__ import annotations

import shutil
from typing import Any

import pytest

from evalstore.errors import EvalstoreError
from evalstore.release.history.impact import Impact
from evalstore.store import ArtifactStore
from evalstore.versions import Bump

from .conftest import World

PATCH, MINOR, MAJOR = Bump.PATCH, Bump.MINOR, Bump.MAJOR


def reached(found: Impact) -> dict[str, tuple[int, int, int]]:
    return {one.name: (one.distance, one.questions, one.total_questions) for one in found.dependents}


def test_a_judge_reaches_rubrics_composites_and_questions(world: World) -> None:
    found = world.impact("judge/accuracy")
    assert reached(found) == {
        "rubric/exact": (1, 0, 0),
        "rubric/loose": (1, 0, 0),
        "rubric/range": (1, 0, 0),
        "dataset/big": (2, 1, 2),
        "dataset/web": (2, 3, 4),
        "rubric/whole": (2, 0, 0),
    }
    assert (found.version, found.latest, found.questions, found.notes) == (None, "1.0.0", 4, ())


def test_every_pin_says_where_it_stands_and_what_the_next_release_does_to_it(world: World) -> None:
    pins = {held.user: held for held in world.impact("judge/accuracy").pins if held.target == "judge/accuracy"}
    assert {user: (str(held.ref), held.means, held.follows, held.places) for user, held in pins.items()} == {
        "rubric/exact": ("judge/accuracy@1.0.0", "1.0.0", (), 2),
        "rubric/range": ("judge/accuracy@^1", "1.0.0", (PATCH, MINOR), 1),
        "rubric/loose": ("judge/accuracy", "1.0.0", (PATCH, MINOR, MAJOR), 1),
    }
    assert str(pins["rubric/exact"].place) == "rubrics/exact.yaml:4:41"


@pytest.mark.heavy
def test_what_the_lock_holds_follows_nothing(world: World, cli: Any) -> None:
    assert cli("-C", world.top, "lock").code == 0
    pins = {held.user: held for held in world.impact("judge/accuracy").pins}
    assert (pins["rubric/loose"].follows, pins["rubric/loose"].locked) == ((), True)


def test_only_files_that_mention_it_are_parsed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    resolve = ArtifactStore.resolve
    monkeypatch.setattr(ArtifactStore, "resolve", lambda store, ref: asked.append(str(ref)) or resolve(store, ref))
    world.impact("rubric/loose")
    # Whose letters are written as escapes could name anything; rows are found through their YAML.
    assert set(asked) == {"dataset/web@worktree", "dataset/big@worktree"}


@pytest.mark.heavy
def test_a_version_is_held_by_working_files_and_releases_that_mean_it(world: World) -> None:
    world.judge("2.0.0", "title: New\n")
    world.rubric("exact", "judge/accuracy@2.0.0", version="2.0.0")
    world.release("judge/accuracy@2.0.0", "rubric/exact@2.0.0")
    one, two = (
        {dependent.name: (dependent.working, dependent.releases) for dependent in world.impact(ref).dependents}
        for ref in ("judge/accuracy@1.0.0", "judge/accuracy@2.0")
    )
    assert one == {
        "rubric/exact": (None, ("1.0.0",)),
        "rubric/range": ("1.0.0", ("1.0.0",)),
        "rubric/whole": ("1.0.0", ("1.0.0",)),
        "dataset/big": ("1.0.0", ("1.0.0",)),
        "dataset/web": ("1.0.0", ("1.0.0",)),
    }
    assert two == {"rubric/exact": ("2.0.0", ("2.0.0",)), "rubric/loose": ("1.0.0", ("1.0.0",))}


def test_the_questions_of_a_version_are_those_that_it_grades(world: World) -> None:
    assert reached(world.impact("rubric/whole@1.0.0")) == {"dataset/web": (1, 2, 4)}


@pytest.mark.heavy
def test_a_bare_repository_answers_for_versions(world: World, tmp_path: Any) -> None:
    world.git("clone", "-q", "--bare", str(world.top), str(tmp_path / "bare.git"))
    bare = World(tmp_path / "bare.git", world.git)
    found = bare.impact("rubric/exact@1.0.0")
    assert {one.name: (one.working, one.releases) for one in found.dependents} == {
        "rubric/whole": (None, ("1.0.0",)),
        "dataset/big": (None, ("1.0.0",)),
        "dataset/web": (None, ("1.0.0",)),
    }
    with pytest.raises(EvalstoreError, match="bare repository"):
        bare.impact("rubric/exact")


def test_a_dataset_that_a_judge_was_measured_on_leads_no_further(world: World) -> None:
    world.judge(tail="validation: {validated_against: dataset/web@1.0.0}\n")
    found = world.impact("dataset/web")
    assert reached(found) == {"judge/accuracy": (1, 0, 0)}
    assert [held.scores for held in found.pins] == [False]


def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(world: World) -> None:
    world.write("rubrics/broken.yaml", "id: [judge/accuracy@1.0.0\n")
    found = world.impact("judge/accuracy")
    assert len(found.dependents) == 6
    (note,) = found.notes
    assert note.startswith("rubric/broken@worktree cannot be read, so its references are unknown: rubrics/broken")


def test_a_link_is_not_followed(world: World) -> None:
    (world.top / "rubrics/linked.yaml").symlink_to(world.top / "rubrics/exact.yaml")
    assert "rubric/linked" not in reached(world.impact("judge/accuracy"))


def test_a_circle_ends(world: World) -> None:
    world.rubric("one", "rubric/two@1.0.0")
    world.rubric("two", "rubric/one@1.0.0")
    assert reached(world.impact("rubric/one")) == {"rubric/two": (1, 0, 0)}


def test_what_is_gone_is_still_referred_to(world: World) -> None:
    shutil.rmtree(world.top / "judges")
    assert len(world.impact("judge/accuracy").dependents) == 6


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("judge/acuracy", "there is no judge/acuracy"),
        ("judge/accuracy@9.9.9", "has no version 9.9.9"),
        ("judge/accuracy@git:HEAD", "is not a release"),
        ("nonsense", "is not a reference"),
    ],
)
def test_what_does_not_exist_is_refused(world: World, ref: str, said: str) -> None:
    with pytest.raises(EvalstoreError, match=said):
        world.impact(ref)
