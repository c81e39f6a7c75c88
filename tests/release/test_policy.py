from __future__ import annotations

from collections.abc import Iterator

import pytest

from evalstore.errors import Place, RefusedError
from evalstore.release.changes.version_choice import choose_version
from evalstore.release.changes.version_rules import VersionRule, judge_version
from evalstore.release.dependencies.validity import check_ledger_complete
from evalstore.release.publishing.commit_files import extend_ledger
from evalstore.store import ArtifactStore
from evalstore.versions import Bump, parse_version
from tests.release.shop import Shop


@pytest.mark.parametrize(
    ("released", "working", "required", "rule", "ok"),
    [
        ("1.2.3", "1.2.3", "none", None, True),
        ("1.2.3", "1.2.3", "patch", VersionRule.NOT_BUMPED, False),
        ("1.2.3", "1.2.4", "patch", None, True),
        ("1.2.3", "1.2.4", "minor", VersionRule.TOO_SMALL, False),
        ("1.2.3", "1.3.0", "minor", None, True),
        ("1.2.3", "1.3.0", "major", VersionRule.TOO_SMALL, False),
        ("1.2.3", "1.9.9", "major", VersionRule.TOO_SMALL, False),
        ("1.2.3", "2.0.0", "major", None, True),
        ("1.2.3", "2.0.0", "minor", VersionRule.WITHOUT_CHANGE, True),
        ("1.2.3", "3.0.0", "major", VersionRule.WITHOUT_CHANGE, True),
        ("1.2.3", "1.2.4", "none", VersionRule.WITHOUT_CHANGE, True),
        ("1.2.3", "1.2.2", "none", VersionRule.DECREASED, False),
        ("1.2.3", "1.0.0", "major", VersionRule.DECREASED, False),
        ("1.2.3", "1.2.3-rc.1", "patch", VersionRule.DECREASED, False),
        # A pre-release satisfies no bump, and what stands after the + is not a step.
        ("1.2.3", "2.0.0-rc.1", "major", VersionRule.TOO_SMALL, False),
        ("1.2.3", "1.2.4-rc.1", "patch", VersionRule.TOO_SMALL, False),
        ("1.2.3", "1.2.3+build", "patch", VersionRule.NOT_BUMPED, False),
        ("1.2.3", "1.2.3+build", "none", None, True),
        # 0.y.z: y carries major, z the rest.
        ("0.1.0", "0.1.1", "minor", None, True),
        ("0.1.0", "0.1.1", "patch", None, True),
        ("0.1.0", "0.1.1", "major", VersionRule.TOO_SMALL, False),
        ("0.1.0", "0.2.0", "major", None, True),
        ("0.1.0", "1.0.0", "major", VersionRule.WITHOUT_CHANGE, True),
    ],
)
def test_a_version_is_judged_by_the_change(
    released: str, working: str, required: str, rule: VersionRule | None, *, ok: bool
) -> None:
    judgement = judge_version(parse_version(released), parse_version(working), Bump(required))
    assert (judgement.rule, judgement.ok) == (rule, ok)
    assert judgement.ok or working in judgement.message


@pytest.mark.parametrize(
    ("released", "working", "required", "level", "expected"),
    [
        ("1.2.3", "1.2.3", "major", None, ("2.0.0", "major")),
        ("1.2.3", "1.2.3", "minor", None, ("1.3.0", "minor")),
        ("1.2.3", "1.2.3", "patch", None, ("1.2.4", "patch")),
        ("1.2.3", "1.2.3", "patch", "major", ("2.0.0", "major")),
        ("1.2.3", "1.2.9", "patch", None, ("1.2.9", "patch")),
        ("1.2.3", "1.2.9", "minor", None, ("1.3.0", "minor")),
        ("1.2.3", "3.0.0", "patch", None, ("3.0.0", "major")),
        ("1.2.3", "3.0.0", "patch", "minor", ("3.0.0", "major")),
        ("1.2.3", "1.0.0", "patch", None, ("1.2.4", "patch")),
        ("1.2.3", "1.3.0", "none", None, ("1.3.0", "minor")),
        ("1.2.3", "2.0.0-rc.1", "major", None, ("2.0.0-rc.1", "major")),
        ("1.2.3", "1.2.4-rc.1", "major", None, ("2.0.0", "major")),
        ("0.1.0", "0.1.0", "major", None, ("0.2.0", "major")),
        ("0.1.0", "0.1.0", "minor", None, ("0.1.1", "minor")),
        ("0.1.0", "0.1.0", "minor", "patch", ("0.1.1", "minor")),
        ("0.1.0", "1.0.0", "patch", None, ("1.0.0", "major")),
    ],
)
def test_the_least_version_that_says_enough(
    released: str, working: str, required: str, level: str | None, expected: tuple[str, str]
) -> None:
    asked = Bump(level) if level else None
    version, bump = choose_version(parse_version(released), parse_version(working), Bump(required), asked)
    assert (str(version), str(bump)) == expected


def test_a_level_below_the_required_is_refused() -> None:
    with pytest.raises(RefusedError, match=r"--level minor is too small: the change needs 2\.0\.0"):
        choose_version(parse_version("1.2.3"), parse_version("1.2.3"), Bump.MAJOR, Bump.MINOR)


@pytest.fixture
def store(released: Shop) -> Iterator[ArtifactStore]:
    with ArtifactStore.open(released.root) as store:
        yield store


def test_a_ledger_only_grows() -> None:
    ledger = extend_ledger(b"1.0.0 abc", parse_version("1.1.0"), b"x", signed=False)
    digest = b"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert ledger == b"1.0.0 abc\n1.1.0 " + digest + b"\n"


def test_a_ledger_ahead_of_the_tags_is_no_place_to_go_on_from(store: ArtifactStore) -> None:
    ledger = b"1.0.0 %b\n2.0.0 %b\n" % (b"a" * 64, b"b" * 64)
    check_ledger_complete(store, "rubric/x", ledger, [parse_version("1.0.0"), parse_version("2.0.0")])
    check_ledger_complete(store, "rubric/x", b"", [])
    for tagged in ([], [parse_version("1.0.0")]):
        with pytest.raises(RefusedError, match=r"rubric/x@2\.0\.0 was released, but its tag is not in this clone"):
            check_ledger_complete(store, "rubric/x", ledger, tagged)


def test_a_ledger_with_any_other_line_is_no_place_to_go_on_from(store: ArtifactStore) -> None:
    ledger = b"1.0.0 %b\n<<<<<<< HEAD\n" % (b"a" * 64)
    with pytest.raises(RefusedError, match="this ledger line is malformed") as caught:
        check_ledger_complete(store, "rubric/x", ledger, [parse_version("1.0.0")])
    assert caught.value.place == Place(".evalstore/sums/rubric/x", 2)
