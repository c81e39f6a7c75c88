"""References that float: what moved under a release is not a green gate, whoever looks, and a bump names who follows it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.languages.schemas import compile_schema
from evalstore.places import find_resource_folder
from evalstore.release.changes.values import ArtifactState
from evalstore.versions import Bump

Shop = Any
Cli = Callable[..., Any]

JUDGE = 'id: accuracy\nversion: 1.0.0\ntemplate: "Is this right? {{ output }}"\nscore_type: binary\n'
REWORDED = JUDGE.replace("right", "wrong")


def judged(id_: str, pin: str, more: str = "", version: str = "1.0.0") -> str:
    return (
        f"id: {id_}\nversion: {version}\nchecks:\n  - kind: llm_judge\n    judge_prompt_ref: {pin}\n"
        f"scoring:\n  combine: all_pass\n{more}"
    )


def composite(id_: str, pin: str) -> str:
    return f"id: {id_}\nversion: 1.0.0\nchecks:\n  - {{kind: composite, rubric_ref: {pin}}}\nscoring: {{combine: all_pass}}\n"


@pytest.fixture
def moved(shop: Shop, template: Callable[..., Any]) -> Shop:
    """A rubric that follows a judge, which was released again by a major change."""

    def release() -> None:
        shop.write("judges/accuracy.yaml", JUDGE)
        shop.write("rubrics/loose.yaml", judged("loose", "judge/accuracy"))
        shop.bump()
        shop.write("judges/accuracy.yaml", REWORDED)
        shop.bump()

    template("a rubric whose judge has moved", release)
    return shop


def gate(shop: Shop, cli: Cli) -> int:
    code: int = cli("-C", shop.root, "status", "--check").code
    return code


def test_a_reference_that_moved_by_a_major_change_fails_the_gate(moved: Shop, cli: Cli) -> None:
    (one,) = moved.status().artifacts
    assert (one.ref, one.state, one.ok, one.rule) == ("rubric/loose", ArtifactState.MOVED, False, "reference-moved")
    assert gate(moved, cli) == 1
    ran = cli("-C", moved.root, "status", "--check")
    assert "NO  rubric/loose  1.0.0     1.0.0  -      unchanged\n" in ran.out
    assert " ".join(ran.out.split()).endswith(
        "1 unchanged has references that moved by a major change: pin the version you mean, then bump; "
        "to keep it floating, write the next major version into the file"
    )
    document = json.loads(cli("-C", moved.root, "status", "--format", "json").out)
    schema = json.loads((find_resource_folder("schema") / "output/status.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(document)) == []
    for format_ in ("github", "sarif", "gitlab", "junit", "markdown"):
        assert "reference-moved" in cli("-C", moved.root, "status", "--check", "--format", format_).out


@pytest.mark.parametrize(
    ("pin", "version", "code"),
    [
        ("judge/accuracy@2.0.0", "1.0.1", 0),
        ("judge/accuracy@1.0.0", "2.0.0", 0),
        ("judge/accuracy", "2.0.0", 0),
        ("judge/accuracy", "1.1.0", 1),
    ],
)
def test_what_the_hint_says_opens_the_gate(moved: Shop, cli: Cli, pin: str, version: str, code: int) -> None:
    moved.write("rubrics/loose.yaml", judged("loose", pin, version=version))
    assert gate(moved, cli) == code
    assert cli("-C", moved.root, "bump", "--all").code == 0
    assert gate(moved, cli) == 0


@pytest.mark.parametrize("more", ["# only a comment\n", "title: Loose\n"])
def test_no_smaller_change_carries_it_past_the_gate(moved: Shop, cli: Cli, more: str) -> None:
    moved.write("rubrics/loose.yaml", judged("loose", "judge/accuracy", more, version="1.0.1"))
    (one,) = moved.status().artifacts
    assert (one.required_bump, one.ok, [move.level for move in one.moved]) == (Bump.MAJOR, False, [Bump.MAJOR])
    assert gate(moved, cli) == 1
    (release,) = moved.bump().released
    assert (release.ref, release.bump) == ("rubric/loose@2.0.0", Bump.MAJOR)


def test_where_nobody_can_tell_the_gate_is_closed(moved: Shop, cli: Cli) -> None:
    moved.write("evalstore.lock", "x: [")
    moved.git("add", "evalstore.lock")
    moved.git("commit", "-q", "-m", "A lock that is none")
    moved.git("tag", "-f", "rubric/loose@1.0.0")
    moved.git("rm", "-q", "evalstore.lock")
    (one,) = moved.status().artifacts
    assert (one.state, one.ok) == (ArtifactState.MOVED, False)
    assert "is unknown" in one.message


def test_a_bump_names_who_follows_it_without_a_release(shop: Shop, cli: Cli) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/loose.yaml", judged("loose", "judge/accuracy"))
    shop.write("rubrics/ranged.yaml", judged("ranged", "judge/accuracy@^1"))
    shop.write("rubrics/exact.yaml", judged("exact", "judge/accuracy@1.0.0"))
    shop.write("datasets/web.yaml", "id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    shop.write("datasets/web.jsonl", '{"id": "one", "input": "?", "rubric_ref": "rubric/tone"}\n')
    shop.bump()
    shop.write("judges/accuracy.yaml", JUDGE + "title: Right or wrong\n")
    (patch,) = shop.bump(dry_run=True).followers
    assert patch == ("judge/accuracy@1.0.1", Bump.PATCH, ("rubric/loose", "rubric/ranged"))
    shop.write("judges/accuracy.yaml", REWORDED)
    (major,) = shop.bump(dry_run=True).followers
    assert major == ("judge/accuracy@2.0.0", Bump.MAJOR, ("rubric/loose",))
    assert (
        "1 rubric would mean judge/accuracy@2.0.0 from now on, by a floating pin (major): pin it there, or\n"
        "  write the next major version there\n  rubric/loose\n"
    ) in cli("-C", shop.root, "bump", "--all", "--dry-run").out
    shop.write("rubrics/tone.yaml", shop.read("rubrics/tone.yaml").replace(b"simply", b"just"))
    document = json.loads(cli("-C", shop.root, "bump", "--all", "--format", "json").out)
    schema = json.loads((find_resource_folder("schema") / "output/bump.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(document)) == []
    assert document["followers"] == [
        {"ref": "judge/accuracy@2.0.0", "bump": "major", "by": ["rubric/loose"]},
        {"ref": "rubric/tone@2.0.0", "bump": "major", "by": ["dataset/web"]},
    ]


def test_who_is_locked_or_released_with_it_follows_nothing(shop: Shop, cli: Cli) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/loose.yaml", judged("loose", "judge/accuracy"))
    shop.write("rubrics/other.yaml", judged("other", "judge/accuracy@latest"))
    shop.bump()
    shop.write("judges/accuracy.yaml", REWORDED)
    shop.write("rubrics/loose.yaml", judged("loose", "judge/accuracy", "title: Loose\n"))
    (followed,) = shop.bump(dry_run=True).followers
    assert followed.by == ("rubric/other",)
    assert cli("-C", shop.root, "lock").code == 0
    assert shop.bump(dry_run=True).followers == ()


def test_the_log_names_what_floats_behind_an_exact_pin(shop: Shop, cli: Cli) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/loose.yaml", judged("loose", "judge/accuracy@^1"))
    shop.write("rubrics/whole.yaml", composite("whole", "rubric/loose@1.0.0"))
    shop.write(
        "datasets/web.yaml",
        "id: web\nversion: 1.0.0\nquestions: [{id: a, input: '?', rubric_ref: rubric/whole@1.0.0}]\n",
    )
    shop.bump()
    for name in ("rubric/whole", "dataset/web"):
        assert " ".join(cli("-C", shop.root, "log", name).out.split()).endswith(
            "scores since 1.0.0 are comparable, provided that judge/accuracy@^1 in rubric/loose@1.0.0 did not move"
        )


def test_what_floats_behind_an_exact_pin_is_a_strict_finding(shop: Shop, cli: Cli) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/loose.yaml", judged("loose", "judge/accuracy@^1"))
    shop.write("rubrics/whole.yaml", composite("whole", "rubric/loose@1.0.0"))
    shop.bump()
    shop.write("rubrics/loose.yaml", judged("loose", "judge/accuracy@1.0.0"))
    ran = cli("-C", shop.root, "validate", "rubrics/whole.yaml", "--strict", "--format", "json")
    rules = [finding["rule"] for finding in json.loads(ran.out)["findings"]]
    assert (ran.code, rules) == (1, ["reference-floating-inside"])
    cli("-C", shop.root, "lock")
    assert cli("-C", shop.root, "validate", "rubrics/whole.yaml", "--strict").code == 0


@pytest.mark.parametrize("pin", ["rubric/tone@worktree", "rubric/tone@git:HEAD"])
def test_a_pin_that_no_release_can_carry_fails_the_gate_before_the_bump(released: Shop, cli: Cli, pin: str) -> None:
    released.write("rubrics/whole.yaml", composite("whole", pin))
    (one,) = released.status().artifacts
    assert (one.ref, one.ok) == ("rubric/whole", False)
    assert f"{pin} is not a release" in one.message
    assert gate(released, cli) == 1


def test_a_target_that_is_no_release_is_a_finding(released: Shop, cli: Cli) -> None:
    released.write(
        "datasets/web.yaml",
        "id: web\nversion: 1.0.0\nquestions: [{id: a, input: '?', rubric_ref: rubric/tone@1.0.0}]\n",
    )
    released.write("evalstore.yaml", "targets: {docs: {dataset: dataset/web@worktree}}\n")
    lax, strict = (cli("-C", released.root, "validate", *words) for words in ((), ("--strict",)))
    assert (lax.code, strict.code) == (0, 1)
    assert "evalstore.yaml:1:27  warning  target-unreleased\n" in lax.out
