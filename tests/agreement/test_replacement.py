"""`evalstore judge replace`, as people run it: real git, a real endpoint with two models, and a run that one graded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.documents import read_yaml
from evalstore.places import find_resource_folder

Cli = Callable[..., Any]
JUDGE = """id: tone
version: 1.0.0
template: "How kind? {{ output }}"
model: {id: old-model, temperature: 0}
validation:
  tpr: 0.9
  tnr: 0.8
  noise_sd: 0.1
retires: 2027-01-14
"""
RUBRIC = """id: answer
version: 1.0.0
checks:
  - {id: kind, kind: llm_judge, judge_prompt_ref: judge/tone@1.0.0}
  - {id: brief, kind: format, format: text, max_chars: 40}
scoring: {combine: weighted_avg}
"""
# What each model says of an output by the word in it.
OLD = {"good": 1.0, "fine": 0.9, "poor": 0.8, "vile": 0.0}
NEW = {"good": 1.0, "fine": 0.4, "poor": 0.5, "vile": 0.0}
WORDS = ["good", "good", "good", "fine", "poor", "vile", "vile", "good"]


def say(scores: dict[str, float]) -> Callable[[str], str]:
    def reply(prompt: str) -> str:
        word = next(word for word in scores if word in prompt)
        return json.dumps({"rationale": f"so {word}", "score": scores[word]})

    return reply


@pytest.fixture
def store(git: Callable[..., str], tmp_path: Path, judge_server: Any) -> Path:
    git("init", "-q")
    repo = tmp_path / "repo"
    questions = "".join(f"  - {{id: q{number}, input: x}}\n" for number in range(len(WORDS)))
    dataset = f"id: small\nversion: 1.0.0\ndefaults: {{rubric_ref: rubric/answer@1.0.0}}\nquestions:\n{questions}"
    for path, text in (("judges/tone", JUDGE), ("rubrics/answer", RUBRIC), ("datasets/small", dataset)):
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / f"{path}.yaml").write_text(text)
    git("add", "-A")
    git("commit", "-qm", "Release")
    for name in ("judge/tone", "rubric/answer", "dataset/small"):
        git("tag", "-am", "Release", f"{name}@1.0.0")
    judge_server.texts = {"old-model": say(OLD), "new-model": say(NEW)}
    return repo


@pytest.fixture
def run(store: Path, cli: Cli, judge_server: Any) -> Path:
    path = store / "outputs.jsonl"
    rows = [{"id": f"q{number}", "output": f"{word} answer"} for number, word in enumerate(WORDS)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ran = cli("score", "dataset/small@1.0.0", path, "--format", "json", "--judge-url", judge_server.url, cwd=store)
    return Path(json.loads(ran.out)["run"])


@pytest.fixture
def labels(store: Path) -> Path:
    """Write forty rows that people labelled: what is good or fine passes."""
    path = store / "labels.jsonl"
    rows = [
        {"id": f"{word}{number}", "output": f"{word} {number}", "label": "pass" if word in {"good", "fine"} else "fail"}
        for number in range(10)
        for word in OLD
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def replace(cli: Cli, store: Path, url: str, *argv: object) -> Any:
    return cli("judge", "replace", "judge/tone", "--model", "new-model", *argv, "--judge-url", url, cwd=store)


def test_one_command_moves_a_judge(store: Path, run: Path, labels: Path, cli: Cli, judge_server: Any) -> None:
    judge_server.listing = {"data": [{"id": "new-model", "shutdown_date": "2128-03-01"}, {"id": "old-model"}]}
    asked = judge_server.calls
    planned = replace(cli, store, judge_server.url, "--run", run, "--labels", labels, "--dry-run", "--format", "json")
    # Forty rows for each model, and four different outputs of the run for the new one; those of the old one are kept.
    assert [(one["model"], one["calls"]) for one in json.loads(planned.out)["judges"]] == [
        ("old-model", 40),
        ("new-model", 44),
    ]
    assert (judge_server.calls, (store / "judges/tone.yaml").read_text()) == (asked, JUDGE)
    refused = replace(cli, store, judge_server.url, "--run", run, "--labels", labels, "--max-calls", "83")
    assert (refused.code, "84 judge calls are missing" in refused.err, judge_server.calls) == (3, True, asked)
    ran = replace(cli, store, judge_server.url, "--run", run, "--labels", "labels.jsonl")
    assert (ran.code, judge_server.calls) == (0, asked + 84)
    assert re.sub("(digest: )[0-9a-f]{64}|(_at: )[0-9-]{10}", r"\1\2…", ran.out) == TEXT
    assert ran.next_steps == "next: evalstore bump judge/tone --dependents\n"
    assert max(map(len, TEXT.splitlines())) <= 80
    found = cli("validate", "judges", "--format", "json", cwd=store).out
    assert [one["rule"] for one in json.loads(found)["findings"]] == []
    # Its content is what was measured, and nothing is asked again.
    assert read_yaml((store / "judges/tone.yaml").read_bytes(), "").value["validation"]["digest"] in ran.out
    assert cli("bump", "judge/tone", "--dependents", cwd=store).code == 0
    (pin,) = re.findall("judge/tone@[0-9.]+", (store / "rubrics/answer.yaml").read_text())
    assert (pin, judge_server.calls) == ("judge/tone@2.0.0", asked + 84)


TEXT = """\
judge/tone@worktree   model old-model -> new-model
8 outputs of runs/small-1.0.0-outputs.json judged by both

              new: pass  new: fail                         95 % interval
