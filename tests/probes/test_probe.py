from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.languages.schemas import compile_schema
from evalstore.places import find_resource_folder
from evalstore.scoring.probes.probe import iterate_mutants

Cli = Callable[..., Any]

RUBRIC = """\
id: tone
version: 1.0.0
checks:
- id: polite
  kind: must_contain_any
  values: [please, thank you, kindly]
- id: plain
  kind: must_not_contain
  values: [synergy]
- kind: regex
  pattern: "[0-9]"
scoring:
  combine: weighted_avg
  weights: {plain: 2}
  threshold: 0.5
"""
DATASET = """\
id: mail
version: 1.0.0
defaults: {rubric_ref: rubric/tone@worktree}
questions:
- {id: a, input: please count to 3, expected: "thank you, 3"}
- {id: b, input: say something, expected: [no digit here]}
- {id: other, input: not mine, rubric_ref: rubric/else@1.0.0}
"""
OUTPUTS = [{"id": "a", "output": "please, 3"}, {"id": "b", "output": "no"}, {"id": "gone", "output": "?"}]


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path) -> Path:
    git("status")
    top = tmp_path / "repo"
    for name, text in (("rubrics/tone.yaml", RUBRIC), ("datasets/mail.yaml", DATASET), ("evalstore.yaml", "")):
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text, "utf-8")
    (top / "outputs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in OUTPUTS), "utf-8")
    return top


def test_texts_that_say_nothing_are_graded_and_those_that_pass_are_named(store: Path, cli: Cli) -> None:
    ran = cli("-C", store, "probe", "rubric/tone@worktree", "--dataset", "dataset/mail@worktree", "--exit-code")
    assert ran.code == 1
    assert ran.out == (
        "rubric/tone@worktree gets 5 of 6 texts wrong on 2 questions of dataset/mail@worktree\n"
        "\n"
        "text                   score  passes  fails  unscored  wanted\n"
        "empty                  50.00       2      0         0  fail, and does not\n"
        "refusal                50.00       2      0         0  fail, and does not\n"
        "the question           75.00       2      0         0  fail, and does not\n"
        "all phrases in a line  75.00       2      0         0  fail, and does not\n"
        "the reference          75.00       2      0         0  pass\n"
        "the reference, denied  75.00       2      0         0  fail, and does not\n"
        "\n"
        'empty passes on a and b: ""\n'
        """refusal passes on a and b: "I'm sorry, but I can't help with that."\n"""
        'the question passes on a and b: "please count to 3"\n'
        'all phrases in a line passes on a and b: "please thank you kindly"\n'
        'the reference, denied passes on a and b: "It is not true that: thank you, 3"\n'
    )


def test_a_rubric_that_fails_them_all_is_sound(store: Path, cli: Cli) -> None:
    text = RUBRIC.replace("threshold: 0.5", "threshold: 1\n  required: [polite, regex]")
    (store / "rubrics/tone.yaml").write_text(text, "utf-8")
    ran = cli("-C", store, "probe", "rubric/tone@worktree", "--exit-code")
    assert ran.code == 0
    assert ran.out.startswith("rubric/tone@worktree gets none of 3 texts wrong\n")
    assert "name a dataset: --dataset REF" in ran.out


def test_mutants_that_no_output_tells_apart_are_listed(store: Path, cli: Cli) -> None:
    argv = ("--dataset", "dataset/mail@worktree", "--outputs", "outputs.jsonl", "--format", "json")
    document = json.loads(cli("-C", store, "probe", "rubric/tone@worktree", *argv).out)
    schema = json.loads((find_resource_folder("schema") / "output/probe.schema.json").read_text("utf-8"))
    assert list(compile_schema(schema).find_violations(document)) == []
    # Of the three outputs one answers no question of this rubric.
    assert document["outputs"] == 2
    left = {one["message"]: one["pointer"] for one in document["survivors"]}
    assert left["check polite without values: kindly"] == "/checks/0/values/2"
    assert "check polite without values: please" not in left
    assert "without check plain" not in left
    assert "check plain with case_sensitive: true" in left


def test_each_mutant_is_the_rubric_with_one_part_changed() -> None:
    value = read_yaml(RUBRIC.encode(), "tone.yaml").value
    mutants = list(iterate_mutants(value))
    assert len({one.mutant.message for one in mutants}) == len(mutants)
    removed = next(one.rubric for one in mutants if one.mutant.message == "without check plain")
    assert [check.id for check in removed.checks] == ["polite", "regex"]
    heavier = next(one.rubric for one in mutants if one.mutant.message.endswith("twice the weight of plain"))
    assert heavier.scoring.weights["plain"] == 4


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["dataset/mail@worktree"], "dataset/mail@worktree is a dataset, not a rubric"),
        (["rubric/tone@worktree", "--dataset", "rubric/tone@worktree"], "is a rubric, not a dataset"),
        (
            ["rubric/tone@worktree", "--dataset", "dataset/mail@worktree", "--outputs", "none.jsonl"],
            "has no output for a",
        ),
    ],
)
def test_what_cannot_be_probed_is_refused(store: Path, cli: Cli, argv: list[str], message: str) -> None:
    (store / "none.jsonl").write_text('{"id": "gone", "output": "?"}\n', "utf-8")
    ran = cli("-C", store, "probe", *argv)
    assert (ran.code, message in ran.err) == (3, True), ran.err


