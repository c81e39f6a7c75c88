"""Renders what a probed rubric gives, as text and JSON: the texts first, then the mutants that nothing tells apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalstore.model import Verdict
from evalstore.report.text_layout import PAPER, Part, Screen, format_percent, join_blocks, join_names, wrap_columns
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.scoring.probes import ProbedText, RubricProbe


_EXCERPT, _IDS = 60, 5


def text(probe: RubricProbe, screen: Screen = PAPER) -> str:
    """Return the sentence, the table of texts, who got what was not wanted, and the surviving mutants."""
    rows = [_HEAD, *map(_make_row, probe.texts)]
    return join_blocks(
        _paint_head(probe, screen) if probe.texts else "",
        wrap_columns(rows, screen.width, right={1, 2, 3, 4}) if probe.texts else "",
        screen.wrap(*(_describe_wrong(one) for one in probe.texts if one.wrong)),
        _describe_examples(probe, screen),
        _describe_survivors(probe, screen),
        screen.wrap(*_list_notes(probe)),
    )


_HEAD = ("text", "score", "passes", "fails", "unscored", "wanted")


def _make_row(one: ProbedText) -> tuple[str, ...]:
    counts = (f"{one.verdicts.get(verdict, 0):,}" for verdict in (Verdict.PASS, Verdict.FAIL, Verdict.UNSCORED))
    return one.name, format_percent(one.mean), *counts, f"{one.wanted}{', and does not' if one.wrong else ''}"


def _paint_head(probe: RubricProbe, screen: Screen) -> list[str]:
    wrong = [one for one in probe.texts if one.wrong]
    on = f" on {count_noun(probe.questions, 'question')} of {probe.dataset}" if probe.dataset else ""
    scored = [one for one in probe.texts if one.verdicts.keys() - {Verdict.UNSCORED}]
    if not scored:
        sentence = f"{probe.ref} has a verdict on none of {count_noun(len(probe.texts), 'text')}{on}"
    elif wrong:
        sentence = f"{probe.ref} gets {len(wrong):,} of {count_noun(len(scored), 'text')} wrong{on}"
    else:
        sentence = f"{probe.ref} gets none of {count_noun(len(scored), 'text')} wrong{on}"
    return screen.wrap(sentence, inner="", part=Part.MAJOR if wrong else Part.HEAD)


def _describe_wrong(one: ProbedText) -> str:
    verb = "fails" if one.wanted is Verdict.PASS else "passes"
    where = f" on {join_names((make_excerpt(id_, _EXCERPT) for id_ in one.wrong), _IDS)}" if one.wrong[0] else ""
    return f'{one.name} {verb}{where}: "{make_excerpt(one.example, _EXCERPT)}"'


def _describe_examples(probe: RubricProbe, screen: Screen) -> Iterator[str]:
    if not probe.examples:
        return
    total = f"{count_noun(len(probe.examples), 'example')} of {probe.ref}"
    failed = [one for one in probe.examples if one.is_failed]
    sentence = f"{len(failed):,} of {total} {'gets' if len(failed) == 1 else 'get'} something else than expected"
    if failed:
        yield from screen.wrap(sentence, inner="", part=Part.MAJOR)
        rows = (f"  example {one.example.number} expects {one.example.expected}, gets {one.got}" for one in failed)
        yield from screen.shorten_list([*rows])
    reasons = [one.why for one in probe.examples if one.result is None]
    if reasons:
        why = f"{len(reasons):,} of {total} could not be graded: {make_excerpt(reasons[0])}"
        yield from screen.wrap(why)
    elif not failed:
        yield from screen.wrap(f"{total} {'gets' if len(probe.examples) == 1 else 'get'} what is expected", inner="")


def _describe_survivors(probe: RubricProbe, screen: Screen) -> Iterator[str]:
    if not probe.mutants:
        return
    outputs = count_noun(probe.outputs, "output")
    if not probe.survivors:
        yield from screen.wrap(f"{outputs} tell each of {probe.mutants:,} mutants from the rubric", inner="")
        return
    count = f"{len(probe.survivors):,} of {count_noun(probe.mutants, 'mutant')}"
    yield from screen.wrap(f"{count} score all of {outputs} as the rubric does:", inner="")
    yield from screen.shorten_list([f"  {make_printable(one.message)}" for one in probe.survivors])


def _list_notes(probe: RubricProbe) -> Iterator[str]:
    if probe.dataset is None and probe.texts:
        yield "to try questions and references too, name a dataset: --dataset REF"
    if probe.calls:
        yield f"{count_noun(probe.calls, 'judge call')} would grade the rest: name an endpoint with --judge-url"
    yield from (f"note: {make_printable(note)}" for note in probe.notes)
    if undecided := sum(one.undecided for one in probe.texts):
        tried = sum(sum(one.verdicts.values()) for one in probe.texts)
        yield f"{undecided:,} of {count_noun(tried, 'verdict')} depend on that, so --exit-code fails"