old: pass             4          2     agreement   75.0 %    40.9 to  92.9
old: fail             0          2     kappa        0.500      -0.181 to  0.857

verdicts that flip: 2 from pass to fail, 0 from fail to pass
  q3  kind  pass -> fail  90 -> 40  so fine
  q4  kind  pass -> fail  80 -> 50  so poor

points                  old    new   shift     95 % interval
mean judgement        71.25  61.25  -10.00  -36.16 to +20.16
judged to pass        75.00  50.00  -25.00  -60.19 to +20.19
score of the run      85.62  80.62   -5.00  -29.77 to +21.77
pass rate of the run  75.00  75.00    0.00  -36.94 to +36.94

as people labelled 40 rows of labels.jsonl:
points       TPR   95 % interval    TNR   95 % interval
old-model  100.0   83.9 to 100.0   50.0   29.9 to  70.1
new-model   50.0   29.9 to  70.1  100.0   83.9 to 100.0

pass rate without the errors of each model (Rogan-Gladen):
points     judged  corrected   95 % interval
old-model   75.00      50.00    0.0 to 100.0
new-model   50.00     100.00   23.5 to 100.0

written into judges/tone.yaml:
--- a/judges/tone.yaml
+++ b/judges/tone.yaml
@@ -3,7 +3,11 @@
 template: "How kind? {{ output }}"
-model: {id: old-model, temperature: 0}
+model: {id: new-model, temperature: 0}
 validation:
