"""What an audit says where the questions themselves changed: never that the outputs are the same, and what changed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalstore.audits import Audit
from evalstore.audits.wording.answer import write_answer
from evalstore.report import render
from tests.audits.conftest import Desk, factor
from tests.audits.test_acceptance import BAN

SIZE = 12
Ask = Callable[[int], str]


@pytest.fixture
def reask(desk: Desk) -> Callable[..., Audit]:
    """Audit one rubric over two versions of the questions; outputs of B say a banned word where they are worse."""

    def run(asks: tuple[Ask, Ask], worse: int, *, models: tuple[str, str] = ("m-a", "m-b"), same: int = 0) -> Audit:
        desk.rubric("1.0.0", BAN)
        for version, ask, author in (("1.0.0", asks[0], "Ada"), ("2.0.0", asks[1], "Eve Editor")):
            questions = [{"id": f"q{i}", "input": ask(i)} for i in range(SIZE)]
            head = {"id": "d", "version": version, "defaults": {"rubric_ref": "rubric/r@1.0.0"}}
            desk.put("dataset", {**head, "questions": questions}, author)
        old = [f"ok {i}" for i in range(SIZE)]
        new = [old[i] if i < same else f"{'foo' if i < same + worse else 'fine'} {i}" for i in range(SIZE)]
        return desk.audit(desk.score("1.0.0", old, models[0]), desk.score("2.0.0", new, models[1]))

    return run


def ask(number: int) -> str:
    return f"What is {number}?"


def test_a_blank_in_every_question_is_not_told_from_another_model(reask: Callable[..., Audit]) -> None:
    found = reask((ask, lambda i: f"{ask(i)} "), 10)
    assert write_answer(found) == (
        "Is the model better? These runs cannot tell the edit and the model apart: every question changed "
        "(white space alone in all 12)."
    )
    assert "Eve" not in found.sentence
    assert found.sentence.startswith(
        "The score fell by 83.33 points: changed questions (white space alone) and another model together took 83.33"
    )
    (cause,) = (cause for cause in factor(found, "input").causes if cause.share)
    assert cause.source.message == "white space of the question changed"
    assert "outputs are the same" not in render(found, "text")


def test_the_same_model_answered_other_questions(reask: Callable[..., Audit]) -> None:
    found = reask((ask, lambda i: f"And {ask(i)}"), 10, models=("m", "m"))
    assert write_answer(found) == (
        "Are the outputs better? These runs cannot tell the edit and new outputs apart: every question changed."
    )
    (cause,) = (cause for cause in factor(found, "input").causes if cause.share)
    assert cause.source.message == "the question itself changed"
    assert "changed questions and new outputs together took 83.33" in found.sentence


def test_equal_texts_to_changed_questions_are_no_same_outputs(reask: Callable[..., Audit]) -> None:
    found = reask((ask, lambda i: f"And {ask(i)}"), 0, same=SIZE)
    assert write_answer(found) == (
        "Is the model better? These runs cannot tell: every question changed, and no text of the outputs did."
    )


def test_some_changed_questions_leave_an_answer(reask: Callable[..., Audit]) -> None:
    found = reask((ask, lambda i: ask(i) + " " * (i < 2)), 8, same=2)
    assert write_answer(found).startswith("Is the model better? No, worse: its outputs lost 66.67 points")


def test_a_part_with_white_space_alone_is_counted(reask: Callable[..., Audit]) -> None:
    found = reask((ask, lambda i: f"{ask(i)}\n" if i < 5 else f"Now {ask(i)}"), 10)
    assert write_answer(found).endswith("apart: every question changed (white space alone in 5).")
    messages = {cause.source.message for cause in factor(found, "input").causes}
    assert messages == {"white space of the question changed", "the question itself changed"}
