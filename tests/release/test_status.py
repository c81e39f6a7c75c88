from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.diff.settings import RULE_SETS
from evalstore.release.changes.status import read_status
from evalstore.release.changes.values import ArtifactState
from evalstore.release.changes.version_rules import VersionRule
from evalstore.store import ArtifactStore
from evalstore.versions import Bump
from tests.release.shop import JUDGE, Shop, judged, rubric


def test_what_is_as_released_is_not_listed(released: Shop) -> None:
    found = released.status()
    assert (found.artifacts, found.total, found.ok) == ((), 1, True)


def test_what_is_as_released_is_not_even_parsed(released: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArtifactStore, "resolve", None)
    assert released.status().ok


def test_what_was_never_released_is_new_and_no_fault(shop: Shop) -> None:
    found = shop.status()
    (one,) = found.artifacts
    assert (one.ref, one.state, one.released, one.working, one.ok) == (
        "rubric/tone",
        ArtifactState.NEW,
        None,
        "1.0.0",
        True,
    )


@pytest.mark.parametrize(
    ("version", "title", "ban", "required", "next_", "rule"),
    [
        ("1.0.0", "Tone", "just", Bump.MAJOR, "2.0.0", VersionRule.NOT_BUMPED),
        ("1.1.0", "Tone", "just", Bump.MAJOR, "2.0.0", VersionRule.TOO_SMALL),
        ("2.0.0-rc.1", "Tone", "just", Bump.MAJOR, "2.0.0", VersionRule.TOO_SMALL),
        ("0.9.0", "Tone", "just", Bump.MAJOR, "2.0.0", VersionRule.DECREASED),
        ("1.0.0", "Voice", "simply", Bump.PATCH, "1.0.1", VersionRule.NOT_BUMPED),
    ],
)
def test_a_version_that_does_not_say_enough_fails(
    released: Shop, version: str, title: str, ban: str, required: Bump, next_: str, rule: VersionRule
) -> None:
    released.write("rubrics/tone.yaml", rubric(version=version, title=title, ban=ban))
    found = released.status()
    (one,) = found.artifacts
    assert (one.released, one.working, one.required_bump, one.next_version, one.rule, one.ok, found.ok) == (
        "1.0.0",
        version,
        required,
        next_,
        rule,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("version", "title", "ban", "rule"),
    [
        ("2.0.0", "Tone", "just", None),
        ("3.0.0", "Tone", "just", VersionRule.WITHOUT_CHANGE),
        ("1.0.1", "Voice", "simply", None),
        ("1.1.0", "Voice", "simply", VersionRule.WITHOUT_CHANGE),
        ("1.1.0", "Tone", "simply", VersionRule.WITHOUT_CHANGE),
    ],
)
def test_a_version_that_says_enough_passes_before_it_is_released(
    released: Shop, version: str, title: str, ban: str, rule: VersionRule | None
) -> None:
    released.write("rubrics/tone.yaml", rubric(version=version, title=title, ban=ban))
    (one,) = released.status().artifacts
    assert (one.ok, one.rule, one.state) == (True, rule, ArtifactState.CHANGED)


def test_a_comment_needs_nothing(released: Shop) -> None:
    released.write("rubrics/tone.yaml", "# new\n" + rubric())
    (one,) = released.status().artifacts
    assert (one.required_bump, one.next_version, one.ok) == (Bump.NONE, None, True)


def test_a_committed_change_is_as_unreleased_as_an_uncommitted_one(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    before = released.status()
    released.git("commit", "-q", "-a", "-m", "Ban more")
    assert released.status() == before
    assert not before.ok


def test_what_stands_in_the_place_of_a_released_file_is_no_removal(released: Shop) -> None:
    path = released.top / "rubrics/tone.yaml"
    path.rename(released.top / "elsewhere.yaml")
    path.symlink_to(released.top / "elsewhere.yaml")
    found = released.status()
    (one,) = found.artifacts
    assert (one.ref, one.state, one.ok, one.released, found.total) == (
        "rubric/tone",
        ArtifactState.BROKEN,
        False,
        "1.0.0",
        1,
    )


def test_a_removed_file_is_named_until_its_removal_is_committed(released: Shop) -> None:
    (released.top / "rubrics/tone.yaml").unlink()
    found = released.status()
    (one,) = found.artifacts
    assert found.total == 1
    assert (one.ref, one.state, one.released, one.working, one.ok) == (
        "rubric/tone",
        ArtifactState.REMOVED,
        "1.0.0",
        None,
        True,
    )
    released.git("commit", "-q", "-a", "-m", "Remove")
    assert released.status().artifacts == ()


def test_a_removal_is_named_to_who_asks_by_the_commit_before_it(released: Shop, cli: Callable[..., Any]) -> None:
    released.write("rubrics/other.yaml", rubric("other"))
    released.bump()
    released.git("branch", "before")
    (released.top / "rubrics/tone.yaml").unlink()
    released.git("commit", "-q", "-a", "-m", "Remove")
    with ArtifactStore.open(released.root) as store:
        (one,) = read_status(store, base="before").artifacts
    assert (one.ref, one.state, one.message) == (
        "rubric/tone",
        ArtifactState.REMOVED,
        "removed since the base; its releases stay",
    )
    ran = cli("-C", released.root, "status", "--check", "--base", "before")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "1 of 2 artifacts differs from the last release")


