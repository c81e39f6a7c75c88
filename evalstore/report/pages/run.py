"""Writes a run as a page: what it came to, each check in numbers, and every output with the reasons of its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evalstore.model import UnscoredReason, Verdict
from evalstore.report.pages.bars import draw_bar
from evalstore.report.pages.filters import FilterMenu, format_filtered
from evalstore.report.pages.html import Markup, join_markup, make_element, make_page
from evalstore.report.pages.question import format_outputs, format_text
from evalstore.report.pages.tables import (
    format_cell,
    format_folded,
    format_head,
    format_items,
    format_number,
    format_refs,
    format_row,
    format_table,
)
from evalstore.report.run_words import describe_choice, describe_run, name_output
from evalstore.report.text_layout import count_noun, format_percent, join_names

if TYPE_CHECKING:
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow, Run
    from evalstore.runs.run_view import RunView

_BUDGET = 220_000  # bytes for all outputs, their texts left aside: a page stays below 300 kB
_MOST_CHECKS = 100
_MOST_NAMES = 4
_VERDICTS = {Verdict.FAIL: "v0", Verdict.UNSCORED: "v1", Verdict.PASS: "v2"}
_COLOURS = {Verdict.FAIL: "down", Verdict.UNSCORED: "quiet", Verdict.PASS: "up"}
_COUNTS = ("pass", "fail", "missing", "error")


def write_page(view: RunView) -> str:
    """Return the page."""
    from evalstore.runs.run_view import list_missing

    run = view.run
    missing = [f"{id_}: {reason}" for id_, reason in list_missing(view)]
    outputs, rules = _format_outputs(view)
    return make_page(
        f"Run: {run.model}",
        make_element("h1", f"{run.dataset.ref if run.dataset else run.name}, answered by {run.model}"),
        make_element("p", " ".join(describe_run(view)), class_="answer"),
        _format_rulers(run),
        _format_checks(run),
        outputs,
        join_markup(make_element("h2", "Questions without an output"), format_folded("No output", missing))
        if missing
        else Markup(),
        join_markup(make_element("h2", "What else to know"), format_items(run.notes)) if run.notes else Markup(),
        rules=rules,
    )


def format_verdict(verdict: Verdict) -> Markup:
    """Return a verdict as a badge."""
    return make_element("span", str(verdict), class_=f"badge {_COLOURS[verdict]}")


def _format_rulers(run: Run) -> Markup:
    rows = {
        "run": (str(run.path),),
        "rubrics": [used.ref for used in run.rubrics],
        "judges": [used.ref for used in run.judges],
        "commit": (run.commit,) if run.commit else (),
    }
    items = [
        part
        for name, words in rows.items()
        if words
        for part in (make_element("dt", name), make_element("dd", make_element("code", format_refs(words))))
    ]
    return make_element("dl", *items)


def _format_checks(run: Run) -> Markup:
    if not run.checks:
        return Markup()
    rows = [
        format_row(
            make_element("th", id_, scope="row", class_="words"),
            format_number("mean", check.mean),
            format_cell("", draw_bar(check.mean), class_="bar") if check.mean is not None else make_element("td"),
            *(
                format_cell(name, f"{count:,}", is_number=True)
                for name, count in zip(
                    _COUNTS,
                    (check.scored - check.fail, check.fail, check.unscored - check.errors, check.errors),
                    strict=True,
                )
            ),
        )
        for id_, check in run.checks.items()
    ]
    caption = "The mean score of each check in points of a hundred; missing: it had nothing to grade."
    table = format_table(("check", "mean", "", *_COUNTS), rows, caption, numbers=("mean", *_COUNTS))
    return join_markup(make_element("h2", "Checks"), table)


def _format_outputs(view: RunView) -> tuple[Markup, str]:
    """Return the outputs with their filters, as many as a page may have, and the rules of CSS for them."""
    title = make_element("h2", "Outputs")
    checks = dict.fromkeys(check.id for row in view.rows for check in _list_troubles(view.choice.list_checks(row)))
    names = {id_: f"c{number}" for number, id_ in enumerate([*checks][:_MOST_CHECKS])}
    rubrics = {
        ref: f"r{number}" for number, ref in enumerate(dict.fromkeys(row.rubric for row in view.rows if row.rubric))
    }
    items, size = list[Markup](), 0
    for row in view.rows:
        item = _format_output(view, row, names, rubrics)
        size += len(item.encode()) - len(row.output.text[:20_000].encode()) - len(row.input[:20_000].encode())
        if size > _BUDGET:
            break
        items.append(item)
    present = {view.choice.find_verdict(row) for row in view.rows}
    menus = (
        FilterMenu(
            "verdict", "any verdict", {key: str(verdict) for verdict, key in _VERDICTS.items() if verdict in present}
        ),
        FilterMenu("check that fails or errs", "any check", {key: id_ for id_, key in names.items()}),
        FilterMenu("rubric", "any rubric", {key: ref for ref, key in rubrics.items()} if len(rubrics) > 1 else {}),
    )
    left = view.found - len(items)
    more = f" {count_noun(left, 'more output')}: evalstore show RUN --question ID shows each." if left else ""
    found, rules = format_filtered(menus, items, f"The worst first.{more}")
    asked = describe_choice(view)
    return join_markup(title, make_element("p", asked) if asked else Markup(), found), rules


def _format_output(view: RunView, row: GradedRow, names: Mapping[str, str], rubrics: Mapping[str, str]) -> Markup:
    checks = view.choice.list_checks(row)
    verdict = view.choice.find_verdict(row)
    troubles = _list_troubles(checks)
    failed = [check.id for check in troubles if check.verdict is Verdict.FAIL]
    named = (("fails", failed), ("error", [check.id for check in troubles if check.id not in failed]))
    why = row.reason or "; ".join(f"{word}: {join_names(ids, _MOST_NAMES)}" for word, ids in named if ids)
    summary = make_element(
        "summary",
        format_verdict(verdict),
        " ",
        make_element("b", name_output(row)),
        f" {format_percent(row.score)} ",
        make_element("span", why, class_="quiet"),
    )
    parts = [
        make_element("p", make_element("code", row.rubric), class_="quiet") if row.rubric else Markup(),
        _format_reasons(checks),
        make_element("h3", "asked"),
        format_text(row.input),
        make_element("h3", "answered"),
        format_outputs(row),
    ]
    keys = ["q", _VERDICTS[verdict], *(names[check.id] for check in troubles if check.id in names)]
    keys += [rubrics[row.rubric]] if row.rubric else []
    return join_markup(
        make_element("details", summary, make_element("div", *parts), class_=" ".join(keys)), Markup("\n")
    )


def _list_troubles(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the checks that failed or could not be graded; those that had nothing to grade are no trouble."""
    return [check for check in checks if check.verdict is Verdict.FAIL or check.unscored is UnscoredReason.ERROR]


def _format_reasons(checks: Sequence[CheckResult]) -> Markup:
    rows = [
        format_row(
            format_head(check.id),
            format_cell("verdict", format_verdict(check.verdict)),
            format_number("score", check.score),
            format_cell("reason", check.reason, class_="words"),
            format_cell("graded by", make_element("code", check.engine), class_="quiet")
            if check.engine != "evalstore"
            else make_element("td"),
        )
        for check in checks
    ]
    head = ("check", "verdict", "score", "reason", "graded by")
    return format_table(head, rows, numbers=("score",)) if rows else Markup()
