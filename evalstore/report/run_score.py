"""Renders the score of a run: a table of its checks, and for a stored run its worst outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.model import UnscoredReason, Verdict
from evalstore.report.json_values import write_json_value
from evalstore.report.run_words import (
    count_unreleased,
    describe_correction,
    describe_coverage,
    describe_score,
    describe_usage,
    name_output,
)
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    format_percent,
    join_names,
    wrap_beside,
    wrap_columns,
)
from evalstore.runs import CheckSummary, Run
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.runs import GradedRow
    from evalstore.runs.run_view import CheckCorrection, WrittenRun
from evalstore.report.run_view import NAME_LENGTH

_FEW = 3  # inconspicuous checks that still have a row each, like the others
_NAMED = 3  # of more of them
_PARTS_OF_WORST = {Verdict.FAIL: Part.MAJOR, Verdict.UNSCORED: Part.MINOR}
_REASON = 200


def text(run: Run, screen: Screen = PAPER) -> str:
    """Return the score, what it was measured with, and the checks in trouble.

    Each check that did not pass everywhere has a line.
    """
    return "\n".join(_run_lines(run, screen))


def _run_lines(run: Run, screen: Screen) -> Iterator[str]:
    dataset = run.dataset.ref if run.dataset else run.name
    mark = "   unreleased" if run.unreleased else ""
    yield screen.paint(
        Part.HEAD, f"{make_printable(dataset)}   {make_excerpt(run.model, 60)}{mark}"
    )
    yield ""
    lead = f"score      {_format_hundredths(run.score)}   "
    yield from screen.wrap(describe_score(run), lead=lead, inner=" " * len(lead))
    rest = (
        "" if run.rest_pass_rate is None else f"   the rest: {format_percent(run.rest_pass_rate)}"
    )
    yield f"pass rate  {_format_hundredths(run.pass_rate)}{rest}"
    if run.coverage.asked:
        share = _format_hundredths(Fraction(*run.coverage))
        about = f"coverage   {share}   "
        yield from screen.wrap(describe_coverage(run), lead=about, inner=" " * len(about))
    if run.unscored:
        yield f"unscored   {run.unscored:>6,}   counted in no mean"
    if run.outputs > run.questions:
        yield (
            f"outputs    {run.outputs:>6,}   samples of {count_noun(run.questions, 'question')}, "
            "each by its mean"
        )
    kept, asked = (int(run.harness.get(f"replies_{how}", 0)) for how in ("kept", "asked"))
    usage = describe_usage(run)
    if kept or usage:
        yield f"replies    {kept + asked:>6,}   {kept:,} kept from before, {asked:,} asked now"
    if usage:
        yield f"                    {usage}"
    if run.unreleased:
        yield f"unreleased          {count_unreleased(run)}"
    yield ""
    yield from _check_table(run.checks, screen)
    yield ""
    yield f"run  {make_printable(str(run.path))}"


def _check_table(checks: Mapping[str, CheckSummary], screen: Screen) -> Iterator[str]:
    """Yield a row per check; many checks that every output passed share one."""
    perfect = [
        id_ for id_, check in checks.items() if check.mean == 1 and not check.fail + check.unscored
    ]
    left_out = set() if screen.whole or len(perfect) <= _FEW else {*perfect}
    rows = [_list_check_cells(id_, one) for id_, one in checks.items() if id_ not in left_out]
    if rows:
        head, *lines = format_columns(
            [("check", "mean", "pass", "fail", "missing", "error"), *rows], right=range(1, 6)
        ).split("\n")
        yield screen.paint(Part.QUIET, head)
        yield from lines
    if left_out:
        names = join_names((make_excerpt(id_, NAME_LENGTH) for id_ in perfect), _NAMED)
        sentence = f"{count_noun(len(perfect), 'check')} that every output passed: {names}"
        yield from screen.wrap(sentence)


def _format_hundredths(score: Fraction | None) -> str:
    return f"{'-' if score is None else format(float(score * 100), '.2f'):>6}"


def text_written(scored: WrittenRun, screen: Screen = PAPER) -> str:
    """Return the score and the checks, and the three worst outputs with a reason."""
    corrections = _format_corrections(scored.corrections, screen)
    return "\n".join([text(scored.run, screen), *corrections, *_format_worst(scored, screen)])


def document_written(scored: WrittenRun) -> Any:
    """Return the document of the run, with the corrected pass rates if they were requested."""
    corrected = {"corrected": write_json_value(scored.corrections)} if scored.corrections else {}
    return {**write_json_value(scored.run), **corrected}


def _list_check_cells(id_: str, check: CheckSummary) -> tuple[str, ...]:
    missing = check.unscored - check.errors
    counts = (check.scored - check.fail, check.fail, missing, check.errors)
    mean = "-" if check.mean is None else format(float(check.mean * 100), ".2f")
    return make_excerpt(id_, 60), mean, *(f"{count:,}" for count in counts)


def _format_corrections(corrections: Sequence[CheckCorrection], screen: Screen) -> Iterator[str]:
    """Yield the pass rate of each judged check, with and without its judge's errors."""
    if not corrections:
        return
    yield ""
    rows = []
    for one in corrections:
        if one.corrected:
            name, cells = make_excerpt(one.check, NAME_LENGTH), describe_correction(one.corrected)
            rows.append((name, *cells, f"{one.judge}, {_describe_rates(one)}"))
    if rows:
        head = ("passes", "judged", "corrected", "95 % interval", "by")
        first, *lines = wrap_columns([head, *rows], screen.width, right={1, 2})
        yield screen.paint(Part.QUIET, first)
        yield from lines
    for one in corrections:
        if not one.corrected:
            lead = f"{make_excerpt(one.check, NAME_LENGTH)} is not corrected: "
            yield from screen.wrap(one.problem, lead=lead)


