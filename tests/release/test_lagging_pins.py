"""A source that is edited, migrated and released again is graded as before until its dataset pins the new release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def world(git: Any, cli: Any, template: Any, tmp_path: Path) -> Path:
    """A store in a repository, with a suite that was migrated, released, edited, migrated and released again."""
    root = tmp_path / "repo"
    template("a suite migrated and released twice", lambda: _release_twice(git, cli, root))
    return root


def _release_twice(git: Any, cli: Any, root: Path) -> None:
    git()
    source = root / "legacy/forms/evals.json"
    source.parent.mkdir(parents=True)

    def write(text: str) -> None:
        cases = [
            {"id": 1, "prompt": "?", "must_contain_any": [text]},
            {"id": 2, "prompt": "!", "must_contain_any": ["b"]},
        ]
        source.write_text(json.dumps({"skill_name": "forms", "evals": cases}))

    write("a")
    for text in ("a", "z"):
        write(text)
        assert cli("-C", root, "migrate", "legacy", "--share", "cases").code == 0
        git("add", ".")
        git("commit", "-qm", "migrated")
        assert cli("-C", root, "bump", "--all").code == 0


def find_rules(cli: Any, root: Path, *command: str) -> list[dict[str, Any]]:
    found = json.loads(cli("-C", root, *command, "--format", "json").out)["findings"]
    return [finding for finding in found if finding["rule"] == "pin-behind"]


def test_every_command_says_what_lags_behind_its_source(world: Path, cli: Any) -> None:
    for command in ("status", "validate"):
        (finding,) = find_rules(cli, world, command)
        assert finding["file"] == "datasets/forms.yaml"
        assert "rubric/forms_b01@1.0.0" in finding["message"]
        assert "2.0.0" in finding["message"]
        assert "evalstore bump --all --dependents" in finding["hint"]
        assert "pin-behind" in cli("-C", world, command).out
    said = cli("-C", world, "bump", "--all")
    assert "Nothing to release" in said.out
    assert "1 dataset pins rubric/forms_b01@1.0.0" in " ".join(said.out.split())
    assert "bump rubric/forms_b01 --dependents" in said.next_steps
    shown = cli("-C", world, "status")
    assert "bump --all --dependents" in shown.next_steps
    again = cli("-C", world, "migrate", "legacy")
    assert "pin-behind: dataset/forms pins rubric/forms_b01@1.0.0" in " ".join(again.out.split())
    assert "bump --all --dependents" in again.next_steps
    (behind,) = json.loads(cli("-C", world, "migrate", "legacy", "--format", "json").out)["behind"]
    assert behind == {"dataset": "dataset/forms", "pin": "rubric/forms_b01@1.0.0", "version": "2.0.0"}


def test_the_next_step_ends_it(world: Path, cli: Any) -> None:
    assert cli("-C", world, "bump", "--all", "--dependents").code == 0
    assert "rubric/forms_b01@2.0.0" in (world / "datasets/forms.yaml").read_text()
    for command in ("status", "validate"):
        assert find_rules(cli, world, command) == []
    assert "pins rubric" not in cli("-C", world, "bump", "--all").out
    assert json.loads(cli("-C", world, "migrate", "legacy", "--format", "json").out)["behind"] == []


def test_a_score_says_once_that_it_grades_as_before(world: Path, cli: Any, git: Any) -> None:
    (world / "outputs.jsonl").write_text('{"id": "B01", "output": "a"}\n{"id": "B02", "output": "b"}\n')

    def find_notes(*command: str) -> list[str]:
        said = cli("-C", world, "score", *command, "outputs.jsonl", "--out", "runs")
        assert said.code == 0, said.err
        assert ("bump --all --dependents" in said.next_steps) == ("pin-behind" in said.err)
        return [line for line in " ".join(said.err.split()).split("warning: ") if "pin-behind" in line]

    (note,) = find_notes("dataset/forms@1.0.0")
    assert "rubric/forms_b01@1.0.0 is graded as before" in note
    assert "evalstore bump --all --dependents" in note
    # Where the files grade, or a rubric of the command line, no pin decides.
    assert find_notes("dataset/forms", "--worktree=all") == []
    assert find_notes("dataset/forms", "--rubric", "rubric/forms_b01@2.0.0") == []
    assert cli("-C", world, "bump", "--all", "--dependents").code == 0
    assert find_notes("dataset/forms") == []
    # Whoever names an earlier release wants what that pins.
    assert find_notes("dataset/forms@1.0.0") == []


def test_the_settings_switch_it_off(world: Path, cli: Any) -> None:
    (world / "evalstore.yaml").write_text("rules: {pin-behind: 'off'}\n")
    for command in ("status", "validate"):
        assert find_rules(cli, world, command) == []


def test_a_pin_to_a_rubric_of_another_source_is_a_choice(world: Path, cli: Any) -> None:
    text = (world / "datasets/forms.yaml").read_text()
    (world / "datasets/forms.yaml").write_text(text.replace("suite: forms", "suite: other"))
    for command in ("status", "validate"):
        assert find_rules(cli, world, command) == []


def test_an_export_says_which_release_it_writes(world: Path, cli: Any, tmp_path: Path) -> None:
    said = cli("-C", world, "export", "--to", "ai_best_practices", "--out", tmp_path / "out").out
    assert "from dataset/forms@1.0.0" in said
    assert "rubric/forms_b01@1.0.0 is behind" in " ".join(said.split())
