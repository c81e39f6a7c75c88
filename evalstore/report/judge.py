"""Renders how well a judge agrees with labels and with its examples, and plans of calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from evalstore.agreement import (
    Agreement,
    Confusion,
    ExampleResults,
    JudgeNoise,
    JudgeReplacement,
    LabelledCase,
)
from evalstore.checks.examples import GradedExample
from evalstore.model import format_score
from evalstore.model.example import describe_expected
from evalstore.report.json_values import Row, select_json_keys, write_graded_example
from evalstore.report.run_words import format_interval
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    format_percent,
    join_blocks,
)
from evalstore.scoring.judging import CallPlan
from evalstore.scoring.judging.call_queue import CallGroup
from evalstore.statistics import Rate
from evalstore.text import count_noun, make_excerpt, make_printable

_LIST_LIMIT = 10
_REASON = 400  # characters on a page
# Keys of the documents of measurements: a judge's rates, and its file with its present values.
RATES = "tpr=tpr.value tpr_interval=tpr.interval tnr=tnr.value tnr_interval=tnr.interval"
FILE_KEYS: Row = (
    {
        "validation": lambda one: {
            name: entry for name, entry in one.entries.items() if entry is not None
        }
    },
    "diff written notes",
)
# Upper bound of kappa -> the word that Landis and Koch (1977) use for it, a mere convention.
_KAPPA_WORDS = (
    (Fraction(0), "no"),
    (Fraction(1, 5), "slight"),
    (Fraction(2, 5), "fair"),
    (Fraction(3, 5), "moderate"),
    (Fraction(4, 5), "substantial"),
    (Fraction(1), "almost perfect"),
)


def text(agreement: Agreement, screen: Screen = PAPER) -> str:
    """Return labels against verdicts, the rates and the disagreements.

    The diff of the judge's file comes last.
    """
    head = f"{make_printable(agreement.judge.ref)}   {_describe_rows(agreement)}"
    many = ", too many for --check" if agreement.misses_many else ""
    return join_blocks(
        [screen.paint(Part.HEAD, head), _describe_verdicts(agreement)],
        _confusion_table(agreement),
        _summary_lines(agreement),
        _list_cases(
            "judge and label differ on",
            agreement.confusion.apart,
            [_disagreement_row(agreement, case) for case in agreement.apart],
        ),
        _list_cases(
            f"not judged, and not counted elsewhere{many}:",
            agreement.unjudged,
            list(map(_write_unjudged_row, agreement.left_out)),
        ),
        list_file_lines(agreement, screen) if agreement.diff or agreement.written else "",
    )


def document(agreement: Agreement) -> dict[str, Any]:
    """Return the document that schema/output/judge_validate.schema.json describes."""
    counts = agreement.confusion
    return {
        **select_json_keys(agreement, "judge labels labels_sha256 against threshold"),
        "rows": counts.rows + agreement.unjudged,
        "judged": counts.rows,
        **select_json_keys(agreement, "read unjudged engines counts=confusion"),
        **select_json_keys(
            counts, f"{RATES} accuracy=accuracy.value accuracy_interval=accuracy.interval kappa"
        ),
        "baseline": select_json_keys(counts, "answer=constant accuracy=baseline.value"),
        "beats_baseline": counts.beats_baseline,
        "baseline_p": counts.advantage.p if counts.rows else None,
        "surely_beats_baseline": counts.surely_beats_baseline,
        **select_json_keys(agreement, "disagreements=apart left_out retires", *FILE_KEYS),
    }


def html(agreement: Agreement) -> str:
    """Return a page.

    It has a picture of labels against verdicts, the rates, and the disagreements.
    """
    from evalstore.report.pages.agreement import write_page

    counts = agreement.confusion
    share = _format_percent(counts.baseline.value).strip()
    constant = f"Always saying {counts.constant} agrees on {share}"
    advantage = f"{constant}; {_describe_advantage(counts)}." if counts.rows else ""
    head = [_describe_rows(agreement), _describe_verdicts(agreement)]  # its heading names the judge
    cases = list(map(_write_case, agreement.apart))
    return write_page(agreement, head=head, advantage=advantage, cases=cases)


def _describe_rows(agreement: Agreement) -> str:
    against = f", of {make_printable(agreement.against.ref)}" if agreement.against else ""
    return (
        f"{count_noun(agreement.confusion.rows, 'row')} of "
        f"{make_printable(agreement.labels)}{against}"
    )


def _describe_verdicts(agreement: Agreement) -> str:
    read, judged_count = agreement.read, agreement.confusion.rows - agreement.read
    engines = (
        (
            f" by {make_excerpt(', '.join(agreement.engines), 60)}, "
            f"{format_score(agreement.threshold)} or more is a pass"
        )
        if judged_count
        else ""
    )
    return f"verdicts: {read:,} read from the labels, {judged_count:,} given{engines}"


def _confusion_table(agreement: Agreement) -> Iterator[str]:
    counts = agreement.confusion
    yield f"{'':12}{'judge: pass':>13}{'judge: fail':>13}{'':14}{'95 % interval':>20}"
    yield (
        f"{'label: pass':12}{counts.true_pass:>13,}{counts.false_fail:>13,}     "
        f"{format_rate('TPR  ', counts.tpr)}"
    )
    yield (
        f"{'label: fail':12}{counts.false_pass:>13,}{counts.true_fail:>13,}     "
        f"{format_rate('TNR  ', counts.tnr)}"
    )


def format_rate(name: str, rate: Rate) -> str:
    """Return a rate with its interval after a name, which is padded to the width of the others."""
    if not rate.of:
        return f"{name}undefined without such rows"
    return f"{name}{_format_percent(rate.value)}   {format_interval(rate.interval)}"


def _summary_lines(agreement: Agreement) -> Iterator[str]:
    counts = agreement.confusion
    hits = f"{counts.accuracy.hits:,} of {count_noun(counts.rows, 'row')}"
    yield (
        f"agreement  {_format_percent(counts.accuracy.value)}   "
        f"{format_interval(counts.accuracy.interval)}   {hits}"
    )
    constant = (
        f"baseline   {_format_percent(counts.baseline.value)}   always saying {counts.constant}"
    )
    yield f"{constant}; {_describe_advantage(counts)}"
    if counts.kappa is None:
        yield f"kappa            -   undefined: every label and every verdict is {counts.constant}"
    else:
        yield (
            f"kappa      {float(counts.kappa):>7.3f}   {_kappa_word(counts.kappa)} agreement "
            "beyond chance"
        )


def _describe_advantage(counts: Confusion) -> str:
    """Return how the judge compares with a constant answer."""
    points = float((counts.accuracy.hits - counts.baseline.hits) * Fraction(100, counts.rows))
    beats = "does not beat it"
    if counts.beats_baseline:
        sure = (
            "significant"
            if counts.surely_beats_baseline
            else f"could be chance ({count_noun(counts.rows, 'row')})"
        )
        beats = f"beats it by {points:.1f} points, {sure}"
    return f"the judge {beats}"


def _kappa_word(kappa: Fraction) -> str:
    return next(word for most, word in _KAPPA_WORDS if kappa <= most)


def _list_cases(title: str, count: int, rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        cut = f"; the first {_LIST_LIMIT}" if count > _LIST_LIMIT else ""
        yield f"{title} {count_noun(count, 'row')}{cut}:"
        yield format_columns(rows[:_LIST_LIMIT])


def _write_unjudged_row(case: LabelledCase) -> Sequence[str]:
    return f"  line {case.line}", make_excerpt(case.id, 30), make_excerpt(case.reason, 120)


def _write_case(case: LabelledCase) -> tuple[str, ...]:
    """Return the cells of a disagreement on a page."""
    verdict, reason = _format_verdict(case), make_excerpt(case.reason, _REASON)
    return str(case.line), case.id, str(case.label), verdict, reason


def _disagreement_row(agreement: Agreement, case: LabelledCase) -> Sequence[str]:
    # The reason begins with it.
    name = f"{agreement.judge.ref.partition('@')[0]}@{agreement.judge.version}"
    reason = case.reason.removeprefix(f"{name} ")
    reason = reason if case.score is None else reason.removeprefix(f"{format_score(case.score)}: ")
    return (
        f"  line {case.line}",
        make_excerpt(case.id, 30),
        f"label {case.label}",
        f"judge {_format_verdict(case)}",
        make_excerpt(reason, 60),
    )


def _format_verdict(case: LabelledCase) -> str:
    return str(case.verdict) if case.score is None else f"{case.verdict} {format_score(case.score)}"


def list_file_lines(
    measured: Agreement | JudgeNoise | JudgeReplacement, screen: Screen
) -> Iterator[str]:
    """Yield what a measurement changes in the judge's file, and whether that is written."""
    if not measured.diff:
        yield f"{measured.written or 'the file'} already says so"
        return
    yield (
        f"written into {make_printable(measured.written)}:"
        if measured.written
        else "would be written:"
    )
    yield from screen.paint_diff(measured.diff)