def test_what_the_base_gained_after_this_branch_began_is_not_removed_by_it(released: Shop) -> None:
    branch = released.git("branch", "--show-current").strip()
    released.git("branch", "feature")
    released.write("rubrics/other.yaml", rubric("other"))
    released.bump()
    released.git("checkout", "-q", "feature")
    with ArtifactStore.open(released.root) as store:
        assert read_status(store, base=branch).artifacts == ()


@pytest.mark.parametrize(
    ("pin", "message", "hint"),
    [
        ("judge/nobody@1.0.0", "there is no judge/nobody", "list the artifacts: evalstore list"),
        ("judge/accuracy@3.0.0", "judge/accuracy has no version 3.0.0", "released: 1.0.0"),
        ("judge/accuracy@^3", "judge/accuracy has no version ^3", "released: 1.0.0"),
    ],
)
def test_what_names_nothing_cannot_be_released_new_or_not(shop: Shop, pin: str, message: str, hint: str) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    shop.bump()
    shop.write("rubrics/new.yaml", judged("new", pin=pin))
    dataset = "id: asked\nversion: 1.0.0\nquestions:\n  - {id: a, input: x, rubric_ref: 'rubric/tone@1.0.0'}\n"
    shop.write("datasets/asked.yaml", dataset)
    shop.bump("dataset/asked")
    shop.write("datasets/asked.yaml", dataset.replace("tone@1.0.0", "gone@1.0.0"))
    found = {one.ref: one for one in shop.status().artifacts}
    assert {one.state for one in found.values()} == {ArtifactState.BROKEN}
    new, asked = found["rubric/new"], found["dataset/asked"]
    assert (new.message, new.hint) == (f"rubrics/new.yaml:5:23: {message}", hint)
    assert asked.message.endswith("there is no rubric/gone")


def test_a_reference_to_a_file_that_is_released_with_it_is_no_fault(shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    shop.write("rubrics/loose.yaml", judged("loose", pin="judge/accuracy@^1.0"))
    assert [one.state for one in shop.status().artifacts] == [ArtifactState.NEW] * 4


def test_what_was_never_released_differs_from_no_release(released: Shop, cli: Callable[..., Any]) -> None:
    released.write("rubrics/other.yaml", rubric("other"))
    assert cli("-C", released.root, "status").out.splitlines()[-1] == ("1 of 2 artifacts was never released")
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    assert " ".join(cli("-C", released.root, "status").out.split("\n\n")[-1].split()) == (
        "1 of 2 artifacts differs from the last release, 1 without the version it needs; 1 more was never released"
    )


def test_what_is_gone_is_not_to_be_bumped(released: Shop, cli: Callable[..., Any]) -> None:
    released.write("rubrics/other.yaml", rubric("other"))
    released.bump("rubric/other")
    (released.top / "rubrics/tone.yaml").unlink()
    ran = cli("-C", released.root, "status", "--check")
    assert (ran.code, ran.out.splitlines()[-1][-30:]) == (0, " differs from the last release")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (rubric() + "scoring: {}\n", "rubrics/tone.yaml:10:1: duplicate key 'scoring'"),
        (rubric(version="1.1"), "rubrics/tone.yaml:3:10: the version 1.1"),
        (rubric("tune"), "rubrics/tone.yaml:2:5: the id is 'tune'"),
        (
            rubric().replace("combine: all_pass", "threshold: 1"),
            "rubrics/tone.yaml:9:3: `combine` of `scoring` is missing",
        ),
    ],
)
def test_a_broken_file_fails_closed_and_hides_no_other(released: Shop, text: str, said: str) -> None:
    released.write("rubrics/tone.yaml", text)
    released.write("rubrics/other.yaml", rubric("other"))
    other, tone = released.status().artifacts
    assert (tone.state, tone.released, tone.working, tone.required_bump, tone.ok) == (
        ArtifactState.BROKEN,
        "1.0.0",
        None,
        Bump.MAJOR,
        False,
    )
    assert tone.message.startswith(said)
    assert (other.ref, other.ok) == ("rubric/other", True)


