"""Who last changed the meaning of a part: comments and order are none, merges count only where they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalstore.release.history import artifact_parts
from evalstore.release.history.blame import blame
from evalstore.report import render
from evalstore.report.text_layout import Screen
from evalstore.store import ArtifactStore, rows
from tests.provenance.conftest import ban, brief, rubric

Blamed = Callable[..., dict[str, Any]]
SIMPLY, LENGTH = "/checks/0/values/1", "/checks/1/max_chars"


def test_a_part_is_its_authors_and_its_version_the_releases(story: Any, blamed: Blamed) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    bob = story.change(
        rubric("1.0.0", ban("foo", "simply"), brief(50)),
        "Bob",
        message="ban simply\n\nCo-authored-by: Eve <eve@example.org>",
    )
    cyd = story.change(rubric("1.0.0", ban("foo", "simply"), brief(20)), "Cyd")
    story.release(rubric("2.0.0", ban("foo", "simply"), brief(20)), "Releasebot")
    parts = blamed("rubric/r@2.0.0")
    assert (parts[SIMPLY]["commit"], parts[SIMPLY]["author"], parts[SIMPLY]["subject"]) == (bob, "Bob", "ban simply")
    assert (parts[SIMPLY]["version"], parts[SIMPLY]["released_by"]) == ("2.0.0", "Releasebot")
    assert parts[SIMPLY]["co_authors"] == ["Eve"]
    assert (parts[LENGTH]["commit"], parts[LENGTH]["value"]) == (cyd, 20)
    assert (parts["/checks/0/values/0"]["author"], parts["/checks/0/values/0"]["version"]) == ("Ann", "1.0.0")
    # A check is as new as its newest part; its weight is the default since the check is there, so it is not listed.
    assert (parts["/checks/0"]["author"], parts["/checks/1"]["author"]) == ("Bob", "Cyd")
    assert not [pointer for pointer in parts if "weights" in pointer]
    assert "Releasebot" not in {part["author"] for part in parts.values()}


def test_comments_layout_and_order_are_no_change(story: Any, blamed: Blamed) -> None:
    first = story.release(rubric("1.0.0", ban("foo", "simply"), brief(50), weights={"ban": 1, "brief": 2}))
    moved = rubric(
        "1.0.1",
        {**brief(50), "negate": False},
        ban("simply", "foo", case_sensitive=False),
        weights={"brief": 4, "ban": 2},
    )
    story.write({key: moved[key] for key in reversed(moved)}, note="# tidier\n")
    story.commit("Tidy")
    parts = blamed()
    assert {part["commit"] for part in parts.values()} == {first}
    assert parts["/scoring/weights/brief"]["value"] == 4  # rescaled: the same meaning


def test_a_weight_a_gate_and_a_threshold_have_their_own_people(story: Any, blamed: Blamed) -> None:
    checks = ban("foo"), brief(50)
    story.release(rubric("1.0.0", *checks))
    weight = story.change(rubric("1.0.0", *checks, weights={"ban": 3}), "Wim")
    gate = story.change(rubric("1.0.0", *checks, weights={"ban": 3}, required=["brief"]), "Gus")
    threshold = story.change(rubric("1.0.0", *checks, weights={"ban": 3}, required=["brief"], threshold=0.9), "Tim")
    parts = blamed()
    assert (parts["/scoring/weights/ban"]["commit"], parts["/scoring/required/0"]["commit"]) == (weight, gate)
    assert (parts["/scoring/threshold"]["commit"], parts["/scoring/threshold"]["version"]) == (threshold, None)
    # A default that somebody went back to stands nowhere, and is still somebody's.
    back = story.change(rubric("1.0.0", *checks, required=["brief"], threshold=0.9), "Una")
    assert (blamed()["/scoring/weights/ban"]["commit"], blamed()["/scoring/weights/ban"]["value"]) == (back, 1)


def test_what_was_reverted_and_made_again_is_the_last_ones(story: Any, blamed: Blamed) -> None:
    for version, words, author in (
        ("1.0.0", "", "Ann"),
        ("2.0.0", "simply", "Bob"),
        ("3.0.0", "", "Cyd"),
        ("4.0.0", "simply", "Dan"),
    ):
        story.release(rubric(version, ban("foo", *words.split()), brief(50)), author)
    part = blamed("rubric/r@4.0.0")[SIMPLY]
    assert (part["author"], part["version"]) == ("Dan", "4.0.0")
    assert blamed("rubric/r@2.0.0")[SIMPLY]["author"] == "Bob"


def test_a_check_that_is_renamed_keeps_its_history(story: Any, blamed: Blamed) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    bob = story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.change(rubric("1.0.0", ban("foo", "simply", name="no_filler"), brief(50)), "Renamer")
    parts = blamed()
    assert (parts[SIMPLY]["commit"], parts["/checks/0/values/0"]["author"]) == (bob, "Ann")


def test_a_merge_counts_only_where_it_differs_from_all_its_parents(story: Any, blamed: Blamed) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.git("checkout", "-qb", "feature")
    bob = story.change(rubric("1.0.0", ban("foo", "simply"), brief(50)), "Bob")
    story.git("checkout", "-q", "main")
    cyd = story.change(rubric("1.0.0", ban("foo"), brief(20)), "Cyd")
    story.git("merge", "-q", "--no-commit", "-s", "ours", "--no-ff", "feature")
    merge = story.change(rubric("1.0.0", ban("foo", "simply"), brief(20), threshold=0.9), "Maint")
    assert len(story.git("rev-list", "--parents", "-1", "HEAD").split()) == 3
    story.tag("rubric/r@1.0.0-merge")
    parts = blamed()
    assert (parts[SIMPLY]["commit"], parts[LENGTH]["commit"]) == (bob, cyd)
    assert (parts["/scoring/threshold"]["commit"], parts["/scoring/threshold"]["author"]) == (merge, "Maint")


def test_what_is_not_committed_has_no_commit_and_says_so(story: Any, blamed: Blamed) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.write(rubric("1.0.0", ban("foo", "simply"), brief(50)))
    parts = blamed("rubric/r@worktree")
    assert (parts[SIMPLY]["commit"], parts[SIMPLY]["gap"]) == (None, "not committed")
    assert (parts["/checks/0/values/0"]["author"], parts["/checks/0/values/0"]["version"]) == ("Ann", "1.0.0")


def test_a_malformed_version_on_the_way_is_passed_over(story: Any, blamed: Blamed) -> None:
    first = story.release(rubric("1.0.0", ban("foo", "simply"), brief(50)))
    story.change({**rubric("1.1.0"), "checks": 7}, "Breaker")
    (story.root / "rubrics" / "r.yaml").write_text("checks: [")
    story.commit("Breaker")
    fixed = story.change(rubric("1.1.0", ban("foo", "simply"), brief(20)), "Fixer")
    parts = blamed()
    assert (parts[SIMPLY]["commit"], parts[LENGTH]["commit"]) == (first, fixed)


def test_a_shallow_clone_names_the_release_and_says_so(story: Any, blamed: Blamed, tmp_path: Any) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)))
    story.release(rubric("2.0.0", ban("foo", "simply"), brief(50)), "Bob", by="Releasebot")
    cyd = story.change(rubric("2.0.0", ban("foo", "simply"), brief(20)), "Cyd")
    story.git("clone", "-q", "--depth", "2", f"file://{story.root}", str(tmp_path / "shallow"))
    parts = blamed("rubric/r@git:HEAD", tmp_path / "shallow")
    assert parts[LENGTH]["commit"] == cyd
    part = parts["/checks/0/values/0"]
    assert (part["commit"], part["author"], part["version"], part["released_by"]) == (None, None, "2.0.0", "Releasebot")
    assert "shallow" in part["gap"]
    assert part["gap"].endswith(": git fetch --unshallow --tags")


def test_judges_and_datasets_are_blamed_as_well(story: Any, blamed: Blamed) -> None:
    judge = {
        "id": "tone",
        "version": "1.0.0",
        "template": "Rate: {{ output }}",
        "score_type": "continuous",
        "model": {"id": "m", "temperature": 0},
    }
    dataset = {
        "id": "d",
        "version": "1.0.0",
        "defaults": {"rubric_ref": "rubric/r@1.0.0"},
        "questions": [{"id": "a", "input": "x"}, {"id": "b", "input": "y"}],
    }
    story.write(judge, "judge")
    first = story.change(dataset, kind="dataset")
    model = story.change({**judge, "model": {"temperature": 0, "id": "n"}}, "Bob", "judge")
    asked = {
        **dataset,
        "defaults": {"rubric_ref": "rubric/r@2.0.0"},
        "questions": [{"id": "b", "input": "y", "expected_facts": ["z"]}, {"id": "a", "input": "x"}],
    }
    facts = story.change(asked, "Cyd", "dataset")
    parts = blamed("judge/tone@git:HEAD")
    assert {pointer: part["commit"] for pointer, part in parts.items()} == {
        "/template": first, "/score_type": first, "/model/id": model, "/model/temperature": first,
    }  # fmt: skip
    assert {pointer: part["commit"] for pointer, part in blamed("dataset/d@git:HEAD").items()} == {
        "/defaults/rubric_ref": facts, "/questions/0": facts, "/questions/1": first,
    }  # fmt: skip


def test_rows_beside_a_dataset_are_questions(story: Any, blamed: Blamed) -> None:
    story.write({"id": "d", "version": "1.0.0", "rows": "d.jsonl"}, "dataset")
    rows = story.root / "datasets" / "d.jsonl"
    rows.write_text('{"id": "a", "input": "x"}\n')
    first = story.commit()
    rows.write_text('{"id": "b", "input": "y"}\n{"input": "x", "id": "a"}\n')
    second = story.commit("Bob")
    assert {pointer: part["commit"] for pointer, part in blamed("dataset/d@git:HEAD").items()} == {
        "/rows/0": second,
        "/rows/1": first,
    }


@pytest.mark.parametrize("width", [80, 200])
def test_the_text_fits_the_screen(story: Any, width: int) -> None:
    story.release(rubric("1.0.0", ban("foo"), brief(50)), "Ann")
    checks = ban("foo", "simply"), brief(50)
    bob = story.change(rubric("2.0.0", *checks, threshold=0.9), "Bob", message="no filler words any more")
    story.tag("rubric/r@2.0.0")
    with ArtifactStore.open(story.root) as store:
        lines = render(blame(store, "rubric/r@2.0.0"), "text", screen=Screen(width)).splitlines()
    assert max(map(len, lines)) <= width
    line = next(line for line in lines if line.startswith("  values: 'simply'"))
    assert line.split()[2:6] == ["2.0.0", bob[:7], "2025-10-09", "Bob"]
    assert line.endswith("no filler words any more") is (width == 200)
    assert lines[0] == "rubric/r@2.0.0"


def test_markdown_and_a_hostile_author_are_inert(story: Any, cli: Callable) -> None:
    story.change(rubric("1.0.0", ban("foo|bar"), brief(50)), "<b>@Bob</b>", message="see #1 | \x1b[31m")
    story.tag("rubric/r@1.0.0")
    ran = cli("blame", "rubric/r@1.0.0", "--format", "markdown", cwd=story.root)
    assert (ran.code, ran.err) == (0, "")
    assert "<b>" not in ran.out
    assert "\x1b" not in ran.out
    assert {line.replace("\\|", "").count("|") for line in ran.out.splitlines() if line.startswith("|")} == {7}


def test_a_row_that_stayed_is_not_parsed_again(story: Any, blamed: Blamed, monkeypatch: pytest.MonkeyPatch) -> None:
    story.write({"id": "d", "version": "1.0.0", "rows": "d.jsonl"}, "dataset")
    lines = [f'{{"id": "q{number}", "input": "x"}}\n' for number in range(40)]
    commits = []
    for version in range(6):
        lines[version] = lines[version].replace('"x"', '"y"')
        (story.root / "datasets" / "d.jsonl").write_text("".join(lines))
        commits.append(story.commit(f"Author {version}"))
    parsed = []
    monkeypatch.setattr(artifact_parts, "parse_row", lambda line: parsed.append(line) or rows.parse_row(line))
    found = {pointer: part["commit"] for pointer, part in blamed("dataset/d@git:HEAD").items()}
    assert [found[f"/rows/{number}"] for number in range(8)] == [*commits, commits[0], commits[0]]
    # All rows of one version, and of each older one those that differ from it.
    assert len(parsed) == 40 + 5
    # Another default is another meaning of every row that does not say otherwise.
    story.write({"id": "d", "version": "1.0.0", "rows": "d.jsonl", "defaults": {"rubric_ref": "rubric/r"}}, "dataset")
    last = story.commit("Zoe")
    assert {part["commit"] for part in blamed("dataset/d@git:HEAD").values()} >= {last}
