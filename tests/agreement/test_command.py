"""`evalstore judge validate`, as people run it: real git, real files, and a real endpoint on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.documents import read_yaml
from evalstore.places import find_resource_folder
from evalstore.store import ArtifactStore
from tests.audits.test_page import require_inert

ARGV = ("judge", "validate", "judge/accuracy", "--labels", "labels.jsonl")
AGAINST = ("--against", "dataset/gold_answers@1.0.0")
CRITERION = ("--var", "criterion=Is it right?")
JUDGED = (*ARGV, *AGAINST, *CRITERION)
SCORES = {"alt_text": 5, "hide_field": 0, "update_core": 4, "flexbox_gap": 5, "sql_in_module": 1, "jquery": 4}


def env(server: Any) -> dict[str, str]:
    return {"EVALSTORE_JUDGE_URL": server.url, "EVALSTORE_JUDGE_MODEL": "small"}


def says(scores: dict[str, Any]) -> Callable[[str], str]:
    """Return a model that knows what to answer by the answer's name; a text is said as it is."""

    def reply(prompt: str) -> str:
        score = scores[re.findall(r"Answer to gold_(\w+)\.", prompt)[0]]
        return score if isinstance(score, str) else json.dumps({"rationale": "because", "score": score})

    return reply


def validation(store: Path, judge: str = "accuracy") -> dict[str, Any]:
    return read_yaml((store / f"judges/{judge}.yaml").read_bytes(), judge).value["validation"]


def measured_before(text: str) -> str:
    """Return a judge's file as a measurement of other content left it."""
    return text.replace("  sample_size: 6\n", f"  sample_size: 6\n  sample_good: 3\n  digest: {'ab' * 32}\n")


def scoring_digest(store: Path, judge: str = "accuracy") -> str:
    with ArtifactStore.open(store) as opened:
        return opened.resolve(f"judge/{judge}@worktree").scoring_digest


# --- verdicts that are read ---


