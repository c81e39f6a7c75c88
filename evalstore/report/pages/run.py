"""Writes a run as a page: what it came to, each check in numbers, and every output with the reasons of its score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evalstore.model import UnscoredReason, Verdict
from evalstore.report.pages.filters import FilteredList, FilterMenu, filter_items, select_items
from evalstore.report.pages.html import count_bytes, render_page, render_template
from evalstore.report.run_words import describe_choice, describe_run, name_output
from evalstore.report.text_layout import join_names
from evalstore.text import count_noun

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow
    from evalstore.runs.run_view import RunView

_BUDGET = 220_000  # bytes for all outputs, their texts left aside: a page stays below 300 kB
_MOST_CHECKS = 100
_MOST_NAMES = 4
_VERDICTS = {Verdict.FAIL: "v0", Verdict.UNSCORED: "v1", Verdict.PASS: "v2"}


def write_page(view: RunView) -> str:
    """Return the page."""
    from evalstore.runs.run_view import list_missing

    run, outputs = view.run, _filter_outputs(view)
    return render_page(
        "run",
        title=f"Run: {run.model}",
        rules=outputs.rules,
        run=run,
        sentences=[*describe_run(view)],
        references={
            "run": [str(run.path)],
            "rubrics": [used.ref for used in run.rubrics],
            "judges": [used.ref for used in run.judges],
            "commit": [run.commit] if run.commit else [],
        },
        choice=describe_choice(view),
        outputs=outputs,
        missing=[f"{id_}: {reason}" for id_, reason in list_missing(view)],
    )


def _filter_outputs(view: RunView) -> FilteredList:
    """Return the outputs with their filters, as many as a page may have."""
    checks = dict.fromkeys(
        check.id for row in view.rows for check in _list_troubles(view.choice.list_checks(row))
    )
    names = {id_: f"c{number}" for number, id_ in enumerate([*checks][:_MOST_CHECKS])}
    refs = dict.fromkeys(row.rubric for row in view.rows if row.rubric)
    rubrics = {ref: f"r{number}" for number, ref in enumerate(refs)}
    items = select_items(_render_outputs(view, names, rubrics), _BUDGET)
    present = {view.choice.find_verdict(row) for row in view.rows}
    menus = (
        FilterMenu(
            "verdict",
            "any verdict",
            {key: str(one) for one, key in _VERDICTS.items() if one in present},
        ),
        FilterMenu(
            "check that fails or errs", "any check", {key: id_ for id_, key in names.items()}
        ),
        FilterMenu(
            "rubric",
            "any rubric",
            {key: ref for ref, key in rubrics.items()} if len(rubrics) > 1 else {},
        ),
    )
    left = view.found - len(items)
    more = (
        f" {count_noun(left, 'more output')}: evalstore show RUN --question ID shows each."
        if left
        else ""
    )
    return filter_items(menus, items, f"The worst first.{more}")


def _render_outputs(
    view: RunView, names: Mapping[str, str], rubrics: Mapping[str, str]
) -> Iterator[tuple[Markup, int]]:
    for row in view.rows:
        yield (
            _render_output(view, row, names, rubrics),
            count_bytes(row.output.text, row.input, row.asked or ""),
        )


def _render_output(
    view: RunView, row: GradedRow, names: Mapping[str, str], rubrics: Mapping[str, str]
) -> Markup:
    checks = view.choice.list_checks(row)
    verdict = view.choice.find_verdict(row)
    troubles = _list_troubles(checks)
    failed = [check.id for check in troubles if check.verdict is Verdict.FAIL]
    named = (
        ("fails", failed),
        ("error", [check.id for check in troubles if check.id not in failed]),
    )
    keys = ["q", _VERDICTS[verdict], *(names[check.id] for check in troubles if check.id in names)]
    return render_template(
        "output",
        row=row,
        classes=[*keys, *([rubrics[row.rubric]] if row.rubric else [])],
        verdict=verdict,
        name=name_output(row),
        why=row.reason
        or "; ".join(f"{word}: {join_names(ids, _MOST_NAMES)}" for word, ids in named if ids),
        checks=checks,
    )


def _list_troubles(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the checks that failed or could not be graded; those that had nothing to grade are not trouble."""
    return [
        check
        for check in checks
        if check.verdict is Verdict.FAIL or check.unscored is UnscoredReason.ERROR
    ]
