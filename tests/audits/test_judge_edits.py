"""What an audit says of a judge's edit beside the judge's own noise, and of a service that nobody asked twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from evalstore.audits import Audit
from evalstore.audits.conditions import decide_conditions, parse_condition
from evalstore.audits.wording.answer import write_answer
from evalstore.report import render
from evalstore.runs import Run
from tests.audits.conftest import Desk, factor
from tests.audits.test_acceptance import BAN, JUDGED

SIZE = 20
TEXTS = ["good " * (i % 4) + f"text {i}" for i in range(SIZE)]
NEVER = "The noise of judge/acc was never measured (evalstore judge noise judge/acc --run RUN_B)."


def open_typo(desk: Desk, *, gives: float, noise: float | None = None) -> tuple[Run, Run]:
    """Score the same outputs by a judge and by one without its typo, which moves every score; each has its noise."""
    desk.server.text = lambda prompt: json.dumps({"score": 0.4 + gives * ("Rate:" in prompt)})
    measured = {} if noise is None else {"validation": {"noise_sd": noise, "noise_flip_rate": 0.1}}
    for version, words, author in (("1.0.0", "Raet", "Ada"), ("1.0.1", "Rate", "Eve Editor")):
        judge = {"id": "acc", "version": version, "template": f"{words}: {{{{ output }}}}", "model": {"id": "m"}}
        desk.put("judge", judge | measured, author)
        desk.rubric(version, {**JUDGED, "judge_prompt_ref": f"judge/acc@{version}"}, BAN)
        desk.dataset(version, SIZE)
    return desk.score("1.0.0", TEXTS), desk.score("1.0.1", TEXTS, "b")


def test_a_typo_within_the_noise_is_nobodys_edit(desk: Desk) -> None:
    found = desk.audit(*open_typo(desk, gives=0.1, noise=0.3))
    assert found.judge_noise
    reach = f"{found.judge_noise.reach * 100:.2f}"
    assert factor(found, "judge").share * 100 == 5
    assert found.judge_noise.reach > 0.05
    assert found.sentence.startswith(
        f"The score rose by 5.00 points: the judge gained 5.00, within the judge's own noise ({reach})."
    )
    assert "Eve" not in found.sentence
    assert write_answer(found) == "Is the model better? The outputs are the same."
    assert factor(found, "judge").claim == f"within the judge's own noise ({reach})"
    assert f"within the judge's own noise ({reach})" in " ".join(render(found, "text").split())


def test_an_edit_beyond_the_noise_has_its_editor(desk: Desk) -> None:
    found = desk.audit(*open_typo(desk, gives=0.5, noise=0.1))
    assert "the judge gave 25.00 (edit by Eve Editor)" in found.sentence
    assert "own noise" not in found.sentence


def test_an_edit_whose_noise_was_never_measured_says_so_with_the_command(desk: Desk) -> None:
    found = desk.audit(*open_typo(desk, gives=0.1))
    assert found.judge_noise is None
    assert found.sentence == f"The score rose by 5.00 points: the judge gave 5.00 (edit by Eve Editor). {NEVER}"
    assert write_answer(found).startswith(
        "Is the model better? The outputs are the same. What the judge's edit did holds if the judge service did not "
        "change: both runs name m-served, and no prompt was asked in both. 5 judge calls would show it"
    )
    same = desk.audit(*(2 * [desk.score("1.0.0", TEXTS, "again")]))
    assert "noise" not in same.sentence


@pytest.fixture
def judged(desk: Desk) -> Callable[..., Audit]:
    """Audit two models whose outputs all differ, by one judge that calls itself the same in both runs."""
    desk.judge("1.0.0")
    desk.rubric("1.0.0", JUDGED, BAN)
    desk.dataset("1.0.0", SIZE)

    def run(same: int = 0) -> Audit:
        old = [f"good good good a{i}" for i in range(SIZE)]
        new = [text if i < same else f"b{i}" for i, text in enumerate(old)]
        a = desk.score("1.0.0", old, "m-a")
        return desk.audit(a, desk.score("1.0.0", new, "m-b", cache=desk.folder / "fresh.db"))

    return run


def test_a_service_that_nobody_asked_twice_makes_the_answer_conditional(judged: Callable[..., Audit]) -> None:
    found = judged()
    answer = write_answer(found)
    assert answer.startswith("Is the model better? No, worse: its outputs lost 50.00 points")
    assert answer.endswith(
        " This holds if the judge service did not change: both runs name m-served, and no prompt was asked in both. "
        "5 judge calls would show it: score 5 of A's outputs again with --fresh, and audit A against that."
    )
    (result,) = decide_conditions(found, [parse_condition("own<-2")])
    assert "if the judge service did not change" in result.reason
    assert len(render(found, "text").splitlines()) <= 20


def test_a_prompt_that_was_asked_twice_makes_it_sure(judged: Callable[..., Audit]) -> None:
    found = judged(same=5)
    assert "judge service" not in write_answer(found)
    assert found.assumption is None


def test_the_price_is_in_json(judged: Callable[..., Audit], desk: Desk, cli: Callable[..., Any]) -> None:
    judged()
    runs = [next((desk.folder / f"runs-{name}").glob("*.json")) for name in ("m-a", "m-b")]
    document = json.loads(cli("audit", *runs, "--format", "json", cwd=desk.repo.root).out)
    assert document["assumption"] == {"served": ["m-served"], "calls": 5}