@pytest.mark.heavy
def test_read_verdicts_are_counted_and_only_the_block_changes(
    store: Path, labelled: Callable, cli: Callable, git: Callable
) -> None:
    path = store / "judges/accuracy.yaml"
    older = path.read_text("utf-8").replace("tpr: 1.0", "tpr: 0.5  # of March")
    path.write_text(measured_before(older), "utf-8")
    git("commit", "-qam", "an older validation")
    before = path.read_text("utf-8").split("\n")
    (path.parent / ".accuracy.yaml.7.tmp").write_text("a killed process left it", "utf-8")
    labelled()
    ran = cli(*ARGV, *AGAINST, cwd=store)
    assert (ran.code, ran.err, ran.next_steps) == (0, "", "next: evalstore bump judge/accuracy\n")
    assert not list(path.parent.glob(".*"))
    assert re.sub(r"20[0-9]{2}-[0-9-]{5}", "<day>", ran.out) == TEXT.format(old="ab" * 32, new=scoring_digest(store))
    written = validation(store)
    assert list(written) == ["tpr", "tnr", "validated_against", "validated_at", "sample_size", "sample_good", "digest"]
    assert {**written, "validated_at": ""} == {
        "tpr": 1,
        "tnr": read_yaml("0.67", "").value,
        "validated_against": "dataset/gold_answers@1.0.0",
        "validated_at": "",
        "sample_size": 6,
        "sample_good": 3,
        "digest": scoring_digest(store),
    }
    after = path.read_text("utf-8").split("\n")
    changed = [number for number, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    assert [after[number].split(":")[0].strip() for number in changed] == ["tpr", "validated_at", "digest"]
    assert git("diff", "--stat").endswith("1 file changed, 3 insertions(+), 3 deletions(-)")
    again = cli(*ARGV, *AGAINST, cwd=store)
    assert again.out.endswith("\njudges/accuracy.yaml already says so\n")
    assert path.read_text("utf-8").split("\n") == after


TEXT = """\
judge/accuracy@worktree   6 rows of labels.jsonl, of dataset/gold_answers@1.0.0
verdicts: 6 read from the labels, 0 given

              judge: pass  judge: fail                     95 % interval
label: pass             3            0     TPR  100.0 %    43.9 to 100.0
label: fail             1            2     TNR   66.7 %    20.8 to  93.9

agreement   83.3 %    43.6 to  97.0   5 of 6 rows
baseline    50.0 %   always saying pass; the judge beats it by 33.3 points, could be chance (6 rows)
kappa        0.667   substantial agreement beyond chance

judge and label differ on 1 row:
  line 6  gold_jquery  label fail  judge pass  so say the labels

written into judges/accuracy.yaml:
--- a/judges/accuracy.yaml
+++ b/judges/accuracy.yaml
@@ -29,9 +29,9 @@
 validation:
-  tpr: 0.5  # of March
+  tpr: 1.0  # of March
   tnr: 0.67
   validated_against: dataset/gold_answers@1.0.0
-  validated_at: <day>
+  validated_at: <day>
   sample_size: 6
   sample_good: 3
-  digest: {old}
+  digest: {new}
 applicable_to: [drupal, web]
"""


def test_the_page_draws_judge_against_people(store: Path, labelled: Callable, cli: Callable) -> None:
    labelled()
    ran = cli(*ARGV, *AGAINST, "--no-write", "--format", "html", cwd=store)
    assert (ran.code, ran.err) == (0, "")
    read = require_inert(ran.out)
    assert "The judge agrees with people on 5 of 6 rows, 83.3 %." in read.words
    assert (
        "Always saying pass agrees on 50.0 %; the judge beats it by 33.3 points, could be chance (6 rows)."
        in read.words
    )
    assert ">6 rows of " in ran.out
    # Two columns as wide as the labels are frequent; of three failed by people the judge passes one.
    boxes = re.findall(
        r'<rect x="([0-9.]+)%" y="([0-9.]+)" width="([0-9.]+)%" height="([0-9.]+)" class="(\w+)"', ran.out
    )
    assert [(box[2], box[3], box[4]) for box in boxes] == [
        ("49.5", "240.0", "same"), ("49.5", "80.0", "apart"), ("49.5", "160.0", "same")
    ]  # fmt: skip
    assert 'aria-label="people pass, judge pass: 3; people fail, judge pass: 1; people fail, judge fail: 2"' in ran.out
    assert [row[:3] for row in read.rows if row and row[0] == "6"] == [["6", "gold_jquery", "fail"]]
    assert ran.out.count('class="whisker"') == 4 * 3
    ran = cli(*ARGV, *AGAINST, "--dry-run", "--format", "html", cwd=store)
    assert (ran.code, "--dry-run cannot be a page" in ran.err) == (2, True)


@pytest.mark.heavy
def test_a_refreshed_validation_is_a_patch(store: Path, labelled: Callable, cli: Callable) -> None:
    labelled()
    assert cli(*ARGV, *AGAINST, cwd=store).code == 0
    found = json.loads(cli("diff", "judge/accuracy", "--format", "json", cwd=store).out)
    assert (found["required_bump"], [one["rule"] for one in found["findings"]]) == (
        "patch",
        ["judge-validation-changed"],
    )
    # Of what it says of the judges, six rows are all that is left to mend.
    assert set(re.findall(r"judge-\S+", cli("validate", "judges", cwd=store).out)) == {"judge-sample-small"}


@pytest.mark.heavy
def test_a_judge_without_a_validation_gets_one(store: Path, labelled: Callable, cli: Callable, git: Callable) -> None:
    path = store / "judges/tone.yaml"
    head, _, tail = path.read_text("utf-8").partition("validation:")
    path.write_text(head + tail[tail.index("applicable_to") :], "utf-8")
    git("commit", "-qam", "nobody knows")
    before = path.read_text("utf-8")
    assert "judge-unvalidated" in cli("validate", "judges", cwd=store).out
    labelled()
    assert cli("judge", "validate", "judge/tone", "--labels", "labels.jsonl", cwd=store).code == 0
    block = path.read_text("utf-8").removeprefix(before)
    assert re.fullmatch(
        r"validation:\n  tpr: 1\.0\n  tnr: 0\.67\n  validated_at: 20[0-9-]{8}\n  sample_size: 6\n  sample_good: 3\n  digest: [0-9a-f]{64}\n",
        block,
    )
    assert "judge-unvalidated" not in cli("validate", "judges", cwd=store).out


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.removesuffix("\n"),
        lambda text: "\ufeff" + text,
        lambda text: re.sub(
            r"validation:\n(?:  .*\n)+", "validation: {tpr: 0.5, tnr: 0.5, note: 'it''s me',}  # six rows\n", text
        ),
    ],
    ids=["CRLF", "no last line break", "byte order mark", "flow"],
)
def test_a_file_stays_in_its_layout(
    store: Path, labelled: Callable, cli: Callable, change: Callable[[str], str]
) -> None:
    path = store / "judges/accuracy.yaml"
    path.write_bytes(change(measured_before(path.read_text("utf-8"))).encode())
    before = path.read_bytes()
    labelled()
    ran = cli(*ARGV, *AGAINST, cwd=store)
    assert ran.code == 0, ran.err
    after = path.read_bytes()
    old, new = before.split(b"\n"), after.split(b"\n")
    assert len(old) == len(new)
    differing = [(one, other) for one, other in zip(old, new, strict=True) if one != other]
    assert all(re.match(rb"validation: \{|  (validated_at|digest): ", one) for one, _ in differing)
    assert [one.endswith(b"\r") for one in old] == [one.endswith(b"\r") for one in new]
    assert b"note" not in before or b"note: 'it''s me', validated_against:" in after


