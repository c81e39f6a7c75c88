"""`diff --ask`: old and new words of a judge about the same stored outputs, with real git and a real endpoint."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
JUDGE = """id: tone
version: 1.0.0
template: "Kind: {{ statement }} {{ context }} {{ output }}"
variables: [statement]
model: {id: m}
"""
RUBRIC = """id: answer
version: 1.0.0
checks:
  - id: kind
    kind: llm_judge
    judge_prompt_ref: judge/tone@1.0.0
    each:
      - it greets the reader at the start
      - it thanks the reader at the end
    threshold: 0.75
scoring: {combine: weighted_avg}
"""
IDS = [f"q{number:02}" for number in range(12)]
DATASET = (
    "id: small\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/answer@1.0.0}\nquestions:\n"
    + "".join(f"  - {{id: {id_}, input: a, context: c}}\n" for id_ in IDS)
)  # fmt: skip
STRICT = {"q01", "q04", "q07"}  # fail in new words
TORN = {"q04", "q09"}  # another verdict, asked again in the same words


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path) -> Path:
    git("init", "-q")
    repo = tmp_path / "repo"
    for path, text in (("judges/tone", JUDGE), ("rubrics/answer", RUBRIC), ("datasets/small", DATASET)):
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / f"{path}.yaml").write_text(text)
    return repo


@pytest.fixture
def run(store: Path, cli: Cli, judge_server: Any, tmp_path: Path) -> Path:
    """Release the store, and score twelve outputs that its judge passes."""
    asked: Counter[str] = Counter()

    def answer(prompt: str) -> str:
        asked[prompt] += 1
        id_ = prompt[-3:]
        is_new = "Very kind" in prompt or "in one word" in prompt
        fails = (is_new and id_ in STRICT) or (not is_new and asked[prompt] > 1 and id_ in TORN)
        return json.dumps({"score": 0 if fails else 1, "rationale": f"I read {id_}"})

    judge_server.text = answer
    assert cli("bump", "--all", cwd=store).code == 0
    path = tmp_path / "outputs.jsonl"
    path.write_text("".join(json.dumps({"id": id_, "output": f"answer {id_}"}) + "\n" for id_ in IDS))
    ran = cli("score", "dataset/small@1.0.0", path, "--format", "json", "--judge-url", judge_server.url, cwd=store)
    return Path(json.loads(ran.out)["run"])


def edit(store: Path, path: str, old: str, new: str) -> None:
    text = (store / path).read_text()
    assert old in text
    (store / path).write_text(text.replace(old, new))


def read(ran: Any, schema: str) -> Any:
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    value = json.loads((find_resource_folder("schema") / f"output/{schema}.schema.json").read_text("utf-8"))
    assert list(Draft202012Validator(value).iter_errors(document)) == []
    return document


@pytest.mark.heavy
def test_flips_are_counted_beside_those_of_the_judge_itself(
    store: Path, run: Path, cli: Cli, git: Callable[..., str], judge_server: Any
) -> None:
    edit(store, "judges/tone.yaml", "Kind:", "Very kind:")
    before = judge_server.calls
    argv = ("diff", "judge/tone", "--run", run, "--judge-url", judge_server.url)
    plan = read(cli(*argv, "--ask", "9", "--dry-run", "--format", "json", cwd=store), "plan")
    # Two statements of nine outputs, in the new words and once more in the old, whose first replies the run kept.
    assert (plan["calls"], plan["kept"], judge_server.calls) == (9 * 2 * 2, 9 * 2, before)
    assert "asked" not in read(cli("diff", "judge/tone", "--format", "json", cwd=store), "diff")
    asked = read(cli(*argv, "--ask", "30", "--format", "json", cwd=store), "diff")["asked"]
    assert judge_server.calls == before + 12 * 2 * 2
    counts = {key: asked[key] for key in ("verdicts", "to_fail", "to_pass", "own", "unjudged", "bound", "beyond_noise")}
    assert counts == {
        "verdicts": 12,
        "to_fail": 3,
        "to_pass": 0,
        "own": 2,
        "unjudged": 0,
        "bound": None,
        "beyond_noise": False,
    }
    assert asked["mean_shift"] == -0.25
    assert {flip["id"] for flip in asked["flips"]} == STRICT
    assert "I read q" in asked["flips"][0]["reason"]
    said = cli(*argv, "--ask", "12", cwd=store).out
    assert judge_server.calls == before + 12 * 2 * 2  # every reply is kept
    words = "3 of 12 verdicts flip (3 to fail, 0 to pass), 2 of 12 flip by themselves"
    assert words in " ".join(said.split())
    assert "own noise" in " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 100
    # It is known from then on: in the comment of a pull request, in status, and in what is released.
    assert "3 of 12 verdicts flip" in cli("diff", "judge/tone", "--format", "markdown", cwd=store).out
    assert words in read(cli("status", "--format", "json", cwd=store), "status")["artifacts"][0]["asked"]
    assert "3 of 12 verdicts flip" in cli("status", "--format", "markdown", cwd=store).out
    assert cli("bump", "judge/tone", cwd=store).code == 0
    assert f"\nEvalstore-Asked: {words}; m-served" in git("cat-file", "tag", "judge/tone@2.0.0")
    newest, first = read(cli("log", "judge/tone", "--format", "json", cwd=store), "log")["releases"]
    assert (newest["asked"], "asked" in first) == (f"{words}; m-served", False)
    assert "judges asked: 3 of 12" in cli("log", "judge/tone", cwd=store).out


@pytest.mark.heavy
def test_only_a_statement_that_was_edited_is_asked_about(store: Path, run: Path, cli: Cli, judge_server: Any) -> None:
    edit(store, "rubrics/answer.yaml", "greets the reader at the start", "greets the reader first")
    before = judge_server.calls
    argv = ("diff", "rubric/answer", "--run", run, "--judge-url", judge_server.url)
    asked = read(cli(*argv, "--ask", "6", "--format", "json", cwd=store), "diff")["asked"]
    assert judge_server.calls == before + 6 * 2
    assert (asked["verdicts"], asked["to_fail"], asked["bound"]) == (6, 0, 0.5)
    said = " ".join(cli("diff", "rubric/answer", cwd=store).out.split())
    assert "none of 6 verdicts flips, at most 50 % of such do (95 % confidence)" in said
    # Of another edit nobody was asked.
    edit(store, "rubrics/answer.yaml", "reader first", "reader in one word")
    assert "verdicts flip" not in cli("diff", "rubric/answer", cwd=store).out


@pytest.mark.heavy
def test_what_cannot_be_asked_is_said(store: Path, run: Path, cli: Cli, judge_server: Any) -> None:
    edit(store, "judges/tone.yaml", "Kind:", "Very kind:")
    argv = ("diff", "judge/tone", "--ask", "5")
    for more, code, words in (
        ((), 2, "--ask takes its outputs from one run"),
        (("--run", run, "--run", run), 2, "from one run"),
        (("--run", run), 3, "judge replies that are missing: 20, and no judge was asked"),
        (("--run", run, "--dry-run", "--format", "sarif"), 2, "--dry-run prints text or JSON"),
        (("--run", run, "--max-calls", "3", "--judge-url", judge_server.url), 3, "more than --max-calls 3"),
    ):
        ran = cli(*argv, *more, cwd=store)
        assert (ran.code, words in ran.err) == (code, True), ran.err
    assert cli("diff", "--ask", "5", cwd=store).code == 2
    assert cli("diff", "judge/tone", "--dry-run", cwd=store).code == 2
    # A threshold is no word: nothing else is asked.
    edit(store, "judges/tone.yaml", "Very kind:", "Kind:")
    edit(store, "rubrics/answer.yaml", "threshold: 0.75", "threshold: 0.5")
    ran = cli("diff", "rubric/answer", "--ask", "5", "--run", run, cwd=store)
    assert (ran.code, "the change alters no prompt about an output of this run" in ran.err) == (3, True)


def test_the_command_that_asks_names_the_artifact_and_the_newest_run(store: Path, run: Path, cli: Cli) -> None:
    edit(store, "rubrics/answer.yaml", "thanks the reader", "warmly thanks the reader")
    said = " ".join(cli("diff", "rubric/answer", cwd=store).out.split())
    name = run if run.is_absolute() else store / run
    command = f"evalstore diff rubric/answer --ask 30 --run {name.relative_to(store)}"
    assert command in said
    # So it is where all of the store is compared; without a run that has the artifact, one has to be named.
    assert command in " ".join(cli("diff", cwd=store).out.split())
    name.unlink()
    said = " ".join(cli("diff", "rubric/answer", cwd=store).out.split())
    assert "evalstore diff rubric/answer --ask 30 --run RUN" in said


def test_what_only_replies_show_is_offered_and_can_be_asked(
    store: Path, run: Path, cli: Cli, judge_server: Any
) -> None:
    (store / "judges/calm.yaml").write_text(JUDGE.replace("id: tone", "id: calm").replace("Kind", "Calm"))
    assert cli("bump", "judge/calm", cwd=store).code == 0
    edit(store, "datasets/small.yaml", "{id: q01, input: a, context: c}", "{id: q01, input: a, context: d}")
    edit(store, "rubrics/answer.yaml", "judge/tone@1.0.0", "judge/calm@1.0.0")
    for ref, verdicts in (("dataset/small", 1), ("rubric/answer", len(IDS))):
        said, calls = " ".join(cli("diff", ref, cwd=store).out.split()), judge_server.calls
        (offer,) = re.findall(f"the judge's replies: evalstore (diff {ref} .*--run {re.escape(str(run))})", said)
        ran = cli(*shlex.split(offer), "--judge-url", judge_server.url, "--format", "json", cwd=store)
        assert (read(ran, "diff")["asked"]["verdicts"], judge_server.calls > calls) == (verdicts, True)
    # An output for another input answers neither.
    edit(store, "datasets/small.yaml", "{id: q01, input: a,", "{id: q01, input: b,")
    assert "replies" not in cli("diff", "dataset/small", "--verbose", cwd=store).out


def test_a_judge_that_asks_twice_is_asked_by_its_new_second_words(
    store: Path, request: pytest.FixtureRequest, cli: Cli, judge_server: Any
) -> None:
    first = 'first: {template: "How? {{ statement }}", fills: how}\ntemplate: "Kind {{ how }}:'
    edit(store, "judges/tone.yaml", 'template: "Kind:', first)
    run = request.getfixturevalue("run")
    assert judge_server.calls == 2 + 12 * 2
    edit(store, "judges/tone.yaml", "Kind {{", "Very kind {{")
    argv = ("diff", "judge/tone", "--run", run, "--judge-url", judge_server.url, "--ask", "30", "--format", "json")
    asked = read(cli(*argv, cwd=store), "diff")["asked"]
    assert (asked["verdicts"], asked["to_fail"], asked["unjudged"]) == (12, 3, 0)
    # In the new words with the plans that are kept, and once more in the old words with new plans.
    assert judge_server.calls == (2 + 12 * 2) + 12 * 2 + (2 + 12 * 2)
