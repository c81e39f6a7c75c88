"""`audit` of what cannot be graded again: pairs of recorded scores, from any files that carry them, without a store or a grading."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalstore.audits.conditions import RecordReport, decide_record_conditions, parse_condition
from evalstore.audits.records.comparison import RecordComparison, compare_records
from evalstore.errors import EvalstoreError, LoadError, RefusedError
from evalstore.places import find_resource_folder
from evalstore.report.records import text as text_of
from tests.audits.conftest import Desk, Sample
from tests.audits.test_acceptance import BAN, JUDGED

SCHEMA = json.loads((find_resource_folder("schema") / "output/audit_records.schema.json").read_text("utf-8"))
Score = str | float | None


def write_rows(path: Path, scores: Mapping[str, Score], sample: str = "0", **details: str) -> Path:
    """Write rows of Every Eval Ever without an aggregate; half a point or more passes."""
    rows = []
    for id_, score in scores.items():
        is_passed = score is not None and Fraction(score) >= Fraction(1, 2)
        rows.append(
            {
                "sample_id": id_,
                "input": {"raw": f"What is {id_}?", "reference": []},
                "output": {"raw": [f"{id_} is {score}"]},
                "evaluation": {"score": score if score is not None else -1, "is_correct": is_passed},
                "metadata": {"evalstore_sample": sample, **details},
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def compare_rows(folder: Path, a: Mapping[str, Score], b: Mapping[str, Score]) -> RecordComparison:
    return compare_records(write_rows(folder / "a.jsonl", a), write_rows(folder / "b.jsonl", b))


def test_records_with_other_ids_are_paired_by_input(tmp_path: Path) -> None:
    a = write_rows(tmp_path / "a.jsonl", {"p": 1.0, "q": 0.0, "r": 1.0})
    b = write_rows(tmp_path / "b.jsonl", {"p": 1.0, "q": 0.5, "s": 0.0})
    # In B the first two have moved down by one, and r's id is gone.
    text = b.read_text().replace('"sample_id": "q"', '"sample_id": "r"').replace('"sample_id": "p"', '"sample_id": "q"')
    b.write_text(text)
    found = compare_records(a, b)
    assert found.pairs_by_input.ids == {"p": "q", "q": "r"}
    assert (found.pairs, found.score.delta) == (2, Fraction(1, 4))
    assert (found.only_a, found.only_b) == (("r (in A)",), ("s",))
    assert "2 questions are paired by equal input, not by id (p of A is q of B)" in text_of(RecordReport(found))


def decide(found: RecordComparison, *conditions: str) -> list[str]:
    return [str(one.answer) for one in decide_record_conditions(found, [*map(parse_condition, conditions)])]


def test_the_numbers_are_those_of_a_hand_calculation(tmp_path: Path) -> None:
    a = {"p": 1.0, "q": 1.0, "r": 0.5, "s": 0.0, "t": 0.0, "u": 1.0, "v": 0.25, "w": 1.0}
    b = {"p": 0.0, "q": 0.25, "r": 0.5, "s": 0.75, "t": 0.0, "u": 0.25, "v": 0.25, "w": 1.0}
    found = compare_rows(tmp_path, a, b)
    moves = [Fraction(b[one]) - Fraction(a[one]) for one in a]  # -1 -3/4 0 3/4 0 -3/4 0 0
    assert found.pairs == 8
    assert (found.score.a, found.score.b) == (Fraction(19, 32), Fraction(12, 32))
    assert found.score.delta == sum(moves) / 8 == Fraction(-7, 32)
    # p, q and u fell, s rose: twice the chance of none (1/16) of four, and that of one (4/16).
    assert (found.flips.pass_to_fail, found.flips.fail_to_pass) == (("p", "q", "u"), ("s",))
    assert found.flips.mid_p == pytest.approx(2 / 16 + 4 / 16)
    assert found.passes.delta == Fraction(-2, 8)
    # Four observations are added: 1 and -1 by a half, 0 by one.
    mean = float(sum(moves)) / 10
    added = 0.5 * (1 - mean) ** 2 + 0.5 * (1 + mean) ** 2 + mean**2
    spread = math.fsum((float(one) - mean) ** 2 for one in moves)
    reach = 2.364624251592785 * math.sqrt((spread + added) / 9 / 10)  # of Student's t with 7 degrees of freedom
    assert found.score.estimate.mean is not None
    assert found.score.estimate.mean.interval == pytest.approx((mean - reach, mean + reach))


def test_what_is_in_no_pair_is_named_and_counts_in_no_mean(tmp_path: Path) -> None:
    a = {"p": 1.0, "q": 1.0, "r": 0.0, "s": 1.0}
    found = compare_rows(tmp_path, a, {"q": 1.0, "r": 1.0, "s": None, "t": 0.0})
    assert (found.pairs, found.only_a, found.only_b, found.unscored) == (2, ("p",), ("t",), ("s",))
    assert (found.score.a, found.score.b) == (Fraction(1, 2), Fraction(1))
    assert (found.a.score, found.b.score) == (Fraction(3, 4), Fraction(2, 3))
    # p and s are missing in B: as 0 they make (1/2 * 2 - 2) / 4.
    assert (found.missing_b, found.delta_as_zero) == (2, Fraction(-1, 4))


def test_a_model_cannot_pass_by_answering_nothing(tmp_path: Path) -> None:
    whole = {"p": 1.0, "q": 1.0, "r": 1.0}
    found = compare_rows(tmp_path, whole, {"p": 1.0})
    assert decide(found, "delta<-0.02", "flips>0", "delta<-90", "flips>2") == ["cannot tell"] * 2 + ["holds"] * 2
    assert decide(compare_rows(tmp_path, whole, whole), "delta<-0.02", "flips>0") == ["holds", "holds"]
    worse = {"p": 0.0, "q": 1.0, "r": 1.0}
    assert decide(compare_rows(tmp_path, whole, worse), "delta<-0.02", "flips>0") == ["fails", "fails"]


def test_samples_are_pairs_of_their_own_and_one_question(tmp_path: Path) -> None:
    texts = []
    for name, good in (("a", 1.0), ("b", 0.0)):
        parts = [write_rows(tmp_path / "part", {"p": good, "q": 1.0}, sample).read_text() for sample in "012"]
        texts.append(tmp_path / f"{name}.jsonl")
        texts[-1].write_text("".join(parts))
    found = compare_records(*texts)
    assert (found.pairs, found.score.delta, found.score.estimate.units) == (6, Fraction(-1, 2), 2)
    assert found.flips.pass_to_fail == ("p", "p (sample 2)", "p (sample 3)")
    assert found.flips.mid_p == 0.5  # of one question that fell, not of three
    assert found.score.estimate.mean is None  # of two groups nothing is said


def test_a_run_says_which_versions_and_which_model_differ(sample: Sample) -> None:
    found = compare_records(sample.a.path, sample.b.path)
    names = {one.name: (one.a.split()[0], one.b.split()[0]) for one in found.differences}
    assert names["model"] == ("model_a", "model_b")
    assert names["dataset/web_answers"] == ("1.0.0", "2.0.0")
    assert names["rubric/answer_style"] == ("1.0.0", "2.0.1")
    assert "rubric/safe_markup" not in names  # of one version in both
    assert found.contents["output"] > 0
    assert found.contents["input"] == 0
    same = compare_records(sample.a.path, sample.a.path)
    assert (same.differences, same.score.delta, set(same.contents.values())) == ((), 0, {0})
    assert str(same.score.estimate.conclusion) == "moved none"


def test_a_record_agrees_with_the_run_and_its_audit(sample: Sample, cli: Callable[..., Any]) -> None:
    found = compare_records(sample.a.path, sample.b.path)
    for side, run in ((found.a, sample.a), (found.b, sample.b)):
        assert (side.score, side.passes, side.scored) == (run.score, run.pass_rate, run.scored)
    whole = json.loads(cli("audit", sample.a.path, sample.b.path, "--format", "json", cwd=sample.root).out)
    assert found.pairs == whole["common"]
    assert float(found.score.a) == pytest.approx(whole["common_scores"]["a"])
    flips = whole["flips"]["questions"]
    assert {*flips["pass_to_fail"]} == {*found.flips.pass_to_fail}
    assert {*flips["fail_to_pass"]} == {*found.flips.fail_to_pass}


def test_judges_and_the_models_that_served_them_are_named(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.judge("2.0.0", "HARD")
    for version in ("1.0.0", "2.0.0"):
        check = {**JUDGED, "judge_prompt_ref": f"judge/acc@{version}"}
        desk.rubric(version, check, BAN)
        desk.dataset(version, 3)
    paths = []
    for version, served in (("1.0.0", "m-1"), ("2.0.0", "m-2")):
        desk.server.served = served
        paths.append(desk.score(version, ["good"] * 3, "m").path)
    found = compare_records(*paths)
    names = {one.name: one for one in found.differences}
    assert names["judge/acc"].a.startswith("1.0.0 (")
    assert names["judge/acc"].b.startswith("2.0.0 (")
    assert ("m-1" in names["engines"].a, "m-2" in names["engines"].b) == (True, True)
    assert "model" not in names
    assert found.contents == {"input": 0, "output": 0, "rubric": 3}


def test_an_edit_that_scores_alike_is_said_to(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN, name="r")
    desk.put(
        "rubric",
        {"id": "r", "version": "1.0.1", "title": "words", "checks": [BAN], "scoring": {"combine": "weighted_avg"}},
    )
    desk.dataset("1.0.0", 2)
    desk.dataset("2.0.0", 2, "1.0.1")
    a, b = desk.score("1.0.0", ["ok", "ok"], "a"), desk.score("2.0.0", ["ok", "ok"], "b")
    found = {one.name: one.same_scoring for one in compare_records(a.path, b.path).differences}
    assert found["rubric/r"]
    assert not found["model"]


def test_what_judges_could_not_grade_decides_nothing(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", 10)
    desk.server.text = lambda _: "no score"
    a, b = (desk.score("1.0.0", [text] * 10, text) for text in ("ok", "fine"))
    found = compare_records(a.path, b.path)
    (result,) = decide_record_conditions(found, [parse_condition("delta<-20")])
    assert (str(result.answer), found.ungraded) == ("cannot tell", 10)
    assert "run A has no score, because gradings failed" in " ".join(found.notes)


def test_gradings_of_skill_creator_are_records(tmp_path: Path) -> None:
    for name, passed in (("a", [True, False]), ("b", [True, True])):
        statements = [{"text": f"s{number}", "passed": one} for number, one in enumerate(passed)]
        run = {"eval_id": 1, "expectations": statements, "configuration": "with_skill"}
        (tmp_path / f"{name}.json").write_text(json.dumps({"runs": [run], "run_summary": {}}))
    found = compare_records(tmp_path / "a.json", tmp_path / "b.json")
    assert (found.pairs, found.score.a, found.score.b) == (1, Fraction(1, 2), 1)
    assert found.flips.fail_to_pass == ("1",)
    assert str(found.score.estimate.conclusion) == "not resolvable"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_text('{"id": "p", "output": "x"}\n'), "without scores that evalstore reads"),
        (lambda path: write_rows(path, {"p": None}), "has no scored output"),
        (lambda path: write_rows(path, {"other": 1.0}), "no scored question in common"),
        (lambda path: write_rows(path, {"p": 7.0}), "gives p the score 7"),
        (lambda path: path.write_text(write_rows(path, {"p": 1.0}).read_text() * 2), "contains the question p twice"),
        (lambda path: path.write_text(write_rows(path, {"p": 1.0}).read_text()[:-40]), "has no scored output"),
        (lambda path: write_rows(path, {"p": 1.0}, evalstore_score="1/0", evalstore_verdict="pass"), "has no scored output"),
        (lambda path: write_rows(path, {"p": 1.0}, evalstore_score="", evalstore_verdict="pass"), "has no scored output"),
        (lambda path: path.write_text(""), "b.jsonl"),
    ],
    ids=["ungraded", "unscored", "disjoint", "scale", "twice", "cut off", "no number", "contradiction", "empty"],
)  # fmt: skip
def test_a_record_that_cannot_be_paired_says_why(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    good, bad = write_rows(tmp_path / "a.jsonl", {"p": 1.0}), tmp_path / "b.jsonl"
    make(bad)
    with pytest.raises(EvalstoreError) as caught:
        compare_records(good, bad)
    assert isinstance(caught.value, LoadError | RefusedError)
    assert message in str(caught.value)


def test_an_aggregate_that_contradicts_its_rows_is_refused(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 2)
    a, b = (desk.score("1.0.0", ["ok", "foo"], name) for name in "ab")
    text = b.path.read_text().replace('"evalstore_score": "1/2"', '"evalstore_score": "1"')
    b.path.write_text(text.replace('"score": 0.5', '"score": 1.0'))
    with pytest.raises(RefusedError, match="its score says 1, its rows give 1/2"):
        compare_records(a.path, b.path)


def run_records(cli: Callable[..., Any], folder: Path, *argv: str) -> Any:
    return cli("audit", "a.jsonl", "b.jsonl", *argv, cwd=folder)


def test_the_command_needs_no_store(tmp_path: Path, cli: Callable[..., Any]) -> None:
    compare_rows(tmp_path, {"p": 1.0, "q": 1.0}, {"p": 0.0, "q": 1.0})
    shown = run_records(cli, tmp_path)
    assert (shown.code, shown.err) == (0, "")
    assert "The score fell by 50.00 points on 2 pairs of recorded answers." in shown.out
    assert "from pass to fail: p\n" in shown.out
    ran = run_records(cli, tmp_path, "--format", "json", "--fail-on", "delta<-0.02")
    document = json.loads(ran.out)
    Draft202012Validator(SCHEMA).validate(document)
    assert (ran.code, document["conditions"][0]["answer"], document["delta"]) == (1, "fails", -0.5)
    assert document["score"]["significant"] is False
    assert document["a"]["run"] == "a.jsonl"
    assert "| change | -50.00 | -50.00 |" in run_records(cli, tmp_path, "--format", "markdown").out


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--by", "tag"), "--by grades outputs"),
        (("--question", "p"), "--question grades outputs"),
        (("--ask",), "--ask grades outputs"),
        (("--allow-drift",), "--allow-drift grades outputs"),
        (("--fail-on", "own<-0.02"), "so it cannot say own"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_what_asks_for_gradings_is_a_wrong_command_line(
    tmp_path: Path, cli: Callable[..., Any], option: tuple[str, ...], message: str
) -> None:
    compare_rows(tmp_path, {"p": 1.0}, {"p": 0.0})
    ran = run_records(cli, tmp_path, *option)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_what_was_static_says_what_to_do_instead(cli: Callable[..., Any]) -> None:
    ran = cli("audit", "--static", "a.json", "b.json")
    assert (ran.code, ran.out) == (2, "")
    assert "evalstore audit RUN_A RUN_B compares two records" in ran.err


@pytest.mark.process
def test_a_run_of_parquet_is_read_as_well(desk: Desk, cli: Callable[..., Any]) -> None:
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 3)
    lines = desk.score("1.0.0", ["ok", "foo", "ok"], "a")
    ran = cli(
        "score", "dataset/d@1.0.0", desk.folder / "a.jsonl", "--rows", "parquet", "--model", "a",
        "--out", desk.folder / "tables", cwd=desk.repo.root,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = compare_records(lines.path, next((desk.folder / "tables").glob("*.json")))
    assert (found.pairs, found.score.delta, set(found.contents.values())) == (3, 0, {0})


def test_verdicts_that_all_turn_are_no_chance(tmp_path: Path) -> None:
    from evalstore.report.records import write_sentence

    ids = [f"q{number}" for number in range(20)]
    turned = compare_rows(tmp_path, dict.fromkeys(ids, 0.5), dict.fromkeys(ids, 0.4))
    assert write_sentence(turned).endswith("That is more than chance: 20 of 20 verdicts turned to fail.")
    fell = compare_rows(tmp_path, dict.fromkeys(ids, 0.9), dict.fromkeys(ids, 0.8))
    assert write_sentence(fell).endswith("That is more than chance: 20 of 20 fell.")
    few = compare_rows(tmp_path, dict.fromkeys(ids, 0.5), {**dict.fromkeys(ids, 0.5), "q0": 0.4})
    assert "That could be chance" in write_sentence(few)
