"""E1 to E20 of the page on audits as one table: what each store must say, and what it says (`pytest -s -m slow`).

The stores are those of the tests that each row names, which assert more; what their audits found is held against one
line here. E21 and E22 are many stores each, and print their own counts (`test_estimates.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from evalstore.audits import Audit, Cause
from evalstore.audits.wording.points import format_points
from tests.audits import (
    test_acceptance,
    test_authors,
    test_claims,
    test_history_and_bisect,
    test_judge_noise,
    test_samples,
)
from tests.audits.conftest import Desk, Repo, factor
from tests.audits.test_history_and_bisect import answer, story  # noqa: F401  # fixtures
from tests.audits.test_judge_noise import scored  # noqa: F401  # a fixture
from tests.audits.test_samples import store  # noqa: F401  # a fixture

Say = Callable[[list[Any]], str]


def say_shares(found: Audit) -> str:
    """Return the shares and lines that are not 0, and of several edits each, with who made it."""
    return ", ".join(_list_shares(found)) or "0"


def _list_shares(found: Audit) -> Iterator[str]:
    for one in found.factors:
        if one.share or one.passes:
            moving = [cause for cause in one.causes if cause.share]
            edits = ", ".join(map(_say_edit, moving)) if moving[1:] else ""
            yield f"{one.label} {format_points(one.share)}" + (f" ({edits})" if edits else "")
    for name, line in found.lines.told.items():
        yield f"{found.lines.labels[name]} {format_points(line.score)}"


def _say_edit(cause: Cause) -> str:
    origin = cause.source.origin
    part = cause.source.part
    name = origin.new if origin and part.startswith("judge/") else part.partition(": ")[2] or part
    author = f" {origin.author}" if origin and origin.author else ""
    return f"{name} {format_points(cause.share)}{author}"


def say_last(found: list[Any]) -> str:
    """Return the shares of the last audit of a store."""
    return say_shares(found[-1])


def say_service(found: list[Any]) -> str:
    """Return the shares before and after today's judge was asked."""
    return f"{say_shares(found[0])}, price {found[0].price.calls}; asked: {say_shares(found[2])}"


def say_interval(found: list[Any]) -> str:
    """Return the interval of the outputs, their p, and whether it is significant."""
    outputs = factor(found[-1], "outputs")
    low, high = (format_points(end) for end in outputs.ci or (0, 0))
    return f"{low} to {high}, p {outputs.p:g}, {outputs.claim.partition(' (')[0]}"


class Row(NamedTuple):
    """One row: the test that builds the store, with its arguments, and what must be said."""

    id: str
    test: Callable[..., None]
    must_say: str
    say: Say = say_last
    arguments: Mapping[str, Any] = MappingProxyType({})


def say_cells(cells: list[float]) -> str:
    """Return scores in points."""
    return " ".join(f"{100 * cell:g}" for cell in cells)


def judge_fails(*arguments: Any) -> dict[str, Any]:
    return dict(zip(("with_ban", "failing", "expected"), arguments, strict=True))


def lose(**arguments: Any) -> dict[str, Any]:
    """Return the arguments of one row of the table of intervals."""
    (row,) = (
        one
        for one in _read_rows(test_claims.test_few_questions_are_never_significant)
        if (one["size"], one["worse"]) == (arguments["size"], arguments["worse"])
    )
    return row


def _read_rows(test: Any) -> Iterator[dict[str, Any]]:
    (mark,) = (mark for mark in test.pytestmark if mark.name == "parametrize")
    for values in mark.args[1]:
        yield dict(zip(mark.args[0], values, strict=True))


def refuse_in_both_runs(desk: Desk, judge_server: Any) -> None:
    """Score an answer that the judge refuses in either run, and that says a banned word in B."""
    desk.judge("1.0.0")
    desk.rubric("1.0.0", test_acceptance.JUDGED, test_acceptance.BAN, errors="skip")
    desk.dataset("1.0.0", 8)
    judge_server.play("400", prompt="bad")
    runs = (desk.score("1.0.0", [first, *["good"] * 7], first[-3:]) for first in ("bad", "bad foo"))
    desk.audit(*runs, asks=True)