def _format_percent(share: Fraction | None) -> str:
    return f"{format_percent(share, 1) + ' %' * (share is not None):>7}"


def _describe_failed_example(one: GradedExample) -> str:
    expected = describe_expected(one.example.expected)
    return f"  example {one.example.number} expects {expected}, gets {one.got}"


def text_examples(results: ExampleResults, screen: Screen = PAPER) -> str:
    """Return the examples whose results are not as expected, if any.

    Those that were not graded follow.
    """
    ref, count = make_printable(results.ref), count_noun(len(results.examples), "example")
    failed = [one for one in results.examples if one.is_failed]
    ungraded = [one for one in results.examples if one.result is None]
    lines: list[str] = []
    if failed:
        head = (
            f"{len(failed):,} of {count} of {ref} {'does' if len(failed) == 1 else 'do'} not get "
            "what is expected"
        )
        lines += screen.wrap(head, inner="", part=Part.MAJOR)
        lines += screen.shorten_list(list(map(_describe_failed_example, failed)))
    if ungraded:
        reason = make_excerpt(ungraded[0].why)
        lines += screen.wrap(f"{len(ungraded):,} of {count} of {ref} could not be graded: {reason}")
    if results.calls:
        lines += screen.wrap(
            f"{count_noun(results.calls, 'judge call')} would grade the rest: --judge-url URL"
        )
    return "\n".join(
        lines or [f"{count} of {ref}: {'as' if len(results.examples) == 1 else 'all as'} expected"]
    )


