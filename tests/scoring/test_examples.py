"""Examples of rubrics and judges: saved from a run, graded by `validate` from kept replies, and shown by `diff`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.languages.schemas import compile_schema
from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
Write = Callable[..., Path]
OUTPUTS = {"one": "please", "two": "no", "three": "one and two, please"}
SAVED = """\
examples:
  - output: please
    question:
      id: one
      input: Say one.
      expected_facts:
        - one
        - two
    verdict: pass
"""


@pytest.fixture
def saved(cli: Cli, judged: Path, write: Write, judge_server: Any) -> Path:
    """Return a repository whose rubric has an example of a run, which its judge passed."""
    judge_server.text = lambda prompt: '{"score": 5}' if "right" in prompt else '{"score": 1}'
    score = ("score", "dataset/three@1.0.0", write(OUTPUTS), "--judge-url", judge_server.url)
    ran = cli(*score, "--save-example", "one", cwd=judged)
    assert (ran.code, "saved an example that expects pass: rubrics/sound.yaml:8" in ran.err) == (0, True)
    return judged


def test_a_row_of_a_run_is_saved_and_graded_by_its_kept_replies(cli: Cli, saved: Path) -> None:
    rubric = saved / "rubrics/sound.yaml"
    assert rubric.read_text().partition("examples:")[2] == SAVED.removeprefix("examples:")
    graded = json.loads(cli("validate", "--format", "json", cwd=saved).out)
    assert (graded["findings"], "notes" in graded) == ([], False)
    rubric.write_text(
        rubric.read_text().replace("values: [please]", "values: [thanks]").replace("sound: 3", "sound: 1")
    )
    ran = cli("validate", cwd=saved)
    assert (ran.code, ran.out.split()[:3]) == (1, ["rubrics/sound.yaml:15:14", "error", "example-failed"])
    assert "example 1 expects pass and gets fail (50): polite: 0 of 1 values found, 1 needed" in ran.out
    (saved / ".git/evalstore/replies.db").unlink()
    # Whatever the judge says, the score is between 0 and 0.5.
    assert [one["rule"] for one in json.loads(cli("validate", "--format", "json", cwd=saved).out)["findings"]] == [
        "example-failed"
    ]
    rubric.write_text(rubric.read_text().replace("values: [thanks]", "values: [please]"))
    ungraded = json.loads(cli("validate", "--format", "json", cwd=saved).out)
    assert ungraded["findings"] == []
    (note,) = ungraded["notes"]
    assert note.startswith("rubrics/sound.yaml: 1 of 1 example could not be graded: sound: judge/accuracy@1.0.0: ")


def test_an_example_of_a_judge_is_graded_as_the_judge_answered(cli: Cli, saved: Path) -> None:
    judge = saved / "judges/own.yaml"
    judge.write_text(judge.read_text() + f"examples: [{{output: '{OUTPUTS['three']}', verdict: fail}}]\n")
    ran = cli("validate", "judges/own.yaml", cwd=saved)
    said = "example 1 expects fail and gets pass (100): judge: judge/own@1.0.0 100"
    assert (ran.code, said in ran.out) == (1, True)


def test_judge_examples_asks_for_the_replies_that_examples_need(cli: Cli, judged: Path, judge_server: Any) -> None:
    for file, verdict in (("judges/own.yaml", "pass"), ("rubrics/sound.yaml", "fail")):
        with (judged / file).open("a") as more:
            more.write(f"examples: [{{output: Good day, verdict: {verdict}}}]\n")
    assert "1 of 1 example could not be graded" in cli("validate", "judges", cwd=judged).out
    lacking = cli("judge", "examples", "judge/own@worktree", cwd=judged)
    assert (lacking.code, "1 judge call would grade the rest" in lacking.out) == (1, True)
    asked = ("--judge-url", judge_server.url)
    ran = cli("judge", "examples", "judge/own@worktree", *asked, cwd=judged)
    assert (ran.code, ran.out) == (0, "1 example of judge/own@worktree: as expected\n")
    assert "could not be graded" not in cli("validate", "judges", cwd=judged).out
    judge_server.text = lambda _: '{"score": 5}'
    rubric = ("judge", "examples", "rubric/sound@worktree", *asked)
    found = cli(*rubric, "--format", "json", cwd=judged)
    schema = json.loads((find_resource_folder("schema") / "output/judge_examples.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(json.loads(found.out))) == []
    (example,) = json.loads(found.out)["examples"]
    assert (found.code, example["got"], example["as_expected"]) == (1, "pass (75)", False)
    assert "example 1 expects fail, gets pass (75)" in cli(*rubric, cwd=judged).out
    refused = cli("judge", "examples", "judge/accuracy@worktree", cwd=judged)
    assert (refused.code, "judges/accuracy.yaml:1:1: this judge has no examples" in refused.err) == (3, True)


def test_a_turned_example_is_shown_before_anything_is_invented(cli: Cli, saved: Path) -> None:
    rubric = saved / "rubrics/sound.yaml"
    rubric.write_text(
        rubric.read_text().replace("values: [please]", "values: [thanks]").replace("sound: 3", "sound: 1")
    )
    ran = cli("diff", "rubric/sound", cwd=saved)
    lines = ran.out.split("\n\n")[1].splitlines()
    assert lines == [
        "1 of 1 example gets another grade",
        '  rubrics/sound.yaml:8: "please" goes from pass (100) to fail (50), expected: pass',
    ]
    diff = json.loads(cli("diff", "rubric/sound", "--format", "json", cwd=saved).out)
    (turned,) = diff["examples"]["turned"]
    assert (turned["expected"], turned["new_verdict"], turned["as_expected"]) == ("pass", "fail", False)
    assert (turned["file"], turned["line"]) == ("rubrics/sound.yaml", 8)
    reworded = next(one for one in diff["findings"] if one["rule"] == "phrase-reworded")
    assert (reworded["witness"]["output"], reworded["witness"]["example"]["line"]) == ("please", 8)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--save-example", "on"), 3, "no question has the id on\nhint: did you mean one?"),
        (("--save-example", "one", "--dry-run"), 2, "--dry-run writes none"),
        (("--save-example", "two"), 3, "no example is saved: the run has no graded output to two"),
    ],
)
def test_what_cannot_be_saved_is_said(
    words: tuple[str, ...], code: int, said: str, cli: Cli, judged: Path, write: Write
) -> None:
    before = (judged / "rubrics/sound.yaml").read_text()
    ran = cli("score", "dataset/three@1.0.0", write({"one": "please"}), "--offline", *words, cwd=judged)
    assert (ran.code, said in ran.err) == (code, True), ran.err
    assert (judged / "rubrics/sound.yaml").read_text() == before