JUDGED = """\
id: judged
version: 1.0.0
checks:
- {id: kind, kind: llm_judge, judge_prompt_ref: judge/kind@worktree}
- {id: plain, kind: must_not_contain, values: [synergy]}
scoring: {combine: all_pass, errors: skip}
"""


@pytest.mark.parametrize(
    ("check", "sentence", "undecided"),
    [
        ("{id: plain, kind: must_not_contain, values: [synergy]}", "has a verdict on none of 2 texts", 2),
        ("{id: plain, kind: must_contain_any, values: [synergy]}", "gets none of 2 texts wrong", 1),
    ],
)
def test_what_no_judge_was_asked_is_no_verdict_on_the_rubric(
    store: Path, cli: Cli, check: str, sentence: str, undecided: int
) -> None:
    (store / "judges").mkdir()
    (store / "judges/kind.yaml").write_text("id: kind\nversion: 1.0.0\ntemplate: 'Kind? {{ output }}'\n", "utf-8")
    text = JUDGED.replace("{id: plain, kind: must_not_contain, values: [synergy]}", check)
    (store / "rubrics/judged.yaml").write_text(text, "utf-8")
    ran = cli("probe", "rubric/judged@worktree", "--exit-code", cwd=store)
    out = ran.out
    # A gate that saw nothing is not a green one.
    assert ran.code == 1
    assert re.search(rf"{undecided} of [23] verdicts depend on that, so --exit-code fails", out)
    assert f"rubric/judged@worktree {sentence}" in " ".join(out.split())
    assert "note: kind could not be graded: no model is named" in " ".join(out.split())


def test_a_text_is_saved_as_an_example_with_the_verdict_that_is_wanted(store: Path, cli: Cli) -> None:
    saves = ("--save-example", "the question", "--save-example", "refusal=unscored")
    ran = cli("-C", store, "probe", "rubric/tone@worktree", "--dataset", "dataset/mail@worktree", *saves)
    assert (ran.code, ran.err.count("saved an example that expects ")) == (0, 2)
    assert (store / "rubrics/tone.yaml").read_text() == RUBRIC + (
        "examples:\n"
        "  - output: please count to 3\n"
        "    question:\n"
        "      id: a\n"
        "      input: please count to 3\n"
        "      expected: thank you, 3\n"
        "    verdict: fail\n"
        '    note: "evalstore probe: the question"\n'
        "  - output: I'm sorry, but I can't help with that.\n"
        "    question:\n"
        "      id: a\n"
        "      input: please count to 3\n"
        "      expected: thank you, 3\n"
        "    verdict: unscored\n"
        '    note: "evalstore probe: refusal"\n'
    )
    found = json.loads(cli("-C", store, "validate", "rubrics", "--format", "json").out)["findings"]
    assert [one["pointer"] for one in found] == ["/examples/0/verdict", "/examples/1/verdict"]
    before = (store / "rubrics/tone.yaml").read_bytes()
    unknown = cli("-C", store, "probe", "rubric/tone@worktree", "--save-example", "empti")
    assert (unknown.code, "no text is called empti" in unknown.err, "one of: empty; refusal" in unknown.err) == (
        3,
        True,
        True,
    )
    assert (store / "rubrics/tone.yaml").read_bytes() == before
