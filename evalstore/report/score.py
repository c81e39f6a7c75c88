"""Renders a run, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from evalstore.report.text_layout import count_noun
from evalstore.runs import CheckSummary, Run
from evalstore.text import make_excerpt, make_printable


def text(run: Run) -> str:
    """Return the score, what it was measured with, and one line for each check."""
    return "\n".join(_run_lines(run))


def _run_lines(run: Run) -> Iterator[str]:
    dataset = run.dataset.ref if run.dataset else run.name
    yield f"{make_printable(dataset)}   {make_excerpt(run.model, 60)}"
    yield ""
    questions = count_noun(run.scored, "scored question")
    yield f"score      {_format_hundredths(run.score)}   mean of {questions}, in points of 100"
    yield f"pass rate  {_format_hundredths(run.pass_rate)}"
    if run.unscored:
        yield f"unscored   {run.unscored:>6,}   not part of any mean"
    if run.outputs > run.questions:
        yield f"outputs    {run.outputs:>6,}   samples of {count_noun(run.questions, 'question')}, each by its mean"
    if kept := int(run.harness.get("replies_kept", 0)):
        asked = int(run.harness.get("replies_asked", 0))
        yield f"replies    {kept + asked:>6,}   {kept:,} kept from before, {asked:,} asked now"
    yield ""
    yield from _check_table(run.checks)
    yield ""
    yield f"run  {make_printable(str(run.path))}"


def _check_table(checks: Mapping[str, CheckSummary]) -> Iterator[str]:
    names = [make_excerpt(id_, 60) for id_ in checks]
    width = max(map(len, ["check", *names]))
    yield f"{'check':<{width}}  {'mean':>6}  {'pass':>6}  {'fail':>6}  {'missing':>7}  {'error':>6}"
    for name, check in zip(names, checks.values(), strict=True):
        counts = f"{check.scored - check.fail:>6,}  {check.fail:>6,}  {check.unscored - check.errors:>7,}"
        yield f"{name:<{width}}  {_format_hundredths(check.mean)}  {counts}  {check.errors:>6,}"


def _format_hundredths(score: Fraction | None) -> str:
    return f"{'-' if score is None else format(float(score * 100), '.2f'):>6}"