ROWS = (
    Row("E1", test_authors.test_edits_that_a_bot_released_are_their_authors, "rubric -35.00 ('simply' -20.00 Bob, max_chars -15.00 Cyd)"),
    Row("E2", test_acceptance.test_a_rename_is_one_question, "outputs +8.33", arguments={"where": "settings"}),
    Row("E3", test_acceptance.test_a_threshold_that_turns_verdicts_is_not_nothing, "score 0, passes -50.00, flips 6 by rubric, p None",
        lambda found: f"score {format_points(found[0].delta)[:1]}, passes {format_points(factor(found[0], 'rubric').passes)}, "
        f"flips {len(found[0].flips.pass_to_fail)} by {', '.join(found[0].flips.by)}, p {found[0].flips.mid_p}"),
    Row("E4", test_acceptance.test_versions_of_a_judge_are_steps_and_what_is_not_asked_is_joint, "judge -12.00 (2.0.0 -8.00 Bob, 3.0.0 -4.00 Cyd), outputs +1.83; price 3 and 10",
        lambda found: f"{say_shares(found[-1])}; price {found[0].price.calls} and {found[0].price.steps}"),
    Row("E5a", test_acceptance.test_a_judge_that_drifted_is_estimated_on_equal_outputs, "judge service -10.00 on 10 anchors",
        lambda found: f"{say_last(found)} on {factor(found[-1], 'judge_service').anchors} anchors", {"served": "m-2"}),
    Row("E5b", test_acceptance.test_without_equal_outputs_service_and_outputs_move_together_until_somebody_asks,
        "outputs + judge service -6.67, price 20; asked: judge service -6.67", say_service),
    Row("E6", test_acceptance.test_a_judge_that_fails_is_no_better_output, "judge errors +7.50",
        arguments=judge_fails(True, range(5), 7.5)),
    Row("E7", test_acceptance.test_a_missing_answer_is_no_other_question, "no answer +10.71; as zeros -15.00",
        lambda found: f"{say_last(found)}; as zeros {format_points(found[-1].lines.no_answer_as_zero.score)}"),
    Row("E8", test_acceptance.test_a_rubric_and_the_facts_that_only_it_reads_move_together, "rubric + dataset -33.33"),
    Row("E9", test_acceptance.test_an_interaction_is_told_as_one, "rubric -12.50, outputs -12.50; own@old 0.00, own@new -25.00",
        lambda found: f"{say_last(found)}; own@old {format_points(found[-1].own.old)}, own@new {format_points(found[-1].own.new)}"),
    Row("E10", test_authors.test_the_edits_inside_a_composite_are_those_of_its_own_file, "rubric -17.50 ('simply' -10.00 Bob, max_chars -7.50 Bob)"),
    Row("E11", test_history_and_bisect.test_a_matrix_has_a_row_for_each_run_and_a_column_for_each_release,
        "100 100 80 100 65; passes 100 100 60 100 30",
        lambda found: "; passes ".join(say_cells(found[0][name][0]) for name in ("cells", "passes"))),
    Row("E11 bisect", test_history_and_bisect.test_every_change_point_is_found_and_the_first_bad_one_since_the_last_good,
        "q0: 2.0.0 -, 3.0.0 +, 4.0.0 -; q4: 4.0.0 -",
        lambda found: "; ".join(f"{name}: " + ", ".join(
            f"{one['version']} {'+' if one['to'] > one['from'] else '-'}" for one in document["points"])
            for name, document in zip(("q0", "q4"), found[:2], strict=True))),
    Row("E11 infer", test_history_and_bisect.test_releases_that_a_record_cannot_tell_apart_are_all_named_with_what_would,
        "rubric/r@1.0.0, rubric/r@1.1.0, rubric/r@3.0.0",
        lambda found: ", ".join(sorted(one.resolved.ref for one in found[0].rubrics if one.is_exact))),
    Row("E12", test_acceptance.test_samples_are_no_questions, "outputs +16.67, standard error 21.52",
        lambda found: f"{say_last(found)}, standard error {factor(found[-1], 'outputs').standard_error * 100:.2f}"),
    Row("E13", test_acceptance.test_ten_phrases_are_ten_exact_shares, "rubric -25.00 ('w8' -7.50 Ada, 'w2' -5.00 Ada, 'w6' -4.17 Ada, 'w4' -2.50 Ada, 'w5' -1.67 Ada, 'w7' -1.67 Ada, "
        "'w9' -1.67 Ada, 'w3' -0.83 Ada)"),
    Row("E14", test_acceptance.test_a_judge_that_fails_is_no_better_output, "judge errors +13.81",
        arguments=judge_fails(False, (0, 1, 4), 13.8099)),
    Row("E15 2", test_claims.test_few_questions_are_never_significant, "-100.00 to +100.00, p 0.25, not resolvable",
        say_interval, lose(size=2, worse=2)),
    Row("E15 13", test_claims.test_few_questions_are_never_significant, "-47.72 to +7.72, p 0.125, not resolvable",
        say_interval, lose(size=13, worse=3)),
    Row("E15 20", test_claims.test_few_questions_are_never_significant, "-27.72 to +0.44, p 0.015625, not resolvable",
        say_interval, lose(size=20, worse=6)),
    Row("E16", test_history_and_bisect.test_a_matrix_has_a_row_for_each_run_and_a_column_for_each_release,
        "100 80 65, 100 100 100, 100 50 50",
        lambda found: ", ".join(say_cells(row[::2]) for row in found[0]["cells"])),
    Row("E17", test_judge_noise.test_half_the_weight_lets_half_the_noise_through, "2.0242",
        lambda found: f"{found[-1].judge_noise.reach * 100:.4f}"),
    Row("E18", test_samples.test_one_sample_fewer_that_passes_is_no_flip, "outputs -10.00, flips 0",
        lambda found: f"{say_shares(found[0])}, flips {len(found[0].flips.pass_to_fail)}"),
    Row("E19", test_acceptance.test_a_rubric_of_another_id_moves_scores_by_its_edits, "rubric -18.75 | rubric -18.75",
        lambda found: " | ".join(map(say_shares, found)), {"weight": 3}),
    Row("E20", refuse_in_both_runs,
        "outputs -12.50, own -12.50, price 0",
        lambda found: f"{say_last(found)}, own {format_points(found[-1].own.shapley)}, price {found[-1].price.calls}"),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_each_store_says_what_it_must(
    row: Row, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Any] = []
    audit = Repo.audit

    def keep(repo: Repo, *runs: Any, **options: Any) -> Audit:
        found.append(audit(repo, *runs, **options))
        return found[-1]

    def ask(*argv: str) -> Any:
        found.append(request.getfixturevalue("answer")(*argv))
        return found[-1]

    def search(*argv: Any) -> Any:
        found.append(find_releases(*argv))
        return found[-1]

    find_releases = test_history_and_bisect.search
    monkeypatch.setattr(Repo, "audit", keep)
    monkeypatch.setattr(test_history_and_bisect, "search", search)
    names = [name for name in inspect.signature(row.test).parameters if name not in row.arguments]
    fixtures = {name: ask if name == "answer" else request.getfixturevalue(name) for name in names}
    row.test(**fixtures, **row.arguments)
    says = row.say(found)
    print(f"{row.id} | {row.must_say} | {says}")  # noqa: T201  # the table
    assert says == row.must_say