def test_a_dataset_that_has_no_version_cannot_be_released(released: Shop) -> None:
    released.write("datasets/web.yaml", "questions:\n  - {id: one, input: Why?}\n")
    (one,) = released.status().artifacts
    assert (one.ref, one.ok) == ("dataset/web", False)
    assert "has no version" in one.message


def test_changed_rows_count_as_a_change(released: Shop) -> None:
    released.write("datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    released.write("datasets/web.jsonl", '{"id": "one", "input": "Why?"}\n')
    released.bump()
    assert released.status().artifacts == ()
    released.write("datasets/web.jsonl", '{"id": "one", "input": "Why not?"}\n')
    (one,) = released.status().artifacts
    assert (one.ref, one.required_bump, one.ok) == ("dataset/web", Bump.MAJOR, False)
    (released.top / "datasets/web.jsonl").unlink()
    (one,) = released.status().artifacts
    assert (one.state, one.ok) == (ArtifactState.BROKEN, False)


def test_dependents_are_who_refers_to_it(shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    shop.write("rubrics/broken.yaml", "id: [")
    shop.write(
        "datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\ndefaults: {rubric_ref: rubric/tone@1.0.0}\n"
    )
    shop.write("datasets/web.jsonl", '{"id": "one", "input": "?", "rubric_ref": "rubric/reviewed@1.0.0"}\n')
    named = {one.ref: one.dependents for one in shop.status().artifacts}
    assert named == {
        "dataset/web": (),
        "judge/accuracy": ("rubric/reviewed",),
        "rubric/broken": (),
        "rubric/reviewed": ("dataset/web",),
        "rubric/tone": ("dataset/web",),
    }


def reached(shop: Shop) -> None:
    """A judge that a rubric pins, a composite of that rubric, and a dataset with questions for both."""
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    shop.write("rubrics/loose.yaml", judged("loose", pin="judge/accuracy@^1"))
    shop.write(
        "rubrics/whole.yaml",
        "id: whole\nversion: 1.0.0\nchecks:\n  - {kind: composite, rubric_ref: rubric/reviewed@1.0.0}\n"
        "scoring: {combine: all_pass}\n",
    )
    shop.write(
        "datasets/web.yaml",
        "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nquestions:\n"
        "  - {id: a, input: '?', rubric_ref: rubric/whole@1.0.0}\n  - {id: b, input: '?'}\n"
        "  - {id: c, input: '?', rubric_ref: \"rubric\\/reviewed@1.0.0\"}\n",
    )
    shop.bump()


def test_a_change_says_how_far_it_reaches_and_which_pins_stay_behind(shop: Shop) -> None:
    reached(shop)
    shop.write("judges/accuracy.yaml", JUDGE.replace("right", "wrong"))
    (one,) = shop.status().artifacts
    assert one.dependents == ("rubric/loose", "rubric/reviewed")
    assert (one.reached.rubrics, one.reached.datasets, one.reached.questions) == (3, 1, 2)
    assert [(pin.user, pin.ref, str(pin.place)) for pin in one.pins] == [
        ("rubric/loose", "judge/accuracy@^1", "rubrics/loose.yaml:5:23"),
        ("rubric/reviewed", "judge/accuracy@1.0.0", "rubrics/reviewed.yaml:5:23"),
    ]


def test_a_range_follows_a_release_that_it_covers(shop: Shop) -> None:
    reached(shop)
    shop.write("judges/accuracy.yaml", JUDGE + "title: Right or wrong\n")
    (one,) = shop.status().artifacts
    assert [pin.user for pin in one.pins] == ["rubric/reviewed"]
    shop.write("rubrics/reviewed.yaml", judged(pin="judge/accuracy@1.0.1"))
    shop.write("judges/accuracy.yaml", JUDGE.replace("1.0.0", "1.0.1") + "title: Right or wrong\n")
    assert {one.ref: one.pins for one in shop.status().artifacts}["judge/accuracy"] == ()


def test_an_unchanged_file_whose_reference_means_another_version_is_named(shop: Shop) -> None:
    reached(shop)
    shop.write("judges/accuracy.yaml", JUDGE + "title: Right or wrong\n")
    shop.bump()
    found = shop.status()
    (one,) = found.artifacts
    (moved,) = one.moved
    assert (one.ref, one.state, one.ok, one.required_bump, found.ok) == (
        "rubric/loose",
        ArtifactState.MOVED,
        True,
        Bump.NONE,
        True,
    )
    assert (moved.ref, str(moved.was), str(moved.now), moved.level) == (
        "judge/accuracy@^1",
        "1.0.0",
        "1.0.1",
        Bump.PATCH,
    )
    shop.write("rubrics/loose.yaml", judged("loose", "1.1.0", pin="judge/accuracy@^1"))
    shop.bump()
    assert shop.status().artifacts == ()


def test_a_reference_that_is_locked_has_not_moved(shop: Shop, cli: Callable[..., Any]) -> None:
    reached(shop)
    assert cli("-C", shop.root, "lock").code == 0
    shop.write("judges/accuracy.yaml", JUDGE + "title: Right or wrong\n")
    shop.bump()
    assert shop.status().artifacts == ()


@pytest.mark.parametrize("annotated", [True, False])
def test_without_ledgers_the_history_says_what_was_released_before(shop: Shop, *, annotated: bool) -> None:
    how = ("-a", "-m", "by hand") if annotated else ()
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.git("add", ".")
    shop.git("commit", "-q", "-m", "One")
    shop.git("tag", *how, "judge/accuracy@1.0.0")
    shop.git("tag", *how, "rubric/tone@1.0.0")
    shop.write("rubrics/loose.yaml", judged("loose", pin="judge/accuracy"))
    shop.git("add", ".")
    shop.git("commit", "-q", "-m", "Two")
    shop.git("tag", *how, "rubric/loose@1.0.0")
    assert shop.status().artifacts == ()
    shop.write("judges/accuracy.yaml", JUDGE.replace("right", "wrong").replace("1.0.0", "2.0.0"))
    shop.git("commit", "-q", "-a", "-m", "Three")
    shop.git("tag", *how, "judge/accuracy@2.0.0")
    (one,) = shop.status().artifacts
    assert one.message == "unchanged, but judge/accuracy now means 2.0.0, was 1.0.0 (major)"


def test_what_a_judge_was_measured_on_reaches_no_score(shop: Shop) -> None:
    shop.write("datasets/gold.yaml", "id: gold\nversion: 1.0.0\nquestions: [{id: a, input: '?'}]\n")
    shop.write("judges/accuracy.yaml", JUDGE + "validation: {validated_against: dataset/gold@1.0.0}\n")
    shop.write("rubrics/reviewed.yaml", judged())
    shop.bump()
    shop.write("datasets/gold.yaml", "id: gold\nversion: 1.0.0\nquestions: [{id: a, input: 'Why?'}]\n")
    (one,) = shop.status().artifacts
    assert (one.dependents, one.reached.rubrics, one.pins) == (("judge/accuracy",), 0, ())


def test_a_pin_to_the_next_version_of_a_working_file_is_followed(shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    shop.bump()
    shop.write("judges/accuracy.yaml", JUDGE.replace("1.0.0", "1.0.1") + "title: Right or wrong\n")
    shop.write("rubrics/reviewed.yaml", judged(pin="judge/accuracy@1.0.1"))
    needs = {one.ref: one.required_bump for one in shop.status().artifacts}
    assert needs["judge/accuracy"] is Bump.PATCH
    assert needs["rubric/reviewed"] < Bump.MAJOR


def test_a_clone_without_its_tags_is_not_taken_for_a_new_store(released: Shop) -> None:
    released.git("tag", "-d", "rubric/tone@1.0.0")
    found = released.status()
    assert not found.ok
    assert "rubric/tone@1.0.0 was released, but its tag is not in this clone" in found.artifacts[0].message


def test_a_tag_that_is_not_valid_fails_closed(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    released.git("tag", "rubric/tone@3.0.0")
    (one,) = released.status().artifacts
    assert (one.state, one.ok) == (ArtifactState.BROKEN, False)
    assert "the tag rubric/tone@3.0.0 is not valid" in one.message


def test_status_writes_nothing(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    before = released.snapshot()
    released.status()
    assert released.snapshot() == before


def test_the_order_is_that_of_the_names(shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/alpha.yaml", rubric("alpha"))
    with ArtifactStore.open(shop.root) as store:
        assert [one.ref for one in read_status(store).artifacts] == ["judge/accuracy", "rubric/alpha", "rubric/tone"]


def test_the_text_says_what_moved_how_far_a_change_reaches_and_what_stays_behind(
    shop: Shop, cli: Callable[..., Any]
) -> None:
    reached(shop)
    shop.write("judges/accuracy.yaml", JUDGE + "title: Right or wrong\n")
    shop.bump()
    shop.write("judges/accuracy.yaml", JUDGE.replace("1.0.0", "1.0.1").replace("right", "wrong"))
    assert cli("-C", shop.root, "status").out == (
        "    ARTIFACT        RELEASED  FILE   NEEDS\n"
        "NO  judge/accuracy  1.0.1     1.0.1  major  needs 2.0.0, but is still 1.0.1\n"
        "    referred to by rubric/loose and rubric/reviewed\n"
        "    reaches 3 rubrics, 1 dataset and 2 questions; 2 references will stay behind\n"
        "ok  rubric/loose    1.0.0     1.0.0  -      unchanged\n"
        "    judge/accuracy@^1 now means 1.0.1, was 1.0.0 (patch), rubrics/loose.yaml:5\n"
        "\n"
        "1 of 6 artifacts differs from the last release, 1 without the version it needs\n"
        "1 unchanged has references that moved: pin them, or lock them: evalstore lock\n"
    )


def test_what_a_reference_means_by_now_is_told_by_status_and_by_diff(shop: Shop, cli: Callable[..., Any]) -> None:
    """A newer release moves it, a lock holds it, the next lock moves it again; the file stays as it is."""

    def said() -> tuple[list[str], list[str]]:
        told = json.loads(cli("-C", shop.root, "diff", "rubric/loose", "--format", "json").out)
        assert (told["findings"], told["required_bump"]) == ([], "none")
        return [moved.sentence for one in shop.status().artifacts for moved in one.moved], told["notes"]

    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/loose.yaml", judged("loose", pin="judge/accuracy"))
    shop.bump()
    assert cli("-C", shop.root, "lock").code == 0
    shop.git("add", "evalstore.lock")
    shop.git("commit", "-q", "-m", "Lock")
    shop.write("rubrics/loose.yaml", judged("loose", pin="judge/accuracy") + "title: Loose\n")
    shop.bump()
    shop.write("judges/accuracy.yaml", JUDGE.replace("right", "wrong"))
    shop.bump()
    assert said() == ([], [])
    sentence = "judge/accuracy now means 2.0.0, was 1.0.0 (major), rubrics/loose.yaml:5"
    assert cli("-C", shop.root, "lock", "--update").code == 0
    assert said() == ([sentence], [sentence])
    (shop.root / "evalstore.lock").unlink()
    assert said() == ([sentence], [sentence])
    text = " ".join(cli("-C", shop.root, "diff", "rubric/loose").out.split())
    assert text.endswith(f" But scores may move, which the next bump takes into account: {sentence}")
    annotated = cli("-C", shop.root, "diff", "rubric/loose", "--format", "github").out
    message = f"But scores may move, which the next bump takes into account: {sentence}"
    assert f"::warning file=rubrics/loose.yaml,title=warning%3A reference-moved::{message}\n" in annotated


def test_two_sides_are_compared_though_what_a_reference_meant_cannot_be_told(
    shop: Shop, cli: Callable[..., Any]
) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/loose.yaml", judged("loose", pin="judge/accuracy"))
    shop.bump()
    shop.write("evalstore.lock", "x: [")
    shop.git("add", "evalstore.lock")
    shop.git("commit", "-q", "-m", "A lock that is none")
    shop.git("tag", "-f", "rubric/loose@1.0.0")
    (shop.root / "evalstore.lock").unlink()
    told = cli("-C", shop.root, "diff", "rubric/loose")
    text = " ".join(told.out.split())
    assert "what its references meant at its release is unknown: evalstore.lock:1" in text
    assert told.code == 0


def test_the_rules_that_judged_are_named(released: Shop, cli: Callable[..., Any]) -> None:
    named = json.loads(cli("-C", released.root, "status", "--format", "json").out)["rule_set"]
    diff = json.loads(cli("-C", released.root, "diff", "rubric/tone", "--format", "json").out)["rule_set"]
    assert named == diff == RULE_SETS[-1]
