"""Words a run: its result, which of its outputs were requested, and what each is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from evalstore.report.text_layout import format_percent, join_names
from evalstore.text import SHORT_EXCERPT, count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.runs import GradedRow, Run
    from evalstore.runs.run_view import RunView
    from evalstore.runs.values import SeriesMean
    from evalstore.statistics import CorrectedShare, Interval


_NAMED = 3  # artifacts in a sentence


def name_output(row: GradedRow) -> str:
    """Return the question of an output, and its number unless it is the first one to it."""
    return f"{row.id}, sample {row.sample + 1}" if row.sample else row.id


def count_unreleased(run: Run) -> str:
    """Return how many artifacts graded a run unreleased: `1 dataset and 3 rubrics`."""
    kinds = Counter(ref.partition("/")[0] for ref in _list_unreleased(run))
    return join_names(count_noun(count, kind) for kind, count in kinds.items())


def _list_unreleased(run: Run) -> Iterator[str]:
    used = (run.dataset, *run.rubrics, *run.judges)
    return (pinned.ref for pinned in used if pinned is not None and pinned.tag is None)


def describe_score(run: Run) -> str:
    """Return what a run's score is the mean of, or why there is none, and what is missing."""
    if run.is_withheld:
        parts = [f"{run.ungraded}; {_describe_rest(run)}"]
    else:
        parts = [
            f"mean of {count_noun(run.scored, 'scored question')}, in points of 100",
            run.ungraded,
        ]
    if run.without_output:
        parts.append(f"{_count_silent(run)} no answer")
    parts += _list_doubts(run)
    return "; ".join(filter(None, parts))


def describe_coverage(run: Run) -> str:
    """Return how many of the gradings that the rubrics ask for were made.

    It names the checks that made none.
    """
    names = [make_excerpt(id_, SHORT_EXCERPT) for id_ in run.empty_checks]
    empty = f"; {join_names(names, _NAMED)} had nothing to grade on any output" if names else ""
    return f"{run.coverage}{empty}"


def describe_usage(run: Run) -> str:
    """Return the tokens of the judges' replies, and what the run's own replies cost.

    It is empty if no reply says so.
    """
    read, written = (
        int(run.harness.get(f"replies_{name}_tokens", 0)) for name in ("prompt", "completion")
    )
    cost = run.harness.get("replies_cost")
    parts = [f"{read:,} tokens read, {written:,} written"] if read or written else []
    return "; ".join([*parts, *([f"cost {make_printable(cost)}"] if cost else [])])


def _list_doubts(run: Run) -> Iterator[str]:
    """Yield why the outputs may not be the answers they are graded as, or not all of them."""
    if run.log_status:
        yield f"the log is incomplete ({make_printable(run.log_status)})"
    if run.asked_otherwise:
        were = "was" if run.asked_otherwise == 1 else "were"
        yield f"{count_noun(run.asked_otherwise, 'output')} {were} asked something else"
    if run.unread_rows:
        yield f"{count_noun(run.unread_rows, 'row')} could not be read"


def _describe_rest(run: Run) -> str:
    return (
        "the rest has no score"
        if run.rest_score is None
        else f"the rest: {format_percent(run.rest_score)}"
    )


def _count_silent(run: Run) -> str:
    return (
        f"{count_noun(run.without_output, 'question')} "
        f"{'has' if run.without_output == 1 else 'have'}"
    )


def describe_run(view: RunView) -> Iterator[str]:
    """Yield the result of the run in sentences."""
    run = view.run
    if run.series:
        yield from _describe_series(run.series)
    elif run.is_withheld:
        yield f"It has no score, because gradings failed: {run.ungraded}; {_describe_rest(run)}."
    elif run.score is None:
        yield "Nothing in it has a score."
    else:
        counted = f" of {run.questions:,}" if run.unscored else ""
        noun = "question" if run.questions == 1 else "questions"
        over = f" over {run.scored:,}{counted} {noun}" if run.scored else ""
        failed = f"; {run.ungraded}" if run.ungraded else ""
        yield f"The mean score is {format_percent(run.score)}{over}{_describe_passes(run)}{failed}."
    if run.coverage.asked and (run.dataset is not None or run.coverage.graded < run.coverage.asked):
        yield f"Coverage: {describe_coverage(run)}."
    if run.unreleased:
        yield f"Unreleased: it was graded by {join_names(_list_unreleased(run), _NAMED)}."
    if run.outputs > run.questions:
        yield (
            f"{run.outputs:,} outputs are samples of {count_noun(run.questions, 'question')}, each "
            "by its mean."
        )
    if usage := describe_usage(run):
        yield f"Replies of its judges: {usage}."
    if run.without_output:
        yield f"{count_noun(run.without_output, 'question')} without an output: counted in no mean."
    if doubts := "; ".join(_list_doubts(run)):
        yield f"{doubts[0].upper()}{doubts[1:]}."


def _describe_series(series: Sequence[SeriesMean]) -> Iterator[str]:
    """Yield the mean of each configuration, and how far it is from the baseline."""
    names = [make_excerpt(one.name, SHORT_EXCERPT) or "(none)" for one in series]
    base = next(name for name, one in zip(names, series, strict=True) if one.is_baseline)
    for name, one in zip(names, series, strict=True):
        mean = f"{name}: {format_percent(one.score)} over {count_noun(one.questions, 'question')}"
        if one.difference is None:
            yield f"{mean}."
            continue
        side = "below" if one.difference < 0 else "above"
        gap = (
            f"{format_percent(abs(one.difference))} points {side}"
            if one.difference
            else "as much as"
        )
        both = "" if one.common == one.questions else f" on the {one.common:,} that both have"
        yield f"{mean}, {gap} {base}{both}."


def _describe_passes(run: Run) -> str:
    if run.pass_rate is None:
        return ""
    rate = format_percent(run.pass_rate)
    # With samples it is the mean of the questions' shares: a question can pass in part.
    return (
        f", and the pass rate is {rate} %"
        if run.outputs > run.questions
        else f", and {rate} % of them pass"
    )


def describe_choice(view: RunView) -> str:
    """Return which outputs were requested; empty if all were."""
    choice = view.choice
    parts: list[str] = []
    if choice.check is not None:
        passed = "did not pass" if choice.failed else "looked at"
        parts.append(f"that {choice.check} {passed}")
    elif choice.failed:
        parts.append("that did not pass")
    if choice.question is not None:
        parts.append(f"of {choice.question}")
    if not parts:
        return ""
    outputs = count_noun(view.total, "output")
    return f"Shown: {view.found:,} of {outputs}, those {' '.join(parts)}."


def describe_correction(share: CorrectedShare) -> Iterator[str]:
    """Yield a pass rate as judged, and without the judge's errors, whose interval comes last."""
    yield f"{share.judged * 100:.2f}"
    yield f"{share.share * 100:.2f}"
    yield format_interval(share.interval)


def format_interval(interval: Interval | None) -> str:
    """Format the interval of a share, in hundredths; the whole range if nothing is known."""
    low, high = interval or (0.0, 1.0)
    return f"{low * 100:>5.1f} to {high * 100:>5.1f}"
