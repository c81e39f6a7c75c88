"""Audits whose judge service moved, known from few equal outputs: what is estimated, and what conditions make of it."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.conditions import Answer, decide_conditions, parse_condition
from evalstore.runs import Run
from evalstore.statistics import Conclusion
from tests.audits.conftest import Desk, factor
from tests.audits.test_acceptance import BAN, JUDGED

OWN = parse_condition("own<-0.02")
Move = Callable[[random.Random], float]


def chance_of(text: str) -> random.Random:
    """Return chance that is the same for the same text, in whatever order a judge is asked."""
    return random.Random(hashlib.sha256(text.encode()).digest())  # noqa: S311


def rate_noisily(move: Move | None) -> Callable[[str], str]:
    """Return a judge: each prompt has a quality, known by its first word, and another service moves its score."""

    def rate(prompt: str) -> str:
        _, _, output = prompt.partition(": ")
        score = 0.3 + 0.4 * chance_of(output.split()[0]).random()
        if move is not None:
            score += move(chance_of(output))
        return json.dumps({"score": round(max(0.0, min(1.0, score)), 4)})

    return rate


def score_pair(desk: Desk, name: str, size: int, anchors: int, move: Move, served: str = "m-2") -> tuple[Run, Run]:
    """Score two models of equal quality, `anchors` of whose outputs are equal, by a judge whose service moves."""
    old = [f"{name}-{i} a" for i in range(size)]
    new = [old[i] if i < anchors else f"{name}-{i} b" for i in range(size)]
    desk.server.served, desk.server.text = "m-1", rate_noisily(None)
    a = desk.score("1.0.0", old, f"{name}-a")
    desk.server.served, desk.server.text = served, rate_noisily(move)
    return a, desk.score("1.0.0", new, f"{name}-b", cache=desk.folder / f"{name}.db")


def open_judged(desk: Desk, size: int, *checks: dict[str, Any]) -> Desk:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, *checks)
    desk.dataset("1.0.0", size)
    return desk


def drift_by_prompt(chance: random.Random) -> float:
    return chance.gauss(-0.05, 0.2)


def list_claims(found: Audit) -> Iterator[Conclusion | None]:
    yield from (factor(found, name).conclusion for name in ("outputs", "judge_service"))


@pytest.mark.slow
@pytest.mark.parametrize("anchors", [5, 15])
def test_sixty_stores_whose_service_moved_have_no_worse_outputs(desk: Desk, anchors: int) -> None:
    """E21: called better or worse in at most .07 of them, and the condition fails in at most .03."""
    open_judged(desk, 40)
    called, answers = 0, Counter[Answer]()
    for number in range(60):
        found = desk.audit(*score_pair(desk, f"s{number}", 40, anchors, drift_by_prompt))
        outputs, service = list_claims(found)
        assert (outputs is Conclusion.NOT_RESOLVABLE) is (service is Conclusion.NOT_RESOLVABLE)
        assert (factor(found, "outputs").anchors, found.price.calls) == (anchors, 40 - anchors)
        called += "worse outputs" in found.sentence or "better outputs" in found.sentence
        answers[decide_conditions(found, [OWN])[0].answer] += 1
    print(f"E21, {anchors} anchors: called {called} of 60, own<-0.02 {dict(answers)}")  # noqa: T201  # what was measured
    assert called <= 0.07 * 60
    assert answers[Answer.FAILS] <= 0.03 * 60


@pytest.mark.slow
@pytest.mark.parametrize("size", [20, 100, 300])
def test_the_same_model_twice_seldom_fails(desk: Desk, size: int) -> None:
    """E22: in at most .03; it cannot be told or holds."""
    open_judged(desk, size)
    desk.server.text = lambda prompt: json.dumps(
        {"score": round(max(0.0, min(1.0, chance_of(prompt).gauss(0.5, 0.2))), 4)}
    )
    answers = Counter[Answer]()
    for number in range(40):
        runs = (desk.score("1.0.0", [f"{number} {side} {i}" for i in range(size)], f"{number}{side}") for side in "ab")
        answers[decide_conditions(desk.audit(*runs), [OWN])[0].answer] += 1
    print(f"E22, n {size}: own<-0.02 {dict(answers)}")  # noqa: T201  # what was measured
    assert answers[Answer.FAILS] <= 0.03 * 40


def test_one_conclusion_for_a_service_and_the_outputs_beside_it(desk: Desk, cli: Callable[..., Any]) -> None:
    """E21, of one store: both carry the error of five anchors, and the price of a judge that is asked is beside it."""
    a, b = score_pair(open_judged(desk, 40), "s0", 40, 5, drift_by_prompt)
    found = desk.audit(a, b)
    outputs, service = factor(found, "outputs"), factor(found, "judge_service")
    assert [*list_claims(found)] == [Conclusion.NOT_RESOLVABLE] * 2
    assert outputs.share + service.share == found.delta
    assert (outputs.anchors, outputs.is_exact, found.price.calls) == (5, False, 35)
    # Its own questions alone would give a third of that.
    assert outputs.ci
    assert outputs.ci[1] - outputs.ci[0] > 0.5
    assert found.sentence.endswith(" 35 judge calls would replace the estimates (--ask).")
    ran = cli("audit", a.path, b.path, "--fail-on", "own<-0.02", cwd=desk.repo.root)
    assert (ran.code, "own<-2: cannot tell (own is" in ran.out) == (1, True)
    told = " ".join(ran.out.split())
    assert "estimated on 5 anchors, 95 % interval" in told
    assert "35 judge calls would tell (--judge-url, --ask)" in told
    assert "35 calls of judges would replace the estimates (--ask with --judge-url)" in told
    asked = desk.server.calls
    exact = desk.audit(a, b, asks=True, ask=True)
    assert (desk.server.calls - asked, exact.price.calls) == (35, 0)
    assert (factor(exact, "outputs").anchors, factor(exact, "judge_service").anchors) == (None, None)


def test_fewer_than_five_anchors_show_nothing(desk: Desk, cli: Callable[..., Any]) -> None:
    a, b = score_pair(open_judged(desk, 12), "s0", 12, 4, lambda _: -0.3)
    found = desk.audit(a, b)
    for name in ("outputs", "judge_service"):
        one = factor(found, name)
        assert (one.ci, one.conclusion) == (None, Conclusion.NOT_RESOLVABLE)
        assert one.claim == "estimated on 4 anchors, too few to tell (5 or more would)"
    (result,) = decide_conditions(found, [OWN])
    assert result.answer is Answer.UNDECIDED
    assert "estimated on 4 anchors, which is too little to tell; 8 judge calls would tell" in result.reason
    assert decide_conditions(found, [parse_condition("own.mean<-0.02")])[0].answer is Answer.HOLDS


def test_outputs_that_are_much_worse_than_their_anchors_are_said_to_be(desk: Desk) -> None:
    """Of the service, which moved negligible, its bounds are said."""
    open_judged(desk, 60)
    old = [f"x{i} a" for i in range(60)]
    new = [old[i] if i < 30 else f"x{i} bad" for i in range(60)]
    desk.server.served, desk.server.text = "m-1", lambda _: '{"score": 0.9}'
    a = desk.score("1.0.0", old)
    desk.server.served = "m-2"
    desk.server.text = lambda prompt: json.dumps(
        {"score": 0.2 if "bad" in prompt else 0.91 if "x3 " in prompt else 0.9}
    )
    found = desk.audit(a, desk.score("1.0.0", new, "b", cache=desk.folder / "fresh.db"))
    assert [*list_claims(found)] == [Conclusion.SIGNIFICANT, Conclusion.BOUNDED]
    assert "worse outputs took 35.02, estimated on 30 questions" in found.sentence
    assert "the judge service gained 0.03, estimated on 30 questions to be -6" in found.sentence
    assert factor(found, "judge_service").claim.startswith("estimated on 30 anchors, between -6")
    assert decide_conditions(found, [OWN])[0].answer is Answer.FAILS


def test_a_slice_of_what_is_estimated_has_no_test_of_its_own(desk: Desk) -> None:
    from evalstore.audits.slices import SliceKind

    found = desk.audit(*score_pair(open_judged(desk, 12), "s0", 12, 6, drift_by_prompt), by=SliceKind.TAG)
    assert [(one.name, one.p) for one in found.slices] == [("(none)", None)]


def test_a_floating_judge_names_its_releases_and_their_people(desk: Desk) -> None:
    desk.judge("1.0.0")
    desk.rubric("1.0.0", {**JUDGED, "judge_prompt_ref": "judge/acc@>=1"}, BAN)
    desk.dataset("1.0.0", 4)
    a = desk.score("1.0.0", ["good a", "good b", "good c", "d"])
    desk.judge("2.0.0", "HARD", author="Bob")
    one = desk.audit(a, desk.score("1.0.0", ["good a", "good b", "good c", "d"], "b"))
    (cause,) = factor(one, "judge_service").causes
    origin = cause.source.origin
    assert (cause.source.rule, origin.ref, origin.old, origin.new) == ("judge-released", "judge/acc", "1.0.0", "2.0.0")
    assert (origin.author, origin.released_in, cause.share) == ("Bob", "2.0.0", one.delta)
    desk.judge("3.0.0", "HARD STRICT", author="Cyd")
    (cause,) = factor(desk.audit(a, desk.score("1.0.0", ["good a"] * 4, "c")), "judge_service").causes
    assert cause.source.message == "2.0.0 by Bob, judge: template edited; 3.0.0 by Cyd, judge: template edited"


def test_outputs_that_were_cut_off_or_refused_are_counted_on_both_sides(desk: Desk, tmp_path: Path) -> None:
    """By what the file of outputs says of each, whatever the score made of it; runs keep it."""
    desk.rubric("1.0.0", BAN)
    desk.dataset("1.0.0", 5)

    def score(name: str, *reasons: str) -> Run:
        lines = [{"id": f"q{i}", "output": "ok", "finish_reason": reason} for i, reason in enumerate(reasons)]
        return desk.score_lines("1.0.0", lines, name)

    a, b = (
        score("a", "stop", "stop", "length", "stop", "refusal"),
        score("b", "length", "max_tokens", "length", "", "stop"),
    )
    assert desk.audit(a, b).notes == (
        "outputs cut off at their longest length: 1 in A, 3 in B",
        "refused outputs: 1 in A, 0 in B",
    )
    assert desk.audit(a, a).notes == ()
    # A run of a run says it, too.
    again = desk.score_lines("1.0.0", [json.loads(line) for line in a.samples.read_text().splitlines()], "again")
    assert desk.audit(again, b).notes == desk.audit(a, b).notes
