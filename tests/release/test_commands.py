from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.languages.schemas import compile_schema
from evalstore.places import find_resource_folder
from tests.release.shop import JUDGE, Shop, check_sound, judged, rubric

Cli = Callable[..., Any]


def document(cli: Cli, shop: Shop, command: str, *words: str) -> tuple[int, Any]:
    ran = cli("-C", shop.root, command, *words, "--format", "json")
    answer = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output" / f"{command}.schema.json").read_text())
    assert list(compile_schema(schema).find_violations(answer)) == []
    return ran.code, answer


def test_status_and_bump_as_json(cli: Cli, shop: Shop) -> None:
    shop.write("judges/accuracy.yaml", JUDGE)
    shop.write("rubrics/reviewed.yaml", judged())
    code, answer = document(cli, shop, "status", "--check")
    assert (code, answer["ok"], answer["total"]) == (0, True, 3)
    assert [one["state"] for one in answer["artifacts"]] == ["new"] * 3
    code, answer = document(cli, shop, "bump", "--all")
    commit = shop.git("rev-parse", "HEAD")
    assert answer["released"][0] == {
        "ref": "rubric/reviewed@1.0.0",
        "tag": "rubric/reviewed@1.0.0",
        "commit": commit,
        "previous": None,
        "bump": "none",
        "moved": [],
    }
    shop.write("judges/accuracy.yaml", JUDGE.replace("right?", "so?"))
    (shop.top / "rubrics/tone.yaml").unlink()
    code, answer = document(cli, shop, "status", "--check")
    assert (code, answer["ok"]) == (1, False)
    assert answer["artifacts"][0] == {
        "ref": "judge/accuracy",
        "state": "changed",
        "released": "1.0.0",
        "working": "1.0.0",
        "required_bump": "major",
        "next_version": "2.0.0",
        "ok": False,
        "rule": "version-not-bumped",
        "message": "needs 2.0.0, but is still 1.0.0",
        "hint": None,
        "dependents": ["rubric/reviewed"],
        "reaches": {"rubrics": 1, "datasets": 0, "questions": 0},
        "pins": [
            {"from": "rubric/reviewed", "ref": "judge/accuracy@1.0.0", "file": "rubrics/reviewed.yaml", "line": 5}
        ],
        "moved": [],
        "adjusted": [],
    }
    code, answer = document(cli, shop, "bump", "judge/accuracy", "--dry-run")
    assert (answer["released"][0]["commit"], answer["dry_run"]) == (None, True)
    code, answer = document(cli, shop, "bump", "rubric/reviewed")
    assert (code, answer["released"], answer["unchanged"]) == (0, [], ["rubric/reviewed"])


