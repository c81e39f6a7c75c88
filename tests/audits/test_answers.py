"""What an audit answers: the strongest claim that holds, of the mean, the verdicts, or the typical question."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count
from math import comb
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.conditions import Answer, decide_conditions, parse_condition
from evalstore.audits.wording.answer import write_answer
from evalstore.errors import UsageError
from evalstore.report import render
from evalstore.report.text_layout import Screen
from tests.audits.conftest import Desk, factor

# Ten words, each banned by a check of its own: a score falls by a tenth a word.
WORDS = tuple("abcdefghij")
CHECKS = [{"id": word, "kind": "must_not_contain", "values": [f"<{word}>"]} for word in WORDS]
Moves = Sequence[int]


def say(falls: int) -> str:
    """Return an output that loses so many tenths."""
    return "x" + "".join(f"<{word}>" for word in WORDS[:falls])


@pytest.fixture
def compare(desk: Desk) -> Callable[..., Audit]:
    """Audit two runs of one rubric, by the tenths that each question loses in A and in B."""
    made = count(1)

    def run(old: Moves, new: Moves, threshold: float = 0.0) -> Audit:
        version = f"{next(made)}.0.0"
        desk.rubric(version, *CHECKS, threshold=threshold)
        desk.dataset(version, [{"id": f"q{i:03}", "input": f"ask {i}"} for i in range(len(old))])
        runs = []
        for model, moves in (("m-a", old), ("m-b", new)):
            texts = {f"q{i:03}": f"{say(falls)} {model}" for i, falls in enumerate(moves)}
            runs.append(desk.score(version, texts, model))
        return desk.audit(*runs)

    return run


def answer(found: Audit) -> str:
    return write_answer(found).removeprefix("Is the model better? ").removeprefix("Are the outputs better? ")


def decide(found: Audit, *conditions: str) -> list[str]:
    return [str(one.answer) for one in decide_conditions(found, [*map(parse_condition, conditions)])]


def test_verdicts_that_all_turn_are_worse_outputs(compare: Callable[..., Audit]) -> None:
    """20 of 20 fall by a tenth, and every verdict turns: the mean alone cannot tell."""
    found = compare([0] * 20, [1] * 20, threshold=0.95)
    assert answer(found) == "No, worse: 20 of 20 verdicts turned to fail."
    assert "the outputs lost 10.00 (20 of 20 verdicts turned to fail)" in found.sentence
    text = render(found, "text")
    assert "chance" not in text
    assert "cannot tell" not in text
    assert "20 of 20 to fail, -18.92 to +0.73" in text
    assert factor(found, "outputs").claim.startswith("not resolvable (MDE ")  # of the mean
    assert decide(found, "own<-2", "own.passes<-5", "own.typical<0") == ["cannot tell", "fails", "fails"]


def test_passes_that_fall_are_seen_beside_a_mean_that_hardly_moves(compare: Callable[..., Audit]) -> None:
    found = compare([0] * 20, [1] * 15 + [0] * 5, threshold=0.95)
    assert answer(found) == "No, worse: 15 of 20 verdicts turned to fail."
    better = compare([1] * 15 + [0] * 5, [0] * 18 + [1] * 2, threshold=0.95)
    assert answer(better) == "Yes: 15 of 20 verdicts turned to pass and 2 to fail."
    assert decide(better, "own.passes<-5") == ["holds"]


def test_the_typical_question_is_said_to_be_the_typical_question(compare: Callable[..., Audit]) -> None:
    found = compare([0] * 20, [1] * 20)
    assert answer(found) == (
        "No, worse on typical questions: 20 of 20 fell; a mean of others could lie between -19 and +1."
    )
    assert "the outputs lost 10.00 (20 of 20 fell)" in found.sentence
    assert "sign test p below 0.001" in " ".join(render(found, "text", screen=Screen(whole=True)).split())
    some = compare([0] * 17 + [1] * 3, [1] * 17 + [0] * 3)
    assert answer(some).startswith("No, worse on typical questions: 17 of 20 fell and 3 rose; a mean of others")
    few = compare([0] * 30, [2] * 6 + [0] * 24)
    assert answer(few).startswith("No, worse on typical questions: 6 of 30 fell and none rose; a mean of others")
    better = compare([1] * 20, [0] * 20)
    assert answer(better).startswith("Yes, on typical questions: 20 of 20 rose; a mean of others")


def test_five_that_fall_are_chance(compare: Callable[..., Audit]) -> None:
    found = compare([0] * 20, [1] * 5 + [0] * 15, threshold=0.95)
    assert answer(found).startswith("20 questions cannot tell")
    assert "cannot tell from chance" in found.sentence
    assert decide(found, "own.typical<0", "own.typical<-0.02") == ["holds", "holds"]


def test_a_mean_is_the_strongest(compare: Callable[..., Audit]) -> None:
    found = compare([0] * 20, [8] * 20, threshold=0.95)
    assert re.fullmatch(r"No, worse: its outputs lost 80\.00 points \(95 %: -\S+ to -\S+\)\.", answer(found))


def test_a_mean_and_verdicts_that_go_two_ways_are_mixed(compare: Callable[..., Audit]) -> None:
    """All that was good falls a little, over the threshold; all that was bad rises by far, and stays below it."""
    found = compare([0] * 12 + [9] * 18, [1] * 12 + [2] * 18, threshold=0.95)
    assert answer(found).startswith("Mixed: its outputs gained 38.00 points (95 %: ")
    assert answer(found).endswith("), but 12 of 30 verdicts turned to fail.")
    assert found.sentence == (
        "The score rose by 38.00 points: the outputs gave 38.00, although 12 of 30 verdicts turned to fail."
    )


def test_samples_that_fail_once_more_turn_no_verdict(desk: Desk) -> None:
    desk.rubric("1.0.0", *CHECKS, threshold=0.95)
    desk.dataset("1.0.0", 8)
    runs = [
        desk.score_lines("1.0.0", [
            {"id": f"q{i}", "sample": k, "output": f"{say(k < bad)} {name}"} for i in range(8) for k in range(5)
        ], name) for name, bad in (("a", 0), ("b", 1))
    ]  # fmt: skip
    found = desk.audit(*runs)
    assert answer(found).startswith("No, worse on typical questions: 8 of 8 fell;")
    assert decide(found, "flips>0", "own.passes<-5", "own.typical<0") == ["holds", "cannot tell", "fails"]


def test_groups_are_what_is_counted(desk: Desk) -> None:
    desk.rubric("1.0.0", *CHECKS)
    desk.dataset("1.0.0", [{"id": f"q{i:02}", "input": f"ask {i}", "group": f"g{i // 5}"} for i in range(30)])
    runs = [desk.score("1.0.0", {f"q{i:02}": say(falls) for i in range(30)}, f"m{falls}") for falls in (0, 1)]
    assert answer(desk.audit(*runs)).startswith("No, worse on typical questions: 6 of 6 groups fell;")


def test_groups_that_are_not_declared_are_a_note(desk: Desk) -> None:
    desk.rubric("1.0.0", *CHECKS)
    names = ("parcel", "voucher", "licence", "refund")
    asked = {
        f"{name}-{i}": f"Dear team, my {name} is late; its {name} number is {i}." for name in names for i in range(3)
    }
    rows = [{"id": id_, "input": text} for id_, text in asked.items()]
    grouped = [{**row, "group": row["id"][:-2]} for row in rows]
    for version, questions, notes in (("1.0.0", rows, 1), ("2.0.0", grouped, 0)):
        desk.dataset(version, questions, "1.0.0")
        runs = [desk.score(version, dict.fromkeys(asked, say(falls)), f"m{falls}") for falls in (0, 1)]
        assert sum("`group:`" in note for note in desk.audit(*runs).notes) == notes


def test_nothing_moved_is_no_proof_of_nothing(desk: Desk, cli: Callable[..., Any]) -> None:
    desk.rubric("1.0.0", CHECKS[0])
    desk.dataset("1.0.0", 200)
    runs = [desk.score("1.0.0", [f"x {name}"] * 200, name) for name in "ab"]
    found = desk.audit(*runs)
    low, high = factor(found, "outputs").ci or (0.0, 0.0)
    assert (round(low * 100, 2), round(high * 100, 2)) == (-1.83, 1.83)
    assert decide(found, "own<-1", "own<-2", "own.typical<0") == ["cannot tell", "holds", "holds"]
    assert answer(found) == "Its outputs differ, but no score does."
    ran = cli("audit", *(run.path for run in runs), "--fail-on", "own<-1", cwd=desk.repo.root)
    assert (ran.code, "own<-1: cannot tell" in ran.out) == (1, True)


def test_few_questions_of_which_none_moved_hold_nothing(compare: Callable[..., Audit]) -> None:
    found = compare([0] * 5, [0] * 5)
    assert decide(found, "own<-2", "own.passes<-5", "own.typical<0") == ["cannot tell"] * 3


def test_a_gate_of_a_channel_counts_answers_that_are_missing(desk: Desk) -> None:
    desk.rubric("1.0.0", *CHECKS, threshold=0.95)
    desk.dataset("1.0.0", 20)
    texts = {f"q{i}": "x" for i in range(20)}
    a = desk.score("1.0.0", texts)
    crashed = desk.score("1.0.0", {id_: f"{text} b" for id_, text in texts.items() if id_ > "q15"}, "b")
    found = desk.audit(a, crashed)
    assert len(found.lines.silent_b) == 8
    assert decide(found, "own.passes<-5", "own.typical<0") == ["fails", "fails"]
    assert found.own_as_zero.passes == Fraction(-8, 20)
    assert found.own.passes == 0


def test_a_bound_of_one_or_more_is_in_points() -> None:
    for words, text in (("own<-2", "own<-2"), ("own<-0.02", "own<-2"), ("delta<=-1", "delta<=-1"), ("own<-50", "own<-50"),
                        ("own<-0.005", "own<-0.005"), ("flips>4", "flips>4"), ("own.typical<0", "own.typical<0")):  # fmt: skip
        assert str(parse_condition(words)) == text
        assert parse_condition(text) == parse_condition(words)


def test_a_bound_that_may_be_points_or_a_fraction_is_refused() -> None:
    for words in ("own<-0.5", "delta<0.1", "own.passes<-0.99"):
        with pytest.raises(UsageError, match=r"may mean 0\.\d+ or \d+ points of 100") as refused:
            parse_condition(words)
        for part in str(refused.value.hint).split(" write ")[1:]:
            assert str(parse_condition(part.partition(",")[0])) == part.partition(",")[0]


def test_json_has_every_channel(desk: Desk, cli: Callable[..., Any], compare: Callable[..., Audit]) -> None:
    compare([0] * 20, [1] * 20, threshold=0.95)
    runs = [Path(desk.folder / f"runs-{name}") for name in ("m-a", "m-b")]
    paths = [next(one for one in run.glob("*.json")) for run in runs]
    ran = cli("audit", *paths, "--format", "json", cwd=desk.repo.root)
    document = json.loads(ran.out)
    outputs = next(one for one in document["factors"] if one["name"] == "outputs")
    assert outputs["typical"] == {"falls": 20, "rises": 0, "units": 20, "p": pytest.approx(2**-19), "direction": -1}
    assert outputs["verdicts"] == outputs["typical"]
    own = document["own"]
    assert (own["passes"], own["typical"], own["ci_typical"]) == (-1, -0.1, [-0.1, -0.1])
    assert own["ci_passes"][0] == -1
    assert own["ci_passes"][1] < -0.5
    rubric = next(one for one in document["factors"] if one["name"] == "rubric")
    assert (rubric["typical"], rubric["verdicts"]) == (None, None)


def test_what_is_estimated_has_no_signs_to_count(desk: Desk) -> None:
    from tests.audits.test_estimates import drift_by_prompt, open_judged, score_pair

    found = desk.audit(*score_pair(open_judged(desk, 12), "s0", 12, 6, drift_by_prompt))
    assert factor(found, "outputs").typical is None
    assert decide(found, "own.typical<0", "own.passes<-5") == [Answer.UNDECIDED] * 2


def brute_sign_p(falls: int, rises: int) -> float:
    """Return how often so many throws of a coin are as uneven, counted one by one."""
    size, far = falls + rises, abs(falls - rises)
    return sum(comb(size, ups) for ups in range(size + 1) if abs(2 * ups - size) >= far) / 2**size


def test_random_worlds_are_answered_by_their_strongest_claim(compare: Callable[..., Audit]) -> None:
    """What is claimed is worked out from the worlds alone; chance is said only where nothing is."""
    seen = Counter[str]()
    for seed in range(10):
        chance = random.Random(seed)  # noqa: S311  # no secret
        size, lean = chance.choice([12, 25, 40]), chance.choice([0, 0, 1, 2])
        old = [chance.choice([0, 0, 0, 1, 2]) for _ in range(size)]
        new = [max(0, tenths + chance.choice([-1, 0, 1]) + lean) for tenths in old]
        found = compare(old, new, threshold=0.95)
        moves = [before - after for before, after in zip(old, new, strict=True)]
        turned = [(after == 0) - (before == 0) for before, after in zip(old, new, strict=True)]
        said = answer(found)
        outputs = factor(found, "outputs")
        shown = [
            sum(one < 0 for one in each) + sum(one > 0 for one in each) > 0
            and brute_sign_p(sum(one < 0 for one in each), sum(one > 0 for one in each)) <= 0.05
            for each in (turned, moves)
        ]
        is_mean = outputs.claim == "significant"
        lead = "mean" if is_mean else "verdicts" if shown[0] else "typical" if shown[1] else "none"
        words = {
            "mean": " points (95 %",
            "verdicts": " verdicts turned to ",
            "typical": " typical questions: ",
            "none": "cannot tell",
        }
        assert words[lead] in said, (seed, said)
        assert ("chance" in found.sentence) is (lead == "none"), (seed, found.sentence)
        assert said.startswith(("Yes", "No, worse", "Mixed")) is (lead != "none")
        seen[lead] += 1
    assert len(seen) >= 3, seen