def test_what_no_edit_can_hold_is_said_with_the_numbers(store: Path, labelled: Callable, cli: Callable) -> None:
    path = store / "judges/accuracy.yaml"
    text = re.sub(r"validation:\n(?:  .*\n)+", "x_old: &v {tpr: 0.5}\nvalidation: *v\n", path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    labelled()
    ran = cli(*ARGV, cwd=store)
    assert ran.code == 3
    assert "judges/accuracy.yaml:" in ran.err
    assert "write by hand: validation: {tpr: 1.0, tnr: 0.67, validated_at: 20" in ran.err
    assert path.read_text("utf-8") == text


def test_a_rate_of_no_row_is_said_and_not_written(
    store: Path, labelled: Callable, cli: Callable, rows: Callable
) -> None:
    labelled([row for row in rows(verdicts=True) if row["label"] == "fail"])
    ran = cli(*ARGV, cwd=store)
    assert ran.code == 0
    assert "TPR  undefined without such rows" in ran.out
    assert ran.err.splitlines() == [
        "warning: TPR is undefined: no judged row is labelled pass",
        "warning: the file's `tpr` is from an earlier validation, and is removed",
        "warning: the file's `validated_against` is from an earlier validation, and is removed",
    ]
    assert sorted(validation(store)) == ["digest", "sample_good", "sample_size", "tnr", "validated_at"]


def test_the_document_is_complete_and_fits_its_schema(store: Path, labelled: Callable, cli: Callable) -> None:
    labelled()
    found = json.loads(cli(*ARGV, *AGAINST, "--format", "json", cwd=store).out)
    schema = json.loads((find_resource_folder("schema") / "output/judge_validate.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(found)
    assert found["counts"] == {"true_pass": 3, "false_fail": 0, "false_pass": 1, "true_fail": 2}
    assert (found["tpr"], found["tnr_exact"], found["kappa_exact"]) == (1.0, "2/3", "2/3")
    assert (found["baseline"], found["beats_baseline"]) == ({"answer": "pass", "accuracy": 0.5}, True)
    assert found["tnr_interval"] == pytest.approx([0.2077, 0.9385], abs=1e-4)
    assert [(row["id"], row["line"]) for row in found["disagreements"]] == [("gold_jquery", 6)]
    assert (found["against"]["ref"], found["against"]["tag"]) == ("dataset/gold_answers@1.0.0",) * 2
    assert found["validation"]["sample_size"] == found["read"] == found["rows"] == 6
    assert found["written"] == "judges/accuracy.yaml"


def test_check_answers_whether_the_judge_is_better_than_none(
    store: Path, labelled: Callable, cli: Callable, rows: Callable
) -> None:
    labelled()
    # Right on two rows more than a constant answer is: chance does as much.
    assert cli(*ARGV, "--no-write", "--check", cwd=store).code == 1
    many = [{**row, "id": f"{row['id']}_{copy}"} for row in rows(verdicts=True) for copy in range(4)]
    labelled(many)
    ran = cli(*ARGV, "--no-write", "--check", cwd=store)
    assert "the judge beats it by 33.3 points, significant" in ran.out
    assert ran.code == 0
    # A judge that fails on what is hard for it is not measured by the rest.
    labelled([*many, {**many[0], "id": "lost", "verdict": "unscored"}])
    ran = cli(*ARGV, "--no-write", "--check", cwd=store)
    assert "not judged, and not counted elsewhere, too many for --check: 1 row" in ran.out
    assert ran.code == 1
    labelled([{**row, "verdict": "pass"} for row in rows(verdicts=True)])
    assert cli(*ARGV, "--no-write", cwd=store).code == 0
    ran = cli(*ARGV, "--no-write", "--check", cwd=store)
    assert ran.code == 1
    assert "always saying pass; the judge does not beat it" in ran.out
    assert "kappa        0.000   no agreement beyond chance" in ran.out


def test_an_unscored_verdict_is_left_out(store: Path, labelled: Callable, cli: Callable, rows: Callable) -> None:
    first, *others = rows(verdicts=True)
    labelled([{**first, "verdict": "unscored"}, *others])
    ran = cli(*ARGV, cwd=store)
    assert "not judged, and not counted elsewhere, too many for --check: 1 row:\n  line 1  gold_alt_text" in ran.out
    assert validation(store)["sample_size"] == 5


# --- verdicts that are asked for ---


@pytest.mark.heavy
def test_a_judge_is_asked_once_for_each_row_and_never_again(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable
) -> None:
    judge_server.text = says(SCORES)
    labelled(rows(verdicts=False))
    ran = cli(*JUDGED, cwd=store, **env(judge_server))
    assert ran.code == 0, ran.err
    assert "verdicts: 0 read from the labels, 6 given by small-served, 70 or more is a pass" in ran.out
    assert "judge pass 80" in ran.out
    assert judge_server.calls == 6
    prompt = next(prompt for prompt in judge_server.asked if "gold_flexbox_gap" in prompt)
    assert "Which property puts space between flex items?" in prompt  # from the dataset
    assert "The team would have said:\n\ngap\n" in prompt
    assert "Judge one thing only: Is it right?" in prompt
    assert (str(validation(store)["tnr"]), validation(store)["sample_size"]) == ("0.67", 6)
    again = cli(*JUDGED, "--offline", "--no-write", cwd=store)
    assert judge_server.calls == 6
    assert again.code == 3  # the model is part of the question, and this run names none
    again = cli(*JUDGED, "--offline", "--no-write", "--judge-model", "small", cwd=store)
    assert (again.code, judge_server.calls) == (0, 6)


@pytest.mark.heavy
def test_the_threshold_is_where_a_pass_begins(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable
) -> None:
    judge_server.text = says(SCORES)
    labelled(rows(verdicts=False))
    strict = cli(*JUDGED, "--threshold", "0.9", "--format", "json", cwd=store, **env(judge_server))
    assert json.loads(strict.out)["counts"] == {"true_pass": 2, "false_fail": 1, "false_pass": 0, "true_fail": 3}
    lax = cli(*JUDGED, "--threshold", "0.8", "--format", "json", cwd=store, **env(judge_server))
    assert json.loads(lax.out)["counts"] == {"true_pass": 3, "false_fail": 0, "false_pass": 1, "true_fail": 2}
    assert judge_server.calls == 6
    for odd in ("150", "-0.1", "nan", "high"):
        assert cli(*JUDGED, "--threshold", odd, cwd=store).code == 2


@pytest.mark.heavy
def test_rows_with_a_verdict_are_not_asked_again(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable
) -> None:
    judge_server.text = says({"alt_text": 0, "hide_field": 0})
    labelled([*rows(verdicts=False)[:2], *rows(verdicts=True)[2:]])
    found = json.loads(cli(*JUDGED, "--format", "json", cwd=store, **env(judge_server)).out)
    assert (judge_server.calls, found["read"], found["judged"]) == (2, 4, 6)
    assert found["disagreements"][0]["reason"] == "judge/accuracy@1.0.0 0: because"
    assert found["engines"] == ["small-served"]


@pytest.mark.heavy
def test_rows_bring_their_own_question_and_variables(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any
) -> None:
    judge_server.text = lambda prompt: json.dumps({"score": 5 if "kind" in prompt else 0})
    labelled(
        [
            {"id": "a", "output": "x", "label": "pass", "input": "One?", "variables": {"criterion": "Is it kind?"}},
            {"id": "b", "output": "y", "label": "fail", "input": "Two?", "expected": ["z"]},
        ]
    )
    ran = cli(*ARGV, *CRITERION, cwd=store, **env(judge_server))
    assert ran.code == 0, ran.err
    assert "agreement  100.0 %    34.2 to 100.0   2 of 2 rows" in ran.out
    assert any('said:\n\n["z"]\n' in prompt for prompt in judge_server.asked)
    assert "validated_against" not in validation(store)


@pytest.mark.heavy
def test_levels_are_scores_too(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable
) -> None:
    judge_server.text = lambda prompt: json.dumps({"level": "dismissive" if "jquery" in prompt else "neutral"})
    labelled(rows(verdicts=False))
    argv = ("judge", "validate", "judge/tone", "--labels", "labels.jsonl", *AGAINST, "--threshold", "0.5")
    found = json.loads(cli(*argv, "--format", "json", cwd=store, **env(judge_server)).out)
    assert found["counts"] == {"true_pass": 3, "false_fail": 0, "false_pass": 2, "true_fail": 1}


@pytest.mark.heavy
def test_what_cannot_be_judged_is_counted_and_left_out(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable
) -> None:
    judge_server.text = says({**SCORES, "alt_text": "I would rather not say.", "flexbox_gap": '{"score": 7}'})
    judge_server.play("400", prompt="gold_jquery")
    labelled(rows(verdicts=False))
    ran = cli(*JUDGED, cwd=store, **env(judge_server))
    assert ran.code == 0
    assert "not judged, and not counted elsewhere, too many for --check: 3 rows:" in ran.out
    assert "line 1  gold_alt_text" in ran.out
    assert "warning: judge calls that failed: 1" in ran.err
    assert (str(validation(store)["tpr"]), str(validation(store)["tnr"])) == ("1.0", "1.0")
    assert validation(store)["sample_size"] == 3


@pytest.mark.heavy
def test_a_reply_that_brings_its_own_score_is_none(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable
) -> None:
    judge_server.play("inject")
    labelled(rows(verdicts=False))
    before = (store / "judges/accuracy.yaml").read_bytes()
    ran = cli(*JUDGED, cwd=store, **env(judge_server))
    assert ran.code == 3
    assert "labels.jsonl:1: none of 6 rows could be judged; the first: judge/" in ran.err
    assert (store / "judges/accuracy.yaml").read_bytes() == before


# --- nothing is asked or written beyond what the options say ---


@pytest.mark.heavy
def test_a_dry_run_asks_nobody_and_writes_nothing(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable, git: Callable
) -> None:
    judge_server.text = says(SCORES)
    labelled(rows(verdicts=False))
    ran = cli(*JUDGED, "--dry-run", "--format", "json", cwd=store, **env(judge_server))
    plan = json.loads(ran.out)
    Draft202012Validator(
        json.loads((find_resource_folder("schema") / "output/plan.schema.json").read_text("utf-8"))
    ).validate(plan)
    assert (ran.code, plan["calls"], plan["judges"][0]["model"], judge_server.calls) == (0, 6, "small", 0)
    refused = cli(*JUDGED, "--max-calls", "5", cwd=store, **env(judge_server))
    assert (refused.code, judge_server.calls) == (3, 0)
    assert cli(*JUDGED, "--no-write", cwd=store, **env(judge_server)).code == 0
    ran = cli(*JUDGED, "--dry-run", cwd=store, **env(judge_server))
    assert "would be written:\n--- a/judges/accuracy.yaml" in ran.out
    assert git("status", "--porcelain") == "?? labels.jsonl"
    assert judge_server.calls == 6


def test_without_an_endpoint_nothing_is_guessed(
    store: Path, labelled: Callable, cli: Callable, rows: Callable, git: Callable
) -> None:
    labelled([*rows(verdicts=True)[:3], *rows(verdicts=False)[3:]])
    ran = cli(*JUDGED, "--judge-model", "small", cwd=store)
    assert ran.code == 3
    assert "judge replies that are missing: 3, and no judge was asked" in ran.err
    assert "EVALSTORE_JUDGE_URL" in ran.err
    assert git("status", "--porcelain") == "?? labels.jsonl"


@pytest.mark.heavy
def test_a_file_that_changes_meanwhile_is_left_alone(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable
) -> None:
    path, reply = store / "judges/accuracy.yaml", says(SCORES)

    def meddle(prompt: str) -> str:
        path.write_text(path.read_text("utf-8") + "# somebody was here\n", "utf-8")
        return reply(prompt)

    judge_server.text = meddle
    labelled(rows(verdicts=False))
    ran = cli(*JUDGED, "--judge-jobs", "1", cwd=store, **env(judge_server))
    assert ran.code == 3
    assert "judges/accuracy.yaml: the file changed while the judge was asked; nothing was written" in ran.err
    assert path.read_text("utf-8").count("# somebody was here\n") == 6
    judge_server.text = reply
    assert cli(*JUDGED, cwd=store, **env(judge_server)).code == 0
    assert judge_server.calls == 6


@pytest.mark.heavy
def test_a_release_is_measured_and_never_written(
    store: Path, labelled: Callable, cli: Callable, git: Callable, tmp_path: Path
) -> None:
    labelled()
    pinned = ("judge", "validate", "judge/accuracy@1.0.0", "--labels", "labels.jsonl")
    for dry in ([], ["--dry-run"]):
        ran = cli(*pinned, *dry, cwd=store)
        assert ran.code == 3
        assert "judge/accuracy@1.0.0 stays as it is: only a working file can be written" in ran.err
        assert "name judge/accuracy to write into its file, or add --no-write" in ran.err
    ran = cli(*pinned, "--no-write", "--format", "json", cwd=store)
    found = json.loads(ran.out)
    assert (ran.code, found["judge"]["tag"], found["validation"], found["written"]) == (
        0,
        "judge/accuracy@1.0.0",
        {},
        None,
    )
    git("clone", "-q", "--bare", str(store), str(tmp_path / "bare.git"))
    bare = ("-C", tmp_path / "bare.git", *pinned[:-1], store / "labels.jsonl")
    assert cli(*bare, "--no-write").code == 0
    ran = cli("-C", tmp_path / "bare.git", *ARGV[:-1], store / "labels.jsonl")
    assert ran.code == 3
    assert "a bare repository has no working tree" in ran.err


@pytest.mark.heavy
def test_the_dataset_is_written_by_its_exact_name(store: Path, labelled: Callable, cli: Callable) -> None:
    labelled()
    ran = cli(*ARGV, "--against", "dataset/gold_answers@worktree", cwd=store)
    assert ran.code == 3
    assert "dataset/gold_answers@worktree is a file that can change, so a judge's file cannot" in ran.err
    assert cli(*ARGV, "--against", "dataset/gold_answers@worktree", "--no-write", cwd=store).code == 0
    ran = cli(*ARGV, "--against", "dataset/gold_answers@^1", cwd=store)
    assert "warning: dataset/gold_answers@^1 floats: today it is dataset/gold_answers@1.0.0" in ran.err
    assert validation(store)["validated_against"] == "dataset/gold_answers@1.0.0"
    ran = cli(*ARGV, "--against", "dataset/gold_answers@git:main", cwd=store)
    assert (ran.code, "@git:main is not a release, so a judge's file cannot name it" in ran.err) == (3, True)
    assert cli(*ARGV, "--against", "dataset/gold_answers@git:main", "--no-write", cwd=store).code == 0
    # Of what it says of the judges, six rows are all that is left to mend.
    assert set(re.findall(r"judge-\S+", cli("validate", "judges", cwd=store).out)) == {"judge-sample-small"}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"id": "gold_nobody"}, "there is no question 'gold_nobody' in dataset/gold_answers@1.0.0"),
        ({"input": "Which one?"}, "the `input` of this row differs from the one in dataset/gold_answers@1.0.0"),
        ({"context": "at night"}, "the `context` of this row differs from the one in dataset/gold_answers@1.0.0"),
        ({"variables": {"criteria": "x"}}, "judge/accuracy@worktree has no variable `criteria`"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_before_anybody_is_asked(
    store: Path, labelled: Callable, cli: Callable, judge_server: Any, rows: Callable, row: dict[str, Any], words: str
) -> None:
    first, second, *_ = rows(verdicts=False)
    labelled([first, {**second, **row}])
    ran = cli(*JUDGED, cwd=store, **env(judge_server))
    assert (ran.code, judge_server.calls) == (3, 0)
    assert f"error: labels.jsonl:2: {words}\n" in ran.err


def test_a_row_may_repeat_what_its_dataset_says(store: Path, labelled: Callable, cli: Callable, rows: Callable) -> None:
    labelled([{**rows(verdicts=True)[3], "expected": "gap"}])
    ran = cli(*ARGV, *AGAINST, "--no-write", cwd=store)
    assert ran.code == 0
    assert "warning: questions of dataset/gold_answers@1.0.0 without a label: 5 of 6" in ran.err


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        ([*ARGV, *AGAINST], 3, "labels.jsonl:1: nothing fills {{ criterion }} of judge/accuracy@worktree"),
        ([*ARGV, *CRITERION], 3, "labels.jsonl:1: judge/accuracy@worktree needs the input, but this row has none"),
        ([*ARGV, *AGAINST, "--var", "criterium=x"], 2, "did you mean criterion?"),
        ([*ARGV, "--var", "criterion"], 2, "write NAME=TEXT"),
        ([*JUDGED, *CRITERION], 2, "give each name once"),
        (["judge", "validate", "rubric/x", "--labels", "labels.jsonl"], 3, "rubric/x is a rubric, not a judge"),
        ([*ARGV, "--against", "judge/tone@1.0.0"], 3, "judge/tone@1.0.0 is a judge, not a dataset"),
        (["judge", "validate", "judge/acuracy", "--labels", "labels.jsonl"], 3, "did you mean judge/accuracy?"),
        (["judge", "validate", "judge/accuracy", "--labels", "none.jsonl"], 3, "none.jsonl: cannot be read"),
        (["judge", "validate", "judge/accuracy"], 2, "--labels"),
        (["judge"], 2, "validate"),
        (["judge", "valdate"], 2, "evalstore judge --help"),
    ],
)
def test_a_command_that_cannot_be_says_why(
    store: Path, labelled: Callable, cli: Callable, rows: Callable, argv: list[str], code: int, words: str
) -> None:
    labelled(rows(verdicts=False))
    ran = cli(*argv, cwd=store, EVALSTORE_JUDGE_MODEL="small")
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err


