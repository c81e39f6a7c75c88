"""Who brought what: steps of several releases, references, re-pins, renames, both directions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from evalstore.audits.wording.answer import write_answer
from evalstore.report import render
from tests.audits.conftest import factor

TONE = """\
id: tone
version: {version}
checks:
  - {{id: calm, kind: must_not_contain, values: [{banned}]}}
  - {{id: polite, kind: must_contain_any, values: [please, thanks]}}
scoring: {{combine: weighted_avg}}
"""
OTHER = """\
id: other
version: 1.0.0
checks: [{id: brief, kind: must_not_contain, values: [moreover]}]
scoring: {combine: min}
"""
QUESTIONS = """\
id: small
version: {version}
defaults: {{rubric_ref: rubric/{rubric}}}
questions:
  - {{id: one, input: Say one.{facts}}}
  - {{id: two, input: Say two.}}
"""
Answers = Callable[..., Path]


def tone(version: str, *banned: str) -> str:
    return TONE.format(version=version, banned=", ".join(f'"{word}"' for word in banned))


def questions(version: str, rubric: str, facts: str = "") -> str:
    return QUESTIONS.format(version=version, rubric=rubric, facts=facts)


def test_each_release_on_the_way_is_named_for_what_it_brought(repo: Any, answers: Answers) -> None:
    repo.release("rubrics/tone", tone("1.0.0", "!"))
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    first = repo.release("rubrics/tone", tone("2.0.0", "!", "well"), author="Ines")
    repo.release("rubrics/tone", tone("2.0.1", "well", "!"), author="Otto")
    second = repo.release("rubrics/tone", tone("3.0.0", "!", "well", "so"), author="Paul")
    repo.release("datasets/small", questions("2.0.0", "tone@3.0.0"))
    outputs = answers("a", one="well, please", two="so, please")
    found = repo.audit(repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/small@2.0.0", outputs))
    assert [
        (cause.source.rule, cause.source.part, cause.source.origin.commit, cause.source.origin.author, cause.share)
        for cause in factor(found, "rubric").causes
        if cause.share
    ] == [
        ("ban-phrase-added", "calm: 'so'", second, "Paul", Fraction(-1, 4)),
        ("ban-phrase-added", "calm: 'well'", first, "Ines", Fraction(-1, 4)),
    ]
    assert [factor.changed for factor in found.factors] == [2, 0, 0, 0, 0, 0]
    assert found.sentence == "The score fell by 50.00 points: the rubric took 50.00 (edits by Paul and Ines)."


def test_an_edit_that_two_releases_made_together_is_the_last_ones(repo: Any, answers: Answers) -> None:
    def weighted(version: str, weight: int) -> str:
        return tone(version, "!").replace("weighted_avg", f"weighted_avg, weights: {{calm: {weight}}}")

    repo.release("rubrics/tone", weighted("1.0.0", 1))
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    repo.release("rubrics/tone", weighted("2.0.0", 2), author="Ines")
    repo.release("rubrics/tone", weighted("3.0.0", 3), author="Paul")
    repo.release("datasets/small", questions("2.0.0", "tone@3.0.0"))
    outputs = answers("a", one="hello")  # calm, not polite: 1/2, then 2/3, then 3/4
    found = repo.audit(repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/small@2.0.0", outputs))
    assert [
        (cause.source.rule, cause.source.origin.author, cause.share) for cause in factor(found, "rubric").causes
    ] == [("check-weight-changed", "Paul", Fraction(1, 4))]
    assert factor(found, "rubric").ci is None  # one question


def test_an_exchanged_phrase_is_called_so_on_both_sides(repo: Any, answers: Answers) -> None:
    repo.release("rubrics/tone", tone("1.0.0", "!", "well"))
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    repo.release("rubrics/tone", tone("2.0.0", "!", "so"))
    repo.release("datasets/small", questions("2.0.0", "tone@2.0.0"))
    outputs = answers("a", one="so", two="well")
    found = repo.audit(repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/small@2.0.0", outputs))
    rules = {(cause.source.part, cause.source.rule, cause.share) for cause in factor(found, "rubric").causes}
    assert rules == {
        ("calm: 'so'", "phrase-reworded", Fraction(-1, 4)),
        ("calm: 'well'", "phrase-reworded", Fraction(1, 4)),
    }
    assert factor(found, "rubric").moved == 2
    assert found.sentence == "The score did not move, although the rubric moved 2 questions, up as much as down."
    assert factor(found, "rubric").claim == "edits +25.00 and -25.00; exact on these questions"
    # Within one question they cancel as well, which then does not move at all.
    both = answers("b", one="so well")
    found = repo.audit(repo.score("dataset/small@1.0.0", both), repo.score("dataset/small@2.0.0", both))
    assert found.sentence == "The score did not move, although the rubric changed (edits +25.00 and -25.00)."
    rows = (line for line in render(found, "text").splitlines() if line.startswith("rubric "))
    assert next(rows).endswith(factor(found, "rubric").claim)


def test_a_question_that_another_rubric_grades_is_named_with_the_release_of_the_dataset(
    repo: Any, answers: Answers
) -> None:
    repo.release("rubrics/tone", tone("1.0.0", "!"))
    repo.release("rubrics/other", OTHER)
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    commit = repo.release("datasets/small", questions("2.0.0", "other@1.0.0"), author="Ines")
    repo.release("datasets/small", questions("2.0.1", "other@1.0.0").replace("Say two", "Say 2"), author="Paul")
    outputs = answers("a", one="moreover", two="moreover, please")
    found = repo.audit(repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/small@2.0.1", outputs))
    causes = [cause for cause in factor(found, "rubric").causes if cause.share]
    (origin,) = {cause.source.origin for cause in causes}
    assert all(cause.source.rules[-1] == "question-rubric-ref-changed" for cause in causes)
    assert {(cause.source.part, cause.share) for cause in causes} == {
        ("check brief", Fraction(-13, 24)),
        ("scoring.combine", Fraction(-1, 6)),
        ("check calm", Fraction(-1, 6)),
        ("check polite", Fraction(1, 8)),
    }
    assert (origin.ref, origin.old, origin.new) == ("dataset/small", "rubric/tone@1.0.0", "rubric/other@1.0.0")
    assert (origin.commit, origin.author) == (commit, "Ines")
    # The outputs are the same, but they answer another question; no check reads that.
    assert found.input_changed == ("two",)
    asked = factor(found, "input")
    assert (asked.changed, asked.share, asked.moved, factor(found, "outputs").changed) == (1, 0, 0, 0)
    assert asked.claim == "moved none; at most 100% would"
    assert [(one.source.origin.author, one.source.message) for one in asked.causes] == [
        ("Paul", "the question itself changed")
    ]
    assert write_answer(found).endswith("The outputs are the same, apart from changed questions.")
    pins = "(dataset/small: rubric/tone@1.0.0 → rubric/other@1.0.0)"
    assert pins in " ".join(render(found, "text").split())


def test_a_changed_reference_is_the_datasets_and_moves_nothing_that_no_check_reads(repo: Any, answers: Answers) -> None:
    repo.release("rubrics/tone", tone("1.0.0", "!"))
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    repo.release("datasets/small", questions("2.0.0", "tone@1.0.0", ", expected_facts: [one]"), author="Ines")
    repo.release("datasets/small", questions("3.0.0", "tone@1.0.0", ", expected_facts: [uno]"), author="Paul")
    outputs = answers("a", one="one", two="two")
    found = repo.audit(repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/small@3.0.0", outputs))
    dataset = factor(found, "dataset")
    assert (dataset.changed, dataset.share, dataset.moved) == (1, 0, 0)
    assert [
        (cause.source.rule, cause.source.origin.ref, cause.source.origin.old, cause.source.origin.author)
        for cause in dataset.causes
    ] == [
        ("question-reference-changed", "dataset/small", "2.0.0", "Paul"),
    ]
    assert {cause.source.message for cause in dataset.causes} == {"the expected answer changed"}


def test_an_edit_of_what_a_check_takes_from_the_question_is_the_datasets_with_its_author(
    repo: Any, answers: Answers
) -> None:
    values = "id: tone\nversion: {}\nchecks:\n  - {{kind: must_not_contain, values: {{from: banned}}{}}}\nscoring: {{combine: min}}\n"
    repo.release("rubrics/tone", values.format("1.0.0", ""))
    repo.release("rubrics/tone", values.format("1.1.0", ", case_sensitive: true"), author="Zoe")
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0", ", banned: [bad]"))
    repo.release("datasets/small", questions("2.0.0", "tone@1.0.0", ", banned: [bad, one]"), author="Ines")
    repo.release("datasets/small", questions("3.0.0", "tone@1.1.0", ", banned: [bad, one]"), author="Paul")
    outputs = answers("a", one="One", two="one")
    runs = [repo.score(f"dataset/small@{version}.0.0", outputs) for version in (1, 2, 3)]
    dataset = factor(repo.audit(runs[0], runs[1]), "dataset")
    (cause,) = dataset.causes
    assert repo.audit(runs[0], runs[1]).sentence.endswith(": changed values of checks took 100.00 (edit by Ines).")
    assert (cause.source.rule, cause.source.message) == (
        "question-value-changed",
        "the value of a check changed: banned",
    )
    assert (cause.source.origin.author, cause.share) == ("Ines", dataset.share)
    assert dataset.share < 0
    unmoved = answers("b", one="fine", two="fine")
    still = repo.audit(*(repo.score(f"dataset/small@{version}.0.0", unmoved) for version in (1, 2)))
    assert still.sentence == "The score did not move, although values of checks changed."
    rubric = factor(repo.audit(runs[1], runs[2]), "rubric")
    assert [(one.source.origin.author, one.share) for one in rubric.causes] == [("Zoe", rubric.share)]
    assert rubric.share > 0


def test_a_broken_release_on_the_way_is_passed_over_and_said(repo: Any, answers: Answers) -> None:
    repo.release("rubrics/tone", tone("1.0.0", "!"))
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    repo.release("rubrics/tone", "id: tone\nversion: 1.5.0\nchecks: 7\n")
    repo.release("rubrics/tone", tone("2.0.0", "!", "well"), author="Ines")
    repo.release("datasets/small", questions("2.0.0", "tone@2.0.0"))
    outputs = answers("a", one="well", two="well")
    found = repo.audit(repo.score("dataset/small@1.0.0", outputs), repo.score("dataset/small@2.0.0", outputs))
    (cause,) = factor(found, "rubric").causes
    assert (cause.source.origin.old, cause.source.origin.new, cause.source.origin.author) == ("1.0.0", "2.0.0", "Ines")
    assert found.notes[0].startswith("rubric/tone@1.5.0 was skipped, ")


def test_one_rubric_for_all_questions_is_audited_like_a_pin(repo: Any, answers: Answers) -> None:
    repo.release("rubrics/tone", tone("1.0.0", "!"))
    repo.release("rubrics/other", OTHER)
    repo.release("datasets/small", questions("1.0.0", "tone@1.0.0"))
    outputs = answers("a", one="moreover", two="please")
    a = repo.score("dataset/small@1.0.0", outputs)
    b = repo.score("dataset/small@1.0.0", outputs, "n", rubric="rubric/other@1.0.0")
    sources = [cause.source for cause in factor(repo.audit(a, b), "rubric").causes if cause.share]
    assert {source.rules[-1] for source in sources} == {"question-rubric-ref-changed"}
    # No release of the dataset says so: an option did.
    assert {(source.origin.ref, source.origin.commit) for source in sources} == {("rubric/other", None)}