def _describe_rates(one: CheckCorrection) -> str:
    rates = ((name, rate) for name, rate in (("TPR", one.good), ("TNR", one.bad)) if rate)
    return ", ".join(f"{name} {rate.hits:,} of {rate.of:,}" for name, rate in rates)


def _list_worst_cells(row: GradedRow) -> tuple[str, str, str]:
    name = make_excerpt(name_output(row), NAME_LENGTH)
    return f"  {str(row.verdict).upper()}", format_percent(row.score), name


def _format_worst(scored: WrittenRun, screen: Screen) -> Iterator[str]:
    if not scored.failed:
        return
    yield ""
    yield f"{count_noun(scored.failed, 'output')} did not pass" + (
        "" if scored.failed <= len(scored.worst) else ", the worst:"
    )
    leads = format_columns(list(map(_list_worst_cells, scored.worst)), right={1}).split("\n")
    width = max(map(len, leads))
    said = ""
    for lead, row in zip(leads, scored.worst, strict=True):
        reason = _find_reason(row)
        shown = "the same" if reason and reason == said else reason
        said = reason
        first, *more = wrap_beside(f"{lead.ljust(width)}  ", shown, screen) or [lead]
        word = f"  {str(row.verdict).upper()}"
        yield screen.paint(_PARTS_OF_WORST.get(row.verdict), word) + first[len(word) :]
        yield from more


def _find_reason(row: GradedRow) -> str:
    """Return why an output did not pass.

    It is the reason of the first check that failed, else of the first that could not be graded,
    else of the first that had nothing to grade.
    """
    ranked = sorted(
        (check for check in row.checks if check.verdict in _PARTS_OF_WORST),
        key=lambda one: (one.verdict is not Verdict.FAIL, one.unscored is UnscoredReason.MISSING),
    )
    return make_excerpt(f"{ranked[0].id}: {ranked[0].reason}" if ranked else row.reason, _REASON)