def test_a_link_in_a_file_s_place_is_neither_read_nor_written(
    store: Path, labelled: Callable, cli: Callable, tmp_path: Path
) -> None:
    path, elsewhere = store / "judges/accuracy.yaml", tmp_path / "elsewhere.yaml"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    labelled()
    assert cli(*ARGV, cwd=store).code == 3
    assert elsewhere.read_bytes() == before
    assert path.is_symlink()


def test_no_text_of_a_stranger_acts_on_the_terminal(store: Path, labelled: Callable, cli: Callable) -> None:
    labelled([{"id": "a\x1b[2J\u202e", "output": "x", "label": "pass", "verdict": "fail"}])
    ran = cli(*ARGV, "--no-write", cwd=store)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "\\x1b[2J\\u202e" in ran.out


# --- what a validation is of ---


def test_the_digest_and_the_model_that_were_measured_are_written(
    store: Path, labelled: Callable, cli: Callable, rows: Callable, judge_server: Any
) -> None:
    labelled(rows(verdicts=False))
    judge_server.text = says(SCORES)
    assert cli(*JUDGED, cwd=store, **env(judge_server)).code == 0
    written = validation(store)
    assert (written["digest"], written["model"]) == (scoring_digest(store), "small-served")


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("Judge one thing only", "Judge this one thing", True),
        ("  temperature: 0\n", "  temperature: 0\n  id: another-model\n", True),
        ("title: Is the answer right?", "title: Right?", False),
        ("applicable_to: [drupal, web]", "applicable_to: [drupal]", False),
    ],
)
def test_a_judge_that_is_edited_after_its_validation_is_stale(  # the fixtures, and what is edited
    store: Path, labelled: Callable, cli: Callable, old: str, new: str, *, stale: bool
) -> None:
    labelled()
    assert cli(*ARGV, *AGAINST, cwd=store).code == 0
    assert "judge-validation-stale" not in cli("validate", "judges", cwd=store).out
    path = store / "judges/accuracy.yaml"
    assert old in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    ran = cli("validate", "judges", "--strict", cwd=store)
    assert (ran.code, "judge-validation-stale" in ran.out) == (1, stale)


def test_outputs_of_one_question_count_each_and_it_is_said(store: Path, labelled: Callable, cli: Callable) -> None:
    row = {"id": "gold_jquery", "label": "fail", "verdict": "fail"}
    texts = [{**row, "output": text} for text in ("x", "y")]
    labelled([*texts, {**row, "sample": 1}, {**row, "id": "gold_alt_text", "label": "pass", "verdict": "pass"}])
    ran = cli(*ARGV, *AGAINST, "--no-write", cwd=store)
    assert ran.code == 0
    assert ran.out.startswith("judge/accuracy@worktree   4 rows of labels.jsonl")
    assert "questions of dataset/gold_answers@1.0.0 without a label: 4 of 6" in ran.err
    assert "4 rows are of 2 questions: the intervals take them for as many questions" in ran.err