def test_the_gate_answers_only_when_asked(cli: Cli, released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    assert cli("-C", released.root, "status").code == 0
    ran = cli("-C", released.root, "status", "--check")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.split("\n")[1] == "NO  rubric/tone  1.0.0     1.0.0  major  needs 2.0.0, but is still 1.0.0"


def test_what_a_bump_says(cli: Cli, released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    ran = cli("-C", released.root, "bump", "--all", "-m", "No filler words")
    commit = released.git("rev-parse", "--short=12", "HEAD")
    assert ran.out.split("\n") == [
        f"Released 1 artifact on main in commit {commit}, from the working files:",
        "  rubric/tone  1.0.0 -> 2.0.0  major  tag rubric/tone@2.0.0",
        "",
    ]
    assert released.git("show", "-s", "--format=%s") == "No filler words"
    again = cli("-C", released.root, "bump", "--all")
    assert (again.code, again.out) == (0, "Nothing to release: rubric/tone is unchanged since release\n")
    assert cli("-C", released.root, "status").out == "1 artifact, all unchanged since release\n"


def test_a_long_list_has_its_first_lines_its_sum_and_with_verbose_all_of_it(cli: Cli, shop: Shop) -> None:
    names = [f"r{number:02}" for number in range(50)]
    questions = "".join(f"  - {{id: {name}, input: How?, rubric_ref: rubric/{name}@1.0.0}}\n" for name in names)
    shop.write("datasets/all.yaml", f"id: all\nversion: 1.0.0\nquestions:\n{questions}")
    for name in names:
        shop.write(f"rubrics/{name}.yaml", rubric(name))
    shop.bump()
    for number, name in enumerate(names):
        changed = rubric(name, ban="just") if number else rubric(name, "1.0.1", title="Other words")
        shop.write(f"rubrics/{name}.yaml", changed)
    status = cli("-C", shop.root, "status").out.splitlines()
    assert [status[1].split()[:2], status[40].split()[:2]] == [["NO", "rubric/r01"], ["NO", "rubric/r40"]]
    assert status[41:] == [
        "  and 10 more; --verbose lists them all",
        "",
        "50 of 52 artifacts differ from the last release, 49 without the version they need (49 major)",
    ]
    whole = cli("-C", shop.root, "status", "--verbose").out
    assert whole.count("reaches 1 dataset and 1 question") == 50
    assert whole.index("rubric/r49") < whole.index("rubric/r00")
    bumped = cli("-C", shop.root, "bump", "--all").out.splitlines()
    assert len(bumped) == 44
    assert bumped[-3:] == [
        "  and 10 more; --verbose lists them all",
        "1 artifact pins 50 of these at the version before:",
        "  dataset/all",
    ]
    moved = cli("-C", shop.root, "bump", "--all", "--dependents").out
    assert "  and 10 more" in moved
    assert cli("-C", shop.root, "lock").out.splitlines()[40:] == [
        "  and 10 more; --verbose lists them all",
        "evalstore.lock holds 50 references and 52 ledgers; written",
    ]


def test_the_environment_signs(cli: Cli, shop: Shop) -> None:
    stamp = {f"GIT_{role}_DATE": "2026-09-28T11:25:00+02:00" for role in ("AUTHOR", "COMMITTER")}
    assert cli("-C", shop.root, "bump", "--all", GIT_AUTHOR_NAME="Jonas Brandt", **stamp).code == 0
    assert shop.git("show", "-s", "--format=%an %cn %aI") == "Jonas Brandt Ada Tester 2026-09-28T11:25:00+02:00"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["bump"], 2, "name the artifacts to release, or say --all"),
        (["bump", "--all", "rubric/tone"], 2, "name the artifacts to release, or say --all"),
        (["bump", "--all", "-m", " "], 2, "the message is empty"),
        (["bump", "--all", "--level", "huge"], 2, "'huge' is not one of"),
        (["bump", "rubric/tune"], 3, "hint: did you mean rubric/tone?"),
        (["bump", "rubric/tone@9.9.9"], 3, "evalstore bump releases the working file"),
        (["status", "rubric/tone"], 2, "unexpected extra argument"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(cli: Cli, shop: Shop, words: list[str], code: int, said: str) -> None:
    ran = cli("-C", shop.root, *words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert len(ran.err.strip().split("\n")) <= 2


@pytest.mark.parametrize("command", [["status"], ["bump", "--all"]])
def test_outside_a_repository_and_in_a_bare_one(cli: Cli, shop: Shop, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "nowhere").mkdir()
    outside = cli("-C", tmp_path / "nowhere", *command)
    assert (outside.code, "is not in a git repository" in outside.err) == (3, True)
    shop.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    bare = cli("-C", tmp_path / "bare.git", *command)
    assert (bare.code, "a bare repository has no working files" in bare.err) == (3, True)


def test_an_empty_store_has_nothing_to_release(cli: Cli, shop: Shop) -> None:
    (shop.top / "rubrics/tone.yaml").unlink()
    for command in (["status"], ["bump", "--all"]):
        ran = cli("-C", shop.root, *command)
        assert (ran.code, ran.out, "there is no store in" in ran.err) == (3, "", True)


@pytest.mark.parametrize("command", ["status", "bump"])
def test_help_has_examples(cli: Cli, command: str) -> None:
    ran = cli(command, "--help")
    assert (ran.code, "Examples:" in ran.out, f"evalstore {command}" in ran.out) == (0, True, True)


def together(shop: Shop, *commands: tuple[str, ...]) -> list[tuple[int, str, str]]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "evalstore", "-C", str(shop.root), *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    return [(process.wait(), *process.communicate()) for process in processes]


@pytest.mark.chaos
@pytest.mark.slow
def test_of_bumps_at_once_one_releases_and_the_others_find_it_done(released: Shop) -> None:
    released.write("rubrics/tone.yaml", rubric(ban="just"))
    ran = together(released, *[("bump", "--all")] * 4)
    assert {code for code, _, _ in ran} <= {0, 3}
    assert sum(out.startswith("Released 1 artifact") for _, out, _ in ran) == 1
    assert released.tags() == ["rubric/tone@1.0.0", "rubric/tone@2.0.0"]
    assert released.git("rev-list", "--count", "HEAD") == "2"
    check_sound(released)


@pytest.mark.chaos
@pytest.mark.slow
def test_bumps_of_different_artifacts_at_once_all_release(released: Shop) -> None:
    names = [f"extra_{number}" for number in range(4)]
    for name in names:
        released.write(f"rubrics/{name}.yaml", rubric(name))
    ran = together(released, *[("bump", f"rubric/{name}") for name in names])
    assert [code for code, _, _ in ran] == [0] * 4
    assert released.git("rev-list", "--count", "HEAD") == "5"
    assert released.git("status", "--porcelain") == ""
    check_sound(released)