def document_examples(results: ExampleResults) -> dict[str, Any]:
    """Return the JSON document."""
    examples = [write_graded_example(one) for one in results.examples]
    return {
        **select_json_keys(results, "ref all_met"),
        "examples": examples,
        "calls": results.calls,
    }


def text_plan(plan: CallPlan, screen: Screen = PAPER) -> str:
    """Return the number of calls, and a row for each judge and model."""
    return "\n".join(_plan_lines(plan, screen))


def document_plan(plan: CallPlan) -> dict[str, Any]:
    """Return the document that schema/output/plan.schema.json describes."""
    return {
        "calls": plan.calls,
        "kept": plan.reuse_count,
        "judges": [asdict(group) for group in plan.groups],
    }


def _plan_lines(plan: CallPlan, screen: Screen) -> Iterator[str]:
    reuse = f"; answers that are kept: {plan.reuse_count:,}" if plan.reuse_count else ""
    yield f"judge calls to make: {plan.calls:,}{reuse}"
    if plan.groups:
        head = ("JUDGE", "MODEL", "CALLS", "PROMPT CHARACTERS")
        table = format_columns([head, *map(_list_group_cells, plan.groups)], right={2, 3})
        first, *lines = (f"  {line}" for line in table.splitlines())
        yield from (screen.paint(Part.QUIET, first), *lines)


def _list_group_cells(group: CallGroup) -> tuple[str, str, str, str]:
    return group.judge, group.model, f"{group.calls:,}", f"{group.characters:,}"
