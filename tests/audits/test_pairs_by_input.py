"""Questions whose ids say nothing of two runs are paired by what they ask, and the audit says so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest

from evalstore.audits import Audit
from evalstore.audits.comparability import compare_runs
from evalstore.model.question_ids import match_contents
from evalstore.report import audit as report
from evalstore.store import ArtifactStore
from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN

SIZE = 20
Asked = Mapping[str, str]


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ({"a": "1"}, {"a": "1"}, {}),
        ({"a": "1"}, {"b": "1"}, {"a": "b"}),
        ({"a": "1", "b": "2"}, {"a": "2", "b": "1"}, {"a": "b", "b": "a"}),
        ({"a": "1", "b": "2"}, {"a": "0", "b": "1", "c": "2"}, {"a": "b", "b": "c"}),
        # An edit of a question is no rename, and neither is one of several that ask the same.
        ({"a": "1"}, {"a": "2"}, {}),
        ({"a": "1", "b": "1"}, {"c": "1", "d": "1"}, {}),
        ({"a": "1"}, {"a": "1", "b": "1"}, {}),
    ],
)
def test_contents_match_where_one_question_of_each_side_has_them(old: Asked, new: Asked, names: Asked) -> None:
    assert match_contents(old, new) == names


def run(desk: Desk, version: str, asked: Asked, bad: Sequence[str] = ()) -> object:
    """Score one answer a question: those to an input of `bad` say the banned word."""
    desk.dataset(version, [{"id": id_, "input": text} for id_, text in asked.items()], "1.0.0")
    texts = {id_: f"{'foo' if text.strip() in bad else 'fine'} {text.strip()}" for id_, text in asked.items()}
    return desk.score(version, texts, f"m-{version}")


def audit(desk: Desk, old: Asked, new: Asked, bad: Sequence[str]) -> Audit:
    desk.rubric("1.0.0", BAN)
    return desk.audit(run(desk, "1.0.0", old), run(desk, "2.0.0", new, bad))  # type: ignore[arg-type]


def ask(first: int = 0, size: int = SIZE, name: str = "q{}") -> dict[str, str]:
    return {name.format(i): f"What is {first + i}?" for i in range(size)}


def test_all_ids_are_new(desk: Desk) -> None:
    found = audit(desk, ask(), ask(name="case-{}"), ["What is 3?"])
    assert (found.common, found.lines.questions.added, found.lines.questions.removed) == (SIZE, (), ())
    assert found.flips.pass_to_fail == ("case-3",)
    assert found.asides[0] == "20 questions are paired by equal input, not by id (q0 of A is case-0 of B)"
    declared = 'renames: {dataset/d: {"q0": "case-0", "q1": "case-1"'
    (note,) = [note for note in found.notes if "renames:" in note]
    assert declared in note
    # What it says to write is read, and then nothing is left to say.
    document = report.document(found)["pairs_by_input"]
    assert document["ids"] == document["renames"] == {f"q{i}": f"case-{i}" for i in range(SIZE)}
    names = ", ".join(f"{old}: {new}" for old, new in document["renames"].items())
    desk.repo.write("evalstore.yaml", f"renames: {{dataset/d: {{{names}}}}}\n")
    again = desk.audit(run(desk, "3.0.0", ask()), run(desk, "4.0.0", ask(name="case-{}")))  # type: ignore[arg-type]
    assert (again.common, again.pairs_by_input.count, again.asides) == (SIZE, 0, ())


def test_a_row_that_was_inserted_shifts_ids_and_no_question(desk: Desk) -> None:
    inserted = {"q0": "Who are you?"} | {f"q{i + 1}": text for i, text in enumerate(ask().values())}
    found = audit(desk, ask(), inserted, ["What is 3?"])
    assert (found.common, found.lines.questions.added, found.lines.questions.removed) == (SIZE, ("q0",), ())
    assert found.flips.pass_to_fail == ("q4",)
    assert (found.input_changed, found.own.shapley) == ((), Fraction(-1, SIZE))
    assert found.asides[0] == "20 questions are paired by equal input, not by id (q0 of A is q1 of B)"
    # An id that both sides have names two questions: no rename can say so.
    assert (found.pairs_by_input.count, found.pairs_by_input.renames) == (SIZE, {})
    (note,) = [note for note in found.notes if "ids" in note]
    assert note.startswith("the ids of 20 name other questions in B, which no rename can declare")


def test_a_question_whose_id_another_one_took_is_removed(desk: Desk) -> None:
    old, new = {"q0": "gone", "q1": "kept", "q2": "same"}, {"q0": "kept", "q2": "same", "q3": "new"}
    found = audit(desk, old, new, ["kept"])
    assert found.common == 2
    assert (found.lines.questions.added, found.lines.questions.removed) == (("q3",), ("q0 (in A)",))
    assert found.flips.pass_to_fail == ("q0",)


def test_two_teams_have_twelve_inputs_in_common(desk: Desk) -> None:
    new = ask(8, name="team-{}")
    found = audit(desk, ask(), new, ["What is 9?", "What is 25?"])
    assert (found.common, len(found.lines.questions.added), len(found.lines.questions.removed)) == (12, 8, 8)
    assert found.flips.pass_to_fail == ("team-1",)
    assert found.asides[0] == "12 questions are paired by equal input, not by id (q8 of A is team-0 of B)"


def test_white_space_is_no_other_input(desk: Desk) -> None:
    found = audit(desk, ask(), {f"n{i}": f"{text}\n" for i, text in enumerate(ask().values())}, [])
    assert (found.common, found.input_edits.white_space) == (SIZE, SIZE)


def test_ids_that_agree_are_not_looked_at_again(desk: Desk) -> None:
    found = audit(desk, ask(), ask(size=SIZE + 1), [])
    assert (found.pairs_by_input.count, found.asides) == (0, ())


def test_whether_runs_are_comparable_is_told_of_pairs_by_input(desk: Desk) -> None:
    desk.rubric("1.0.0", BAN)
    a, b = run(desk, "1.0.0", ask()), run(desk, "2.0.0", ask(name="case-{}"))
    with ArtifactStore.open(desk.repo.root) as store:
        found = compare_runs(a.path, b.path, store)  # type: ignore[attr-defined]
    assert "20 questions are paired by equal input, not by id (q0 of A is case-0 of B)" in found.notes


def test_one_question_is_seen_by_its_new_id(desk: Desk, print_page: object) -> None:
    desk.rubric("1.0.0", BAN)
    a, b = run(desk, "1.0.0", ask()), run(desk, "2.0.0", ask(name="case-{}"), ["What is 3?"])
    shown = print_page("audit", a.path, b.path, "--question", "case-3", form="text")  # type: ignore[attr-defined,operator]
    assert re.search(r"fine What is 3\? +\| foo What is 3\?", shown)
