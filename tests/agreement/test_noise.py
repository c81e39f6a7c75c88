"""How far a judge disagrees with itself, through the real command, real git and a real endpoint."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import cycle
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.agreement import RepeatedJudgement
from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
JUDGE = (
    'id: tone\nversion: 1.0.0\ntemplate: "How kind? {{ output }}"\nmodel: {id: m}\nvalidation: {tpr: 0.9, tnr: 0.8}\n'
)
RUBRIC = """id: answer
version: 1.0.0
checks:
  - {id: kind, kind: llm_judge, judge_prompt_ref: judge/tone@1.0.0, threshold: 0.5}
  - {id: brief, kind: format, format: text, max_chars: 40}
scoring: {combine: weighted_avg}
"""
DATASET = """id: small
version: 1.0.0
defaults: {rubric_ref: rubric/answer@1.0.0}
questions: [{id: one, input: a}, {id: two, input: b}, {id: three, input: c}]
"""
SAYS = {"steady": ["0.4"], "torn": ["0.4", "0.8"], "mute": ["0.4", "nothing"]}


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path) -> Path:
    git("init", "-q")
    repo = tmp_path / "repo"
    for path, text in (("judges/tone", JUDGE), ("rubrics/answer", RUBRIC), ("datasets/small", DATASET)):
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / f"{path}.yaml").write_text(text)
    git("add", "-A")
    git("commit", "-qm", "Release")
    for name in ("judge/tone", "rubric/answer", "dataset/small"):
        git("tag", "-am", "Release", f"{name}@1.0.0")
    return repo


@pytest.fixture
def run(store: Path, cli: Cli, judge_server: Any, tmp_path: Path) -> Callable[..., Path]:
    """Score outputs by a judge who says of each what `SAYS` has, in turn; return the run."""
    turns: dict[str, Iterator[str]] = defaultdict()
    for word, said in SAYS.items():
        turns[word] = cycle(said)
    judge_server.text = lambda prompt: (
        json.dumps({"score": float(found)})
        if (found := next(next(turn) for word, turn in turns.items() if word in prompt)) != "nothing"
        else "nothing"
    )

    def score(**outputs: str) -> Path:
        path = tmp_path / "outputs.jsonl"
        path.write_text("".join(json.dumps({"id": id_, "output": text}) + "\n" for id_, text in outputs.items()))
        ran = cli(
            *("score", "dataset/small@1.0.0", path, "--format", "json", "--judge-url", judge_server.url), cwd=store
        )
        return Path(json.loads(ran.out)["run"])

    return score


def measure(cli: Cli, store: Path, *argv: object) -> Any:
    return cli("judge", "noise", "judge/tone", *argv, "--judge-jobs", "1", cwd=store)


def test_the_numbers_are_those_of_repeated_judgements(
    store: Path, run: Callable[..., Path], cli: Cli, judge_server: Any
) -> None:
    path = run(one="steady", two="torn")
    asked = judge_server.calls
    ran = measure(cli, store, "--run", path, "--repeat", "4", "--judge-url", judge_server.url, "--format", "json")
    document = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output/judge_noise.schema.json").read_text("utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(document)) == []
    assert judge_server.calls == asked + 2 * 3  # the first judgement of each is the run's own
    # .4 .8 .4 .8 has a variance of 4/75, the other output none; of its 6 pairs 4 differ in their verdict.
    assert document["sd"] == pytest.approx(sqrt(4 / 75 / 2))
    assert document["flip_rate_exact"] == "1/3"
    assert (document["outputs"], document["unjudged"], document["engines"]) == (2, 0, ["m-served"])
    assert [one["id"] for one in document["judgements"]] == ["two", "one"]
    assert document["written"] == "judges/tone.yaml"


def test_the_file_gets_it_beside_its_validation_and_keeps_every_other_byte(
    store: Path, run: Callable[..., Path], cli: Cli, judge_server: Any
) -> None:
    path = run(one="torn")
    ran = measure(cli, store, "--run", path, "--repeat", "2", "--judge-url", judge_server.url)
    assert ran.code == 0
    text = (store / "judges/tone.yaml").read_text()
    assert text.startswith(JUDGE.rstrip("}\n"))
    assert "noise_sd: 0.2828, noise_flip_rate: 1, noise_measured_at: 20" in text
    assert "standard deviation   28.3 " in ran.out
    assert max(len(line) for line in ran.out.splitlines() if not line.startswith(("-", "+"))) <= 100
    assert cli("validate", "judges/tone.yaml", cwd=store).code == 0
    # Measured again, nothing is asked: all judgements are kept.
    asked = judge_server.calls
    measure(cli, store, "--run", path, "--repeat", "2", "--judge-url", judge_server.url)
    assert judge_server.calls == asked


def test_a_dry_run_prices_it_and_a_sample_bounds_it(
    store: Path, run: Callable[..., Path], cli: Cli, judge_server: Any
) -> None:
    path = run(one="steady", two="torn", three="steady too")
    ran = measure(cli, store, "--run", path, "--repeat", "3", "--sample", "2", "--dry-run", "--format", "json")
    assert json.loads(ran.out)["calls"] == 4
    assert (store / "judges/tone.yaml").read_text() == JUDGE
    ran = measure(cli, store, "--run", path, "--offline")
    assert (ran.code, "no judge was asked" in ran.err) == (3, True)


def test_a_judgement_without_a_score_is_in_no_number(
    store: Path, run: Callable[..., Path], cli: Cli, judge_server: Any
) -> None:
    path = run(one="mute", two="steady")
    ran = measure(cli, store, "--run", path, "--repeat", "2", "--no-write", "--judge-url", judge_server.url)
    assert "left out, because a judgement or its score is missing: 1 output" in ran.out
    assert (store / "judges/tone.yaml").read_text() == JUDGE


def test_a_run_that_never_asked_the_judge_is_refused(
    store: Path, run: Callable[..., Path], cli: Cli, judge_server: Any
) -> None:
    path = run(one="steady")
    (store / "judges/other.yaml").write_text(JUDGE.replace("tone", "other"))
    ran = cli("judge", "noise", "judge/other", "--run", path, "--judge-url", judge_server.url, cwd=store)
    assert (ran.code, "no check of this run asks judge/other" in ran.err) == (3, True)


def test_variance_and_flips_of_one_output() -> None:
    one = RepeatedJudgement("q", "c", (Fraction(0), Fraction(1), Fraction(1)), Fraction(1, 2))
    assert (one.variance, one.flip_rate) == (Fraction(1, 3), Fraction(2, 3))
