"""Pre-releases: made by --pre, counted on, never enough for a final, and finished by --level or by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalstore.errors import RefusedError, UsageError
from evalstore.release.changes.version_choice import check_prerelease_label, choose_prerelease
from evalstore.versions import Bump, parse_version
from tests.release.shop import Shop, check_sound, rubric

Cli = Callable[..., Any]


@pytest.mark.parametrize(
    ("final", "label", "known", "working", "expected"),
    [
        ("2.0.0", "rc", [], "1.0.0", "2.0.0-rc.1"),
        ("2.0.0", "rc", ["1.0.0", "1.5.0-rc.4"], "1.0.0", "2.0.0-rc.1"),
        ("2.0.0", "rc", ["2.0.0-rc.1"], "2.0.0-rc.1", "2.0.0-rc.2"),
        ("2.0.0", "rc", ["2.0.0-rc.9", "2.0.0-rc.10"], "2.0.0-rc.10", "2.0.0-rc.11"),
        ("2.0.0", "rc", ["2.0.0-beta.7"], "2.0.0-beta.7", "2.0.0-rc.1"),
        ("2.0.0", "rc", ["2.0.0-rc.one"], "1.0.0", "2.0.0-rc.1"),
        # What the file says is taken when it is further.
        ("2.0.0", "rc", [], "2.0.0-rc.5", "2.0.0-rc.5"),
        ("2.0.0", "rc", ["2.0.0-rc.5"], "2.0.0-rc.5", "2.0.0-rc.6"),
        ("2.0.0", "rc", ["2.0.0-rc.5"], "2.0.0-rc.3", "2.0.0-rc.6"),
        ("2.0.0", "rc", [], "3.0.0-rc.5", "2.0.0-rc.1"),
        ("2.0.0", "rc", [], "2.0.0-beta.5", "2.0.0-rc.1"),
    ],
)
def test_the_next_of_a_label(final: str, label: str, known: list[str], working: str, expected: str) -> None:
    versions = [parse_version(version) for version in known]
    if expected == "2.0.0-rc.1" and "2.0.0-rc.one" in known:
        with pytest.raises(RefusedError, match=r"2\.0\.0-rc\.1 would come before the released 2\.0\.0-rc\.one"):
            choose_prerelease(parse_version(final), label, versions, parse_version(working))
        return
    assert str(choose_prerelease(parse_version(final), label, versions, parse_version(working))) == expected


@pytest.mark.parametrize(
    ("known", "way_out"),
    [("2.0.0-rc.1", "choose a later label"), ("2.0.0", "write a version above 2.0.0 into the file")],
)
def test_a_pre_release_does_not_come_after_what_it_prepares(known: str, way_out: str) -> None:
    with pytest.raises(RefusedError, match=r"2\.0\.0-beta\.1 would come before the released 2\.0\.0") as refused:
        choose_prerelease(parse_version("2.0.0"), "beta", [parse_version(known)], parse_version("1.0.0"))
    assert way_out in str(refused.value.hint)


@pytest.mark.parametrize(
    "label", ["", "1", "007", "rc.1", "rc 1", "rc/x", "ü", "rc\n", "a" * 33, "-l+", "-x", "--dry-run"]
)
def test_what_cannot_name_a_pre_release(label: str) -> None:
    with pytest.raises(UsageError, match="cannot name a pre-release"):
        check_prerelease_label(label)


def refs(shop: Shop, **options: Any) -> list[str]:
    return [one.ref.partition("@")[2] for one in shop.bump(**options).released]


def change(shop: Shop, word: str) -> None:
    version = shop.read("rubrics/tone.yaml").decode().split("\n")[2].partition(": ")[2]
    shop.write("rubrics/tone.yaml", rubric(ban=word, version=version))


def test_from_the_first_candidate_to_the_final_version(released: Shop) -> None:
    change(released, "just")
    assert refs(released, pre="rc") == ["2.0.0-rc.1"]
    assert released.read("rubrics/tone.yaml").decode() == rubric(ban="just", version="2.0.0-rc.1")
    assert refs(released, pre="rc") == []
    assert released.status().ok  # as released, and the final version is still to come
    change(released, "only")
    assert refs(released, pre="rc") == ["2.0.0-rc.2"]
    change(released, "merely")
    with pytest.raises(RefusedError, match=r"rubric/tone@2\.0\.0-rc\.2 is already released") as error:
        released.bump()
    assert (
        error.value.hint == "release the next pre-release with --pre, the final version with --level, or write a "
        "version into the file"
    )
    assert refs(released, level=Bump.MAJOR) == ["2.0.0"]
    assert refs(released) == []
    assert released.status().ok
    check_sound(released)


def test_a_candidate_becomes_final_without_a_change(released: Shop) -> None:
    change(released, "just")
    released.bump(pre="rc")
    with pytest.raises(RefusedError, match=r"--level minor is too small: the change needs 2\.0\.0"):
        released.bump(level=Bump.MINOR)
    (standing,) = released.status().artifacts
    assert standing.message.endswith("2.0.0-rc.1 is a released candidate of 2.0.0")
    (one,) = released.bump(level=Bump.MAJOR).released
    assert (one.ref, one.previous, one.bump) == ("rubric/tone@2.0.0", "1.0.0", Bump.MAJOR)
    check_sound(released)


def test_a_final_version_may_be_written_by_hand(released: Shop) -> None:
    change(released, "just")
    released.bump(pre="rc")
    released.write("rubrics/tone.yaml", rubric(ban="just", version="2.0.0"))
    assert refs(released) == ["2.0.0"]


def test_level_and_what_the_file_says_choose_the_final_that_is_prepared(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(title="Voice"))
    assert refs(released, pre="rc", level=Bump.MINOR) == ["1.1.0-rc.1"]
    released.write("rubrics/tone.yaml", rubric(title="Voices", version="3.0.0"))
    assert refs(released, pre="beta") == ["3.0.0-beta.1"]


def test_a_change_that_needs_more_moves_the_goal(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(title="Voice"))
    assert refs(released, pre="rc") == ["1.0.1-rc.1"]
    change(released, "just")
    assert refs(released, pre="rc") == ["2.0.0-rc.1"]


def test_of_what_did_not_change_there_is_no_candidate(released: Shop) -> None:
    assert refs(released, pre="rc") == []
    assert refs(released, pre="rc", level=Bump.MAJOR) == []


def test_the_first_release_as_a_candidate(shop: Shop) -> None:
    (one,) = shop.bump(pre="rc").released
    assert (one.ref, one.previous, one.bump) == ("rubric/tone@1.0.0-rc.1", None, Bump.NONE)
    change(shop, "just")
    assert refs(shop, pre="rc") == ["1.0.0-rc.2"]
    assert refs(shop, level=Bump.PATCH) == ["1.0.0"]
    check_sound(shop)


def test_in_zero_versions_y_carries_major_for_candidates_too(shop: Shop) -> None:
    shop.write("rubrics/tone.yaml", rubric(version="0.1.0"))
    shop.bump()
    change(shop, "just")
    assert refs(shop, pre="rc") == ["0.2.0-rc.1"]
    assert refs(shop, level=Bump.MAJOR) == ["0.2.0"]
    shop.write("rubrics/tone.yaml", rubric(version="0.2.0", ban="just", title="Voice"))
    assert refs(shop, pre="rc") == ["0.2.1-rc.1"]
    shop.write("rubrics/tone.yaml", rubric(version="1.0.0", ban="just", title="Voice"))
    assert refs(shop) == ["1.0.0"]


def test_a_candidate_of_a_dataset_is_known_by_its_rows(shop: Shop) -> None:
    shop.write("datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    shop.write("datasets/web.jsonl", '{"id": "one", "input": "Why?"}\n')
    shop.bump()
    shop.write("datasets/web.jsonl", '{"id": "one", "input": "How?"}\n')
    assert refs(shop, pre="rc") == ["2.0.0-rc.1"]
    assert refs(shop, pre="rc") == []
    shop.write("datasets/web.jsonl", '{"id": "one", "input": "When?"}\n')
    assert refs(shop, pre="rc") == ["2.0.0-rc.2"]
    check_sound(shop)


def test_a_pin_of_latest_and_a_range_do_not_see_a_candidate(cli: Cli, released: Shop) -> None:
    change(released, "just")
    released.bump(pre="rc")
    for ref, version in (
        ("rubric/tone", "1.0.0"),
        ("rubric/tone@>=1", "1.0.0"),
        ("rubric/tone@^2.0.0-rc.1", "2.0.0-rc.1"),
    ):
        assert f"rubric/tone@{version}" in cli("-C", released.root, "resolve", ref).out


def test_the_command(cli: Cli, released: Shop) -> None:
    change(released, "just")
    ran = cli("-C", released.root, "bump", "--all", "--pre", "1")
    assert (ran.code, ran.err.split("\n")[0]) == (2, "error: '1' cannot name a pre-release")
    ran = cli("-C", released.root, "bump", "--all", "--pre", "rc")
    assert "  rubric/tone  1.0.0 -> 2.0.0-rc.1  major  tag rubric/tone@2.0.0-rc.1" in ran.out.split("\n")
    assert "status" in cli("-C", released.root, "bump").err
