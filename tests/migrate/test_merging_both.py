"""`migrate --merge`: what was edited in the store and what changed at its source, both in one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evalstore.documents import compute_digest
from evalstore.migration.merging.part_merge import build_parts, merge_parts, note_tree, read_tree

Git = Callable[..., str]
Run = Callable[..., Any]
LOAD = YAML(typ="safe").load
DATASET = Path("datasets/forms.yaml")
SOURCE = Path("legacy/forms/evals.json")


def write_source(*cases: tuple[int, str], filler: str = "") -> None:
    SOURCE.parent.mkdir(parents=True, exist_ok=True)
    evals = [
        {"id": id_, "prompt": prompt, "must_contain_any": ["alpha"], "expected_output": filler} for id_, prompt in cases
    ]
    SOURCE.write_text(json.dumps({"skill_name": "forms", "evals": evals}, indent=1), "utf-8")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), "utf-8")


def commit(git: Git) -> None:
    git("add", ".")
    git("commit", "-m", "A day")


def list_states(cli: Run, *options: str) -> list[tuple[str, str]]:
    answer = cli("migrate", "legacy", "--format", "json", *options)
    files = json.loads(answer.out)["files"]
    assert answer.code == any(file["state"] == "conflict" for file in files)
    return [(file["path"], file["state"]) for file in files if file["state"] not in {"unchanged", "orphan"}]


def read_inputs() -> dict[str, str]:
    rows = Path("datasets/forms.jsonl")
    lines = [json.loads(line) for line in rows.read_text("utf-8").splitlines()] if rows.exists() else []
    return {row["id"]: row["input"] for row in lines or LOAD(DATASET.read_text("utf-8"))["questions"]}


@pytest.fixture
def repo(git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    git()
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path / "repo"


@pytest.mark.parametrize("commits", [True, False], ids=["each day", "the first day"])
@pytest.mark.parametrize("filler", ["", "x" * 100_000], ids=["questions", "rows"])
def test_edits_of_both_sides_live_on_day_after_day(
    repo: Path, cli: Run, git: Git, filler: str, *, commits: bool
) -> None:
    write_source((1, "one"), (2, "two"), (3, "three"), filler=filler)
    assert list_states(cli)
    commit(git)
    file = DATASET.with_suffix(".jsonl") if filler else DATASET
    first, last = ('"input":"one"', '"input":"one, here"') if filler else ("input: one\n", "input: one, here  # mine\n")
    edit(file, first, last)
    write_source((4, "four"), (1, "one"), (2, "two, there"), (3, "three"), filler=filler)
    before = file.read_bytes()
    assert ("datasets/forms.yaml", "conflict") in list_states(cli)
    assert file.read_bytes() == before
    assert ("datasets/forms.yaml", "updated") in list_states(cli, "--merge")
    assert read_inputs() == {"B04": "four", "B01": "one, here", "B02": "two, there", "B03": "three"}
    assert filler or "# mine" in file.read_text("utf-8")
    # The same again says nothing more, and writes nothing.
    merged = file.read_bytes()
    assert {state for _, state in list_states(cli) + list_states(cli, "--merge")} == {"kept"}
    if commits:
        commit(git)
    write_source((4, "four"), (1, "one"), (2, "two, there"), (5, "five"), filler=filler)
    assert ("datasets/forms.yaml", "updated") in list_states(cli, "--merge")
    assert read_inputs() == {"B04": "four", "B01": "one, here", "B02": "two, there", "B05": "five"}
    assert file.read_bytes() != merged
    if commits:
        commit(git)
    # What is taken back here is what the source says.
    edit(file, "one, here", "one")
    write_source((4, "four"), (1, "one at last"), (2, "two, there"), (5, "five"), filler=filler)
    assert list_states(cli, "--merge")
    assert read_inputs() == {"B04": "four", "B01": "one at last", "B02": "two, there", "B05": "five"}
    assert (repo / "rubrics").is_dir()


@pytest.mark.parametrize("filler", ["", "x" * 100_000], ids=["questions", "rows"])
def test_after_keep_what_comes_later_is_merged(repo: Path, cli: Run, git: Git, filler: str) -> None:
    write_source((1, "one"), (2, "two"), (3, "three"), filler=filler)
    list_states(cli)
    file = DATASET.with_suffix(".jsonl") if filler else DATASET
    edit(
        file, '"input":"two"' if filler else "input: two\n", '"input" : "two, here"' if filler else "input: two, here\n"
    )
    write_source((1, "one"), (2, "two, there"), (3, "three"), filler=filler)
    rows = file.read_text("utf-8").split("\nx_source:")[0]
    assert {state for _, state in list_states(cli, "--keep")} == {"kept"}
    assert file.read_text("utf-8").split("\nx_source:")[0] == rows
    assert {state for _, state in list_states(cli)} == {"kept"}
    # Nothing was ever committed, and the source goes on: a case more, one less, one numbered anew.
    write_source((4, "four"), (1, "one at last"), (2, "two, there"), filler=filler)
    assert ("datasets/forms.yaml", "updated") in list_states(cli, "--merge")
    assert read_inputs() == {"B04": "four", "B01": "one at last", "B02": "two, here"}
    assert {state for _, state in list_states(cli)} == {"kept"}
    assert cli("-C", repo, "validate").code == 0


def test_what_is_kept_in_a_layout_of_its_own_is_not_written_anew(repo: Path, cli: Run) -> None:
    write_source((1, "one"))
    list_states(cli)
    base = LOAD(DATASET.read_text("utf-8"))["x_source"]["base"]
    value = LOAD(DATASET.read_text("utf-8")) | {"title": "Ours"}
    DATASET.write_text(f"{json.dumps(value)}  # by hand\n", "utf-8")
    before = DATASET.read_text("utf-8")
    write_source((1, "one"), filler="there")
    SOURCE.parent.rename(SOURCE.parent.with_name("forms2"))
    assert ("datasets/forms.yaml", "kept") in list_states(cli, "--keep")
    after = DATASET.read_text("utf-8")
    moved = before.replace("legacy/forms/", "legacy/forms2/")
    assert after == moved.replace(base, LOAD(after)["x_source"]["base"])
    assert {state for _, state in list_states(cli)} == {"kept"}
    assert (repo / DATASET).is_file()


def test_one_place_that_both_sides_changed_stays_a_conflict(repo: Path, cli: Run, git: Git) -> None:
    write_source((1, "one"), (2, "two"))
    list_states(cli)
    commit(git)
    edit(DATASET, "input: one\n", "input: one, here\n")
    write_source((1, "one, there"), (2, "two"), (3, "three"))
    before = DATASET.read_bytes()
    answer = cli("migrate", "legacy", "--merge")
    assert answer.code == 1
    assert "both sides changed questions.B01.input: the file stays" in " ".join(answer.out.split())
    assert "-    input: one, here\n+    input: one, there\n" in answer.out
    assert DATASET.read_bytes() == before
    assert (repo / "datasets").is_dir()


@pytest.mark.parametrize("why", ["no commit", "another one"])
def test_without_a_trace_of_the_last_migration_nothing_is_merged(repo: Path, cli: Run, git: Git, why: str) -> None:
    write_source((1, "one"), (2, "two"))
    list_states(cli)
    edit(DATASET, "input: one\n", "input: one, here\n")
    if why == "another one":
        commit(git)
    write_source((1, "one"), (2, "two"), (3, "three"))
    answer = cli("-C", repo, "migrate", "legacy", "--merge")
    assert answer.code == 1
    assert "no commit has what was last migrated" in " ".join(answer.out.split())
    assert "one, here" in read_inputs().values()


def test_a_rubric_keeps_its_version_and_the_diff_says_what_the_source_moved(repo: Path, cli: Run, git: Git) -> None:
    write_source((1, "one"))
    list_states(cli, "--share", "cases")
    commit(git)
    assert cli("bump", "--all").code == 0
    rubric = repo / "rubrics/forms_b01.yaml"
    edit(rubric, "scoring:\n", "title: Forms\nscoring:\n")
    assert cli("bump", "--all", "--dependents").code == 0
    edit(SOURCE, '"alpha"', '"alpha", "beta"')
    assert ("rubrics/forms_b01.yaml", "updated") in list_states(cli, "--merge")
    value = LOAD(rubric.read_text("utf-8"))
    assert (value["version"], value["title"], value["checks"][0]["values"]) == ("1.0.1", "Forms", ["alpha", "beta"])
    assert json.loads(cli("diff", "rubric/forms_b01", "--format", "json").out)["next_version"] == "2.0.0"


def test_three_answers_to_one_conflict_are_too_many(repo: Path, cli: Run) -> None:
    write_source((1, "one"))
    for pair in (("--merge", "--force"), ("--merge", "--keep"), ("--force", "--keep")):
        assert cli("-C", repo, "migrate", "legacy", *pair).code == 2


A, B, C = ({"id": "a"}, {"id": "b"}, {"id": "c"})


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ({"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": 2}, {"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": 2}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"a": 2}, {"a": 3}, None),
        ({"a": 1, "b": 1}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2}),
        ({"a": 1}, {"b": 1}, {"a": 2}, None),
        ({"a": 1}, {"b": 1}, {"a": 1}, {"b": 1}),
        ({}, {"a": 1}, {"a": 2}, None),
        ({}, {"a": [A]}, {"a": [B]}, {"a": [A, B]}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 3]}, {"a": [1, 2, 3]}),
        ({"a": [{}]}, {"a": [{}, 2]}, {"a": [{}, 3]}, None),
        ({"a": [A]}, {"a": [A, B]}, {"a": [C, A]}, {"a": [C, A, B]}),
        ({"a": [A, B, C]}, {"a": [C, B, A]}, {"a": [A, C]}, {"a": [C, A]}),
        ({"a": [A, B]}, {"a": [A]}, {"a": [A, B | {"x": 1}]}, None),
        ({"a": [A, B]}, {"a": [A]}, {"a": [A, B, C]}, {"a": [A, C]}),
        (
            {"a": [A | {"x_source": 1}]},
            {"a": [A | {"x_source": 1, "x": 1}]},
            {"a": [A | {"x_source": 2}]},
            {"a": [A | {"x": 1, "x_source": 2}]},
        ),
        ({"a": [A, A]}, {"a": [A, A, B]}, {"a": [A]}, None),
        ({"a": [A]}, {"a": [A, "b"]}, {"a": [A, C]}, None),
        ({"a": [A]}, {"a": []}, {"a": [A]}, {"a": []}),
        ({"a": [A]}, {"a": []}, {"a": [A, B]}, {"a": [B]}),
    ],
)
def test_parts_are_merged_by_key_and_id(base: Any, ours: Any, theirs: Any, merged: Any) -> None:
    found, mirrored = merge(base, ours, theirs), merge(base, theirs, ours)
    assert found == merged
    assert (mirrored is None) == (found is None)


def merge(base: Any, ours: Any, theirs: Any) -> Any:
    """Merge three values; None where both sides changed one part. A base that was noted gives the same."""
    tree = build_parts(base, compute_digest)
    results = []
    for known in (tree, read_tree(note_tree(tree, deep=True))):
        assert known
        sides = (build_parts(side, compute_digest, known) for side in (ours, theirs))
        merged, clashes = merge_parts(known, *sides)
        results.append((merged.build_value(), clashes))
    assert results[0] == results[1]
    both, clashes = results[0]
    return None if clashes else both


def check(kind: str = "must_contain_any", **rest: Any) -> dict[str, Any]:
    return {"kind": kind, **rest}


def test_an_added_item_of_each_side_is_added() -> None:
    base = {"checks": [check(values=["a", "b"])], "tags": ["x"]}
    ours = {"checks": [check(values=["a", "b", "mine"])], "tags": ["x", "y"]}
    theirs = {"checks": [check(values=["b", "theirs"])], "tags": []}
    assert merge(base, ours, theirs) == {"checks": [check(values=["b", "mine", "theirs"])], "tags": ["y"]}


def test_two_checks_without_ids_are_two_parts() -> None:
    base = {"checks": [check(values=["a"]), check("must_not_contain", values=["b"])]}
    ours = {"checks": [check(values=["a"], negate=True), check("must_not_contain", values=["b"])]}
    theirs = {"checks": [check(values=["a"]), check("must_not_contain", values=["c"])]}
    assert merge(base, ours, theirs) == {"checks": [ours["checks"][0], theirs["checks"][1]]}


def test_a_check_in_front_of_another_of_its_kind_takes_nothing_from_it() -> None:
    base = {"checks": [check(values=["a"])]}
    ours = {"checks": [check(values=["mine"]), check(values=["a"])]}
    theirs = {"checks": [check(values=["a", "there"])]}
    assert merge(base, ours, theirs) == {"checks": [check(values=["mine"]), check(values=["a", "there"])]}
    theirs = {"checks": [check(values=["a"]), check(values=["new"])]}
    assert merge(base, ours, theirs) == {"checks": [check(values=["mine"]), check(values=["a"]), check(values=["new"])]}


def test_weights_are_parts_of_their_own() -> None:
    base = {"scoring": {"combine": "weighted_avg", "weights": {"a": 1, "b": 1}}}
    ours = {"scoring": {"combine": "weighted_avg", "weights": {"a": 2, "b": 1}}}
    theirs = {"scoring": {"combine": "weighted_avg", "weights": {"a": 1, "b": 3}, "threshold": 1}}
    assert merge(base, ours, theirs) == {
        "scoring": {"combine": "weighted_avg", "weights": {"a": 2, "b": 3}, "threshold": 1}
    }


def test_what_an_earlier_release_noted_is_merged_by_whole_items() -> None:
    digests = {one["id"]: compute_digest(one) for one in (A, B)}
    known = read_tree({"a": digests, "t": compute_digest("x")})
    assert known
    sides = ({"a": [A | {"x": 1}, B], "t": "x"}, {"a": [A, B, C], "t": "y"})
    both, clashes = merge_parts(known, *(build_parts(side, compute_digest, known) for side in sides))
    assert (both.build_value(), clashes) == ({"a": [A | {"x": 1}, B, C], "t": "y"}, [])
    sides = ({"a": [A | {"x": 1}, B], "t": "x"}, {"a": [A | {"y": 1}, B], "t": "x"})
    assert merge_parts(known, *(build_parts(side, compute_digest, known) for side in sides))[1] == [("a", "a")]


def test_a_phrase_of_each_side_ends_up_in_the_rubric(repo: Path, cli: Run, git: Git) -> None:
    write_source((1, "one"))
    list_states(cli, "--share", "cases")
    commit(git)
    rubric = repo / "rubrics/forms_b01.yaml"
    edit(rubric, "- alpha\n", "- alpha\n      - mine\n")
    edit(SOURCE, '"alpha"', '"alpha", "beta"')
    assert ("rubrics/forms_b01.yaml", "conflict") in list_states(cli)
    assert ("rubrics/forms_b01.yaml", "updated") in list_states(cli, "--merge")
    assert sorted(LOAD(rubric.read_text("utf-8"))["checks"][0]["values"]) == ["alpha", "beta", "mine"]
