"""Versions are those of the `semver` library, and steps and ranges mean what cargo and npm mean."""

from __future__ import annotations

from pathlib import Path

import pytest
import semver
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evalstore.errors import RefError
from evalstore.versions import Bump, Version, bump_version, compute_bump, find_range, find_version, parse_version
from tests.rows import each

NUMBER = st.integers(0, 12)
PART = st.sampled_from(["rc", "alpha", "1", "2", "10", "x-y", "0a"])
TEXT = st.builds(
    lambda a, b, c, pre: f"{a}.{b}.{c}" + (f"-{'.'.join(pre)}" if pre else ""),
    NUMBER,
    NUMBER,
    NUMBER,
    st.lists(PART, max_size=3),
)


@given(st.text("0123456789.-+arc", max_size=12))
def test_what_is_a_version_is_semver_s_word_but_for_two_parts(text: str) -> None:
    found = find_version(text)
    if text.count(".") == 1 and found is not None and "-" not in text:
        assert str(found) == f"{text}.0"
    else:
        assert (found is not None) == semver.Version.is_valid(text)


def test_builds_have_a_total_order() -> None:
    assert min(parse_version("1.0.0+b"), parse_version("1.0.0+a")).build == "a"


@pytest.mark.parametrize(
    ("old", "bump", "new"),
    [
        ("1.2.3", "major", "2.0.0"),
        ("1.2.3", "minor", "1.3.0"),
        ("1.2.3", "patch", "1.2.4"),
        ("1.2.3", "none", "1.2.3"),
        ("0.2.3", "major", "0.3.0"),
        ("0.2.3", "minor", "0.2.4"),
        ("0.2.3", "patch", "0.2.4"),
        ("2.0.0-rc.1", "major", "2.0.0"),
        ("1.0.0+b", "patch", "1.0.1"),
    ],
)
def test_the_next_version(old: str, bump: str, new: str) -> None:
    assert str(bump_version(parse_version(old), Bump(bump))) == new


def test_a_bump_is_its_word_and_has_an_order() -> None:
    assert [str(bump) for bump in sorted(Bump)] == ["none", "patch", "minor", "major"]
    assert max(Bump.PATCH, Bump.MAJOR, Bump.MINOR) == "major"
    assert Bump.MINOR < Bump.MAJOR <= Bump.MAJOR
    assert Bump.MINOR > Bump.PATCH >= "none"
    assert [bool(bump) for bump in Bump] == [False, True, True, True]


@given(TEXT.map(parse_version).filter(lambda v: not v.prerelease), st.sampled_from(Bump))
def test_the_step_to_the_next_version_carries_at_least_the_bump(old: Version, bump: Bump) -> None:
    assert compute_bump(old, bump_version(old, bump)) >= bump


def test_a_prerelease_carries_no_bump() -> None:
    assert compute_bump(parse_version("1.0.0"), parse_version("2.0.0-rc.1")) is Bump.NONE


@pytest.mark.parametrize(
    ("range_", "inside", "outside"),
    [
        ("^1.2", "1.2.0 1.9.9", "1.1.9 2.0.0 2.0.0-rc.1 1.3.0-rc.1"),
        ("~1.2", "1.2.0 1.2.9", "1.3.0"),
        ("^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2"),
        (">=1.2 <2", "1.2.0 1.99.0", "2.0.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("~1", "1.9.0", "2.0.0"),
        ("=1.2.3", "1.2.3", "1.2.4"),
        (">=1.0.0-rc.1", "1.0.0-rc.2 1.0.0", "1.0.0-alpha"),
        ("^0", "0.9.0", "1.0.0"),
        ("^1.2.3-rc.1", "1.2.3-rc.1 1.2.3-rc.2 1.2.3 1.9.0", "1.2.3-beta 1.3.0-rc.1 2.0.0-rc.1"),
        (">=1.2.3-rc.1 <2", "1.2.3-rc.1 1.9.0", "1.2.4-rc.1 2.0.0"),
    ],
)
def test_ranges(range_: str, inside: str, outside: str) -> None:
    found = find_range(range_)
    assert found is not None
    assert all(parse_version(text) in found for text in inside.split())
    assert not any(parse_version(text) in found for text in outside.split())


NPM = yaml.safe_load((Path(__file__).parent / "npm_ranges.yaml").read_text("utf-8"))


@each(sorted(NPM["ranges"].items()), name=lambda row: row[0])
def test_ranges_are_those_of_npm(row: tuple[str, str]) -> None:
    range_, inside = row
    found = find_range(range_)
    assert found is not None
    assert [text for text in NPM["versions"].split() if parse_version(text) in found] == inside.split()


@pytest.mark.parametrize(
    ("range_", "same"),
    [  # what the page of cargo on requirements says each is
        ("^1.2.3", ">=1.2.3, <2.0.0"),
        ("^1.2", ">=1.2.0, <2.0.0"),
        ("^1", ">=1.0.0, <2.0.0"),
        ("^0.2.3", ">=0.2.3, <0.3.0"),
        ("^0.2", ">=0.2.0, <0.3.0"),
        ("^0.0.3", ">=0.0.3, <0.0.4"),
        ("^0.0", ">=0.0.0, <0.1.0"),
        ("^0", ">=0.0.0, <1.0.0"),
        ("~1.2.3", ">=1.2.3, <1.3.0"),
        ("~1.2", ">=1.2.0, <1.3.0"),
        ("~1", ">=1.0.0, <2.0.0"),
        (">1.2", ">=1.3.0"),
        ("<=1.2", "<1.3.0"),
        ("=1.2", ">=1.2.0,<1.3.0"),
    ],
)
def test_ranges_are_those_of_cargo(range_: str, same: str) -> None:
    one, other = find_range(range_), find_range(same)
    assert one is not None
    assert other is not None
    known = [parse_version(text) for text in NPM["versions"].split()]
    assert [version in one for version in known] == [version in other for version in known]


@pytest.mark.parametrize(
    "text",
    [
        ">01.2",
        ">=1.2-rc.1",
        "=1-rc",
        "1.2 <2",
        "*",
        "1.x",
        "1.2 - 2.0",
        "",
        "1.2.3.4",
        "^",
        "latest",
        ">=",
        "1.2.3 || 2",
        "^1.2.x",
        f"^{'9' * 5000}",
        f">=1.0.0-{'9' * 5000}",
    ],
)
def test_no_ranges(text: str) -> None:
    assert find_range(text) is None


@pytest.mark.parametrize(
    "text", ["1", "1.02.0", "v1.0.0", "1.0.0\n", "", "١.0.0", f"{'9' * 5000}.0.0", f"1.0.0-{'9' * 5000}"]
)
def test_no_versions(text: str) -> None:
    with pytest.raises(RefError):
        parse_version(text)