-  tpr: 0.9
-  tnr: 0.8
-  noise_sd: 0.1
-retires: 2027-01-14
+  tpr: 0.5
+  tnr: 1.0
+  validated_at: …
+  sample_size: 40
+  sample_good: 20
+  digest: …
+  model: new-model-served
+retires: 2128-03-01
This needs a major bump: the next version is 2.0.0
"""


def test_without_labels_the_old_rates_are_known_to_be_old(store: Path, run: Path, cli: Cli, judge_server: Any) -> None:
    """What the run recorded is the old model's, even where its replies are lost and the model is gone."""
    (store / ".git/evalstore/replies.db").unlink()
    judge_server.texts["old-model"] = lambda _: "gone"
    asked = judge_server.calls
    few = replace(cli, store, judge_server.url, "--run", run, "--sample", "3", "--no-write", "--format", "json")
    assert json.loads(few.out)["judged"] == 3
    ran = replace(cli, store, judge_server.url, "--run", run, "--format", "json")
    found = json.loads(ran.out)
    assert (found["judged"], found["counts"]["pass_fail"], judge_server.calls) == (8, 2, asked + 4)
    schema = json.loads((find_resource_folder("schema") / "output/judge_replace.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(found)
    assert (found["scores"]["shift"], found["run"]["score"]["shift"]) == (-0.1, -0.05)
    assert (found["required_bump"], found["next_version"], found["labelled"]) == ("major", "2.0.0", None)
    value = read_yaml((store / "judges/tone.yaml").read_bytes(), "").value
    assert (sorted(value["validation"]), "retires" in value) == (["digest", "tnr", "tpr"], False)
    assert [note.partition(" is ")[0] for note in found["notes"]] == [
        "new model: tokens of the judges' replies: 56 read, 24 written", "the file's `noise_sd`", "the file's `retires`"
    ]  # fmt: skip
    rules = [
        one["rule"] for one in json.loads(cli("validate", "judges", "--format", "json", cwd=store).out)["findings"]
    ]
    assert "judge-validation-stale" in rules


def test_rows_with_verdicts_are_the_old_models(store: Path, cli: Cli, labels: Path, judge_server: Any) -> None:
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    labels.write_text("".join(f"{json.dumps({**row, 'verdict': 'pass'})}\n" for row in rows))
    ran = replace(cli, store, judge_server.url, "--labels", labels, "--no-write", "--format", "json")
    found = json.loads(ran.out)
    assert {body["model"] for body in judge_server.bodies} == {"new-model"}
    assert (found["judged"], found["counts"]["pass_fail"], found["scores"], found["diff"]) == (40, 30, None, "")
    assert {one["label"] for one in found["flips"]} == {"pass", "fail"}
    assert (found["labelled"]["old"]["tpr"], found["labelled"]["old"]["tnr"]) == (1.0, 0.0)
    assert (store / "judges/tone.yaml").read_text() == JUDGE


def test_a_key_goes_to_its_own_endpoint_only(store: Path, run: Path, cli: Cli, judge_server: Any) -> None:
    argv = ("judge", "replace", "judge/tone", "--model", "new-model", "--run", run, "--endpoint", judge_server.url)
    env = {"EVALSTORE_JUDGE_URL": "http://127.0.0.1:9/v1", "EVALSTORE_JUDGE_KEY": "sk-of-the-old-one"}
    before = len(judge_server.headers)
    ran = cli(*argv, "--without", "temperature", cwd=store, **env)
    assert ran.code == 0, ran.err
    sent = judge_server.headers[before:]
    assert (len(sent), any("authorization" in headers for headers in sent)) == (4, False)
    assert all("temperature" not in body for body in judge_server.bodies[before:])
    assert "model: {id: new-model}" in (store / "judges/tone.yaml").read_text()


def test_a_call_that_fails_is_no_judgement(store: Path, run: Path, cli: Cli, judge_server: Any) -> None:
    judge_server.play("400", prompt="poor")
    ran = replace(cli, store, judge_server.url, "--run", run, "--no-write", "--format", "json")
    found = json.loads(ran.out)
    assert (found["judged"], found["unjudged"], "judge calls that failed: 1" in found["notes"][0]) == (7, 1, True)
    # History ends, too, although that call fails whenever it is made.
    (store / "judges/tone.yaml").write_text(JUDGE.replace("How kind", "Is it kind").replace("1.0.0", "2.0.0"))
    assert cli("bump", "judge/tone", cwd=store).code == 0
    ran = cli("history", "judge/tone", "--run", run, "--judge-url", judge_server.url, "--format", "json", cwd=store)
    assert json.loads(ran.out)["not_graded"] == [[0, 1]]


@pytest.mark.parametrize(
    ("change", "argv", "code", "words"),
    [
        ("", (), 2, "nothing to compare"),
        ("", ("--labels", "none.jsonl", "--model", "old-model"), 2, "asks old-model already"),
        ("", ("--labels", "none.jsonl", "--model", "new\u202e"), 2, "is not a name of a model"),
        ("", ("--labels", "none.jsonl", "--without", "top_p"), 2, "has no parameter 'top_p' to leave out"),
        ("", ("--run", "RUN", "--against", "dataset/small@1.0.0"), 2, "--against needs --labels"),
        ("", ("--run", "RUN", "--offline"), 3, "judge replies that are missing: 4"),
        ("pin", ("--run", "RUN"), 3, "only a working file can be written"),
        ("check", ("--run", "RUN"), 3, "names a model of its own"),
        ("other", ("--run", "RUN"), 3, "no check of this run asks judge/other"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_compared_is_refused(
    store: Path, run: Path, cli: Cli, judge_server: Any, *, change: str, argv: tuple[str, ...], code: int, words: str
) -> None:
    judge = {"pin": "judge/tone@1.0.0", "other": "judge/other"}.get(change, "judge/tone")
    if change == "other":
        (store / "judges/other.yaml").write_text(JUDGE.replace("tone", "other"))
    if change == "check":
        path = store / "rubrics/answer.yaml"
        path.write_text(RUBRIC.replace("1.0.0}", "1.0.0, model: {id: own}}").replace("version: 1", "version: 2"))
        cli("bump", "--all", cwd=store)
        own = ("score", "dataset/small@1.0.0", "outputs.jsonl", "--rubric", "rubric/answer@2.0.0", "--format", "json")
        run = json.loads(cli(*own, "--judge-url", judge_server.url, cwd=store).out)["run"]
    words_of_line = [str(run) if word == "RUN" else word for word in argv]
    asked = judge_server.calls
    given = ("judge", "replace", judge, "--model", "new-model", *words_of_line)
    ran = cli(*given, "--judge-url", judge_server.url, cwd=store)
    assert (ran.code, words in ran.err, judge_server.calls) == (code, True, asked), ran.err
    assert (store / "judges/tone.yaml").read_text() == JUDGE


def test_a_score_is_corrected_by_the_validation_of_its_judge(
    store: Path, run: Path, labels: Path, cli: Cli, judge_server: Any
) -> None:
    argv = ("score", "dataset/small@1.0.0", run, "--worktree=all", "--corrected", "--judge-url", judge_server.url)
    asked = judge_server.calls
    refused = cli(*argv, cwd=store)
    assert (refused.code, judge_server.calls) == (3, asked)
    assert "no score can be corrected: the validation of judge/tone@1.0.0 is not of its content today" in refused.err
    measured = ("judge", "validate", "judge/tone", "--labels", labels, "--judge-url", judge_server.url)
    assert cli(*measured, cwd=store).code == 0
    ran = cli(*argv, "--format", "json", cwd=store)
    found = json.loads(ran.out)
    schema = json.loads((find_resource_folder("schema") / "output/score.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(found)
    (one,) = found["corrected"]
    # Twenty good and twenty bad rows, of which it passes ten: (.75 + .5 - 1) / (1 + .5 - 1).
    assert (one["check"], one["tpr"], one["tnr"]) == ("kind", [20, 20], [10, 20])
    assert (one["pass_rate"], one["corrected"], one["problem"]) == (0.75, 0.5, None)
    assert one["interval"][0] <= 0.5 <= one["interval"][1]
    text = cli(*argv, cwd=store).out
    assert "judge/tone@1.0.0, TPR 20 of 20, TNR 10 of 20" in text
    assert re.search(r"kind +75\.00 +50\.00 ", text)
    # Another model answers: what was measured is not its.
    judge_server.served = "somebody-else"
    other = json.loads(cli(*argv, "--fresh", "--format", "json", cwd=store).out)["corrected"][0]
    assert (other["corrected"], "somebody-else answered" in other["problem"]) == (None, True)
    # Another threshold makes other verdicts than those that were measured.
    path = store / "rubrics/answer.yaml"
    path.write_text(RUBRIC.replace("@1.0.0}", "@1.0.0, threshold: 0.5}"))
    refused = cli(*argv, cwd=store)
    assert (refused.code, "it passes from 50 on, and the judge was measured at 70" in refused.err) == (3, True)


def test_status_and_validate_warn_before_a_model_is_switched_off(
    store: Path, cli: Cli, labels: Path, judge_server: Any
) -> None:
    path, today = store / "judges/tone.yaml", datetime.now(UTC).date()
    for days, warns in ((30, True), (-2, True), (200, False)):
        path.write_text(JUDGE.replace("2027-01-14", str(today + timedelta(days=days))))
        rules = [one["rule"] for one in json.loads(cli("status", "--format", "json", cwd=store).out)["findings"]]
        assert rules == ["judge-model-retires"] * warns
        assert ("judge-model-retires" in cli("validate", "judges", cwd=store).out) is warns
    path.write_text(JUDGE)
    judge_server.listing = {"data": [{"id": "other", "shutdown_date": "1"}, 7, {"id": "old-model", "shutdown_date": 0}]}
    # The endpoint knows better than the file: seconds since 1970 are a day, too.
    ran = cli("judge", "validate", "judge/tone", "--labels", labels, "--judge-url", judge_server.url, cwd=store)
    assert (ran.code, "\nretires: 1970-01-01\n" in path.read_text()) == (0, True)


def test_an_audit_across_the_move_names_the_models(store: Path, run: Path, cli: Cli, judge_server: Any) -> None:
    assert replace(cli, store, judge_server.url, "--run", run).code == 0
    assert cli("bump", "judge/tone", "--dependents", cwd=store).code == 0
    argv = ("score", "dataset/small", "outputs.jsonl", "--out", "runs/after", "--format", "json")
    after = json.loads(cli(*argv, "--judge-url", judge_server.url, cwd=store).out)["run"]
    found = json.loads(cli("audit", run, after, "--format", "json", cwd=store).out)
    (cause,) = [one for factor in found["factors"] if factor["name"] == "judge" for one in factor["causes"]]
    assert (cause["message"], cause["share"]) == ("judge: model old-model → new-model", -0.05)
    assert (cause["author"], cause["released_in"]) == ("Ada Tester", "2.0.0")
    assert "judge: model old-model → new-model" in cli("audit", run, after, cwd=store).out
