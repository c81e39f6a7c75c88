"""Renders an audit as text and JSON: the answer, then the factors and lines that add up to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

from evalstore.audits import Audit, Factor, Lines, Origin
from evalstore.audits.claims import describe_certainty, format_p
from evalstore.audits.values import OWN_FACTORS, FactorName, RunSide
from evalstore.audits.wording.answer import write_answer
from evalstore.audits.wording.factors import describe_least, has_other_prompt, name_own, name_prompt
from evalstore.audits.wording.gaps import describe_empty_checks
from evalstore.audits.wording.points import format_points, shorten_claims
from evalstore.report.blame import describe_origin
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_percent,
    join_blocks,
    wrap_columns,
)
from evalstore.statistics import Conclusion
from evalstore.text import count_noun, make_excerpt

_WIDTH = 80  # of the terminal for which lines are counted
_MOST_LINES, _BLANK_LINES, _FEWEST_DETAILS = 20, 3, 1  # in the text without --verbose
_MOST_SENTENCE, _MOST_ROWS, _FEWEST_ROWS = 3, 5, 2
_ANSWERS = {"Yes": Part.PATCH, "No": Part.MAJOR, "cannot tell": Part.MINOR}
_MOST_EDITS = 10
_NAME_WIDTH = 44
_EDIT_MARGIN = 4  # the column where an edit begins, below its author's name
_EDIT_WORDS, _NOTE_WORDS = 13, 6  # the columns where the words of an edit and of a note continue
_MESSAGE = 160
_SHORT_PIN = len("git:") + 7
_DEFINITIONS = frozenset({FactorName.RUBRIC, FactorName.JUDGE, FactorName.DATASET})
_NO_BREAK = "\u00a0"  # keeps an id and its points on one line


def text(
    audit: Audit, screen: Screen = PAPER, *, slices: Sequence[str] = (), results: Sequence[str] = ()
) -> str:
    """Return the answer, the waterfall, whose edits moved it, and the answer again.

    Points are hundredths.

    `slices` is a separate table, and `results` are the answers to conditions, one per line.
    --verbose also shows how sure each share is, and which questions it moved most; without it,
    everything has at most 20 lines at 80 columns.
    """
    head = _write_head(audit, screen)
    verdict = [*results, *_write_verdict(audit, screen)]
    table = _format_waterfall(audit, screen, max(_MOST_ROWS - len(results), _FEWEST_ROWS))
    if screen.whole:
        details = [
            *(_format_factor(factor, screen) for factor in _order_factors(audit)),
            _list_rest(audit, screen),
        ]
    else:
        most = _MOST_LINES * max(screen.width, _WIDTH) // screen.width
        room = most - len(head) - len(table) - len(verdict) - _BLANK_LINES
        details = [_list_details(audit, screen, max(room, _FEWEST_DETAILS))]
    return join_blocks(head, table, *details, slices, verdict)


def document(audit: Audit) -> dict[str, Any]:
    """Return the document that schema/output/audit.schema.json describes."""
    return {
        "answer": write_answer(audit),
        **select_json_keys(audit, "sentence delta passes_delta a b common"),
        "common_scores": select_json_keys(audit, "a=common_a b=common_b"),
        **select_json_keys(audit, "factors lines"),
        # Also at the root, where the first version had them.
        **select_json_keys(audit.lines, "mix=mix.score not_reproduced=not_reproduced.score"),
        "own": {**write_json_value(audit.own), "as_zero": write_json_value(audit.own_as_zero)},
        **select_json_keys(
            audit,
            (
                "drift flips input_changed input_edits pairs_by_input outputs price judge_noise "
                "assumption notes"
            ),
        ),
    }


def _write_head(audit: Audit, screen: Screen) -> list[str]:
    """Return what moved the score, and whether the outputs are better.

    A long sentence is broken between its claims.
    """
    whole = screen.wrap(audit.sentence, inner="", part=Part.HEAD)
    room = _MOST_SENTENCE * max(screen.width, _WIDTH) * 9 // 10
    is_long = not screen.whole and len(whole) > _MOST_SENTENCE
    cut = shorten_claims(audit.sentence, room)
    sentence = screen.wrap(cut, inner="", part=Part.HEAD) if is_long else whole
    return [*sentence, *_paint_answer(write_answer(audit), screen)]


def _paint_answer(answer: str, screen: Screen) -> list[str]:
    """Return the lines on whether the outputs are better, each answer in its colour."""
    return [screen.paint_words(line, _ANSWERS) for line in screen.wrap(answer)]


def _write_verdict(audit: Audit, screen: Screen) -> list[str]:
    """Return the shares on one line, largest first, and again whether the outputs are better."""
    shares = sorted(_list_shares(audit), key=lambda one: -abs(one[1]))
    listing = ", ".join(f"{label} {format_points(share)}" for label, share in shares if share)
    line = f"{format_points(audit.delta)} points{': ' if listing else ''}{listing}"
    return [
        screen.paint_change(shorten_claims(line, screen.width)),
        *_paint_answer(write_answer(audit), screen),
    ]


def _order_factors(audit: Audit) -> list[Factor]:
    """Return the factors that changed, largest share first."""
    changed = (factor for factor in audit.factors if factor.changed)
    return sorted(changed, key=lambda factor: (-abs(factor.share), -abs(factor.passes)))


class _Row(NamedTuple):
    """A row of the waterfall: a factor or a line, its effect, and how many questions it moved."""

    name: str
    score: Fraction
    passes: Fraction
    moved: str
    about: str

    def list_cells(self) -> tuple[str, ...]:
        """Return the row as text, its effects in points."""
        return self.name, *map(format_points, (self.score, self.passes)), self.moved, self.about


def _list_shares(audit: Audit) -> Iterator[tuple[str, Fraction]]:
    """Yield each factor and each line by its label, with its share of the difference."""
    for factor in audit.factors:
        yield factor.label, factor.share
    for name, line in audit.lines.by_name.items():
        yield audit.lines.labels[name], line.score


def _format_waterfall(audit: Audit, screen: Screen, most: int) -> list[str]:
    """Return the lines that lead from A's score to B's, largest share first.

    Beyond `most`, the smallest shares are joined in one line; with --verbose each has its own.
    """
    rows = _list_rows(audit)
    if not screen.whole and len(rows) > most:
        rows = [*rows[: most - 1], _join_rows(rows[most - 1 :])]
    is_whole = all(side.coverage.graded == side.coverage.asked for side in (audit.a, audit.b))
    is_named = has_other_prompt(audit.a, audit.b)
    cells = [
        ("points", "score", "passes", "questions", ""),
        _list_side_cells("A", audit.a, is_whole=is_whole, is_named=is_named),
        *(row.list_cells() for row in rows),
        _list_side_cells("B", audit.b, is_whole=is_whole, is_named=is_named),
    ]
    if screen.width < _WIDTH:  # no room for the names of the datasets
        cells = [(*row[:-1], row[-1].partition(", dataset/")[0]) for row in cells]
    lines = wrap_columns(cells, screen.width, right={1, 2, 3})
    head, *table = (make_excerpt(line, screen.width) for line in lines)
    return [screen.paint(Part.QUIET, head), *map(screen.paint_change, table)]


def _list_rows(audit: Audit) -> list[_Row]:
    """Return a row for each factor that changed and each line, largest share first."""
    lines = audit.lines
    about = {
        "mix": _describe_mix(lines),
        "no_answer": _describe_silence(lines),
        "nothing_to_grade": describe_empty_checks(lines),
        "judge_errors": count_noun(len(lines.errors), "question"),
        "not_reproduced": count_noun(len(audit.drift), "result"),
    }
    rows = [_write_factor_row(one, audit.common) for one in audit.factors if one.changed]
    for name, one in lines.told.items():
        rows.append(_Row(lines.labels[name], one.score, one.passes, "", about[name]))
    return sorted(rows, key=lambda row: (-abs(row.score), -abs(row.passes)))


def _write_factor_row(factor: Factor, common: int) -> _Row:
    moved = f"{factor.moved:,} of {common:,}"
    return _Row(factor.label, factor.share, factor.passes, moved, describe_certainty(factor))


def _join_rows(rows: Sequence[_Row]) -> _Row:
    """Return one row for several, with the sums of their effects."""
    score = sum((one.score for one in rows), Fraction(0))
    passes = sum((one.passes for one in rows), Fraction(0))
    return _Row(f"{len(rows)} others", score, passes, "", "")


def _list_side_cells(
    name: str, side: RunSide, *, is_whole: bool, is_named: bool
) -> tuple[str, ...]:
    """Return the row of one run.

    It has the coverage of its mean unless both runs are complete. `is_named` adds its prompt,
    because the other run has a different one.
    """
    # For a run without a score, these are the values of its graded rest.
    around = "({})" if side.ungraded else "{}"
    means = (around.format(format_percent(mean)) for mean in (side.score, side.passes))
    prompt = f", {name_prompt(side.prompt)}" if is_named else ""
    model = f"{make_excerpt(side.model, _NAME_WIDTH)}{prompt}"
    about = model if is_whole else describe_side(model, side)
    return name, *means, f"{side.scored:,}", f"{about}, {side.dataset}"


def describe_side(about: str, side: RunSide) -> str:
    """Return what a run was made from and, if known, the coverage of its mean."""
    coverage = f", {side.coverage}" if side.coverage.asked else ""
    return f"{make_excerpt(about, _NAME_WIDTH)}{coverage}"


def _list_details(audit: Audit, screen: Screen, room: int) -> list[str]:
    """Return the edits that moved most with their authors, and what else to know.

    It takes at most `room` lines.
    """
    factors = (one for one in _order_factors(audit) if one.members != (FactorName.OUTPUTS,))
    edits = [line for factor in factors for line in _format_causes(factor, screen)]
    notes = _list_warnings(audit, screen)
    rest = len(edits) + len(notes) - room
    if rest <= 0:
        return [*edits, *notes]
    kept = min(len(notes), max(room // 2, room - 1 - len(edits)))
    first = _cut_lines(edits, room - 1 - kept, screen.width, inner=_EDIT_WORDS)
    shown = [*first, *_cut_lines(notes, kept, screen.width, inner=_NOTE_WORDS)]
    return [
        *shown,
        screen.paint(
            Part.QUIET, f"{len(edits) + len(notes) - len(shown):,} more lines with --verbose"
        ),
    ]


def _cut_lines(lines: Sequence[str], most: int, width: int, *, inner: int) -> list[str]:
    """Return the first lines, with a mark where one continues.

    If all edits of a name are left out, so is the name.
    """
    shown, rest = [*lines[:most]], lines[most:]
    if not shown or not rest:
        return shown
    after = _measure_margin(rest[0])
    if after == inner:
        shown[-1] = f"{shown[-1][: width - 2]} …"
    elif _measure_margin(shown[-1]) < _EDIT_MARGIN <= after:
        shown.pop()
    return shown


def _measure_margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _describe_mix(lines: Lines) -> str:
    mix = lines.questions
    counts = ((mix.added, "added"), (mix.removed, "removed"))
    return ", ".join(f"{len(ids):,} {word}" for ids, word in counts if ids)


def _describe_silence(lines: Lines) -> str:
    silent = {"A": lines.silent_a, "B": lines.silent_b}
    sides = ", ".join(f"{len(ids):,} in {run}" for run, ids in silent.items() if ids)
    return f"{sides}; {format_points(lines.no_answer_as_zero.score)} if they count 0"


def _format_factor(factor: Factor, screen: Screen) -> list[str]:
    about = []
    if factor.conclusion is Conclusion.NOT_RESOLVABLE and factor.detectable:
        about.append(f"of a mean, these questions {describe_least(factor.detectable, 1)}")
    if factor.order[0] != factor.order[1]:
        low, high = map(format_points, factor.order)
        about.append(f"{low} to {high} depending on whose answers it is measured on")
    if factor.p is not None and factor.moved:
        # A share estimated by anchors is tested against them.
        test = (
            "Welch"
            if factor.anchors and not OWN_FACTORS.isdisjoint(factor.members)
            else "sign-flip"
        )
        about.append(f"{test} p {format_p(factor.p)}")
    if factor.typical and factor.typical.direction:
        about.append(f"sign test p {format_p(factor.typical.p)}")
    details = f"   ({'; '.join(about)})" if about else ""
    head = f"{factor.label} {format_points(factor.share)}{details}"
    first, *rest = screen.wrap(head)
    return [
        screen.paint_change(first),
        *rest,
        *_format_causes(factor, screen),
        *_format_worst(factor, screen),
    ]


def _format_causes(factor: Factor, screen: Screen) -> Iterator[str]:
    effective_causes = [
        cause for cause in factor.causes if cause.share or cause.passes or cause.moved
    ]
    first_causes = effective_causes[:_MOST_EDITS]
    for origin in dict.fromkeys(cause.source.origin for cause in first_causes):
        origin_words = _format_origin(origin) if screen.whole else _name_people(origin)
        yield from screen.wrap(origin_words, lead="  ", inner="      ")
        for cause in (cause for cause in first_causes if cause.source.origin == origin):
            margin = f" ± {cause.error * 100:.2f}" if cause.error else ""
            passes = (
                f" ({format_points(cause.passes)} passes)"
                if cause.passes and not cause.share
                else ""
            )
            message = make_excerpt(cause.source.message or cause.source.part, _MESSAGE)
            rule = f"{cause.source.rule}: " if cause.source.rule and screen.whole else ""
            lead = f"{' ' * _EDIT_MARGIN}{format_points(cause.share):>7}{margin}{passes}  "
            lines = screen.wrap(f"{rule}{message}", lead=lead, inner=" " * _EDIT_WORDS)
            yield from (*map(screen.paint_change, lines[:1]), *lines[1:])
    if len(effective_causes) > _MOST_EDITS:
        yield f"  {count_noun(len(effective_causes) - _MOST_EDITS, 'other edit')} moved less"
    if (silent_count := len(factor.causes) - len(effective_causes)) and screen.whole:
        yield (
            f"  {count_noun(silent_count, 'other edit' if effective_causes else 'edit')} moved "
            "nothing"
        )


def _format_worst(factor: Factor, screen: Screen) -> Iterator[str]:
    if factor.worst:
        names = [make_excerpt(question.id, _NAME_WIDTH) for question in factor.worst]
        shares = [format_points(question.share) for question in factor.worst]
        listing = ", ".join(map(_NO_BREAK.join, zip(names, shares, strict=True)))
        lines = screen.wrap(f"moved most: {listing}", lead="  ", inner="    ")
        yield from (line.replace(_NO_BREAK, " ") for line in lines)


def _format_origin(origin: Origin) -> str:
    step = f"{origin.ref} " if origin.ref else ""
    old, new = (make_excerpt(_shorten_pin(pin), _NAME_WIDTH) for pin in (origin.old, origin.new))
    return f"{step}{old} -> {new}   {describe_origin(origin)}".rstrip()


def _name_people(origin: Origin) -> str:
    """Name who made an edit, when, and in which artifact."""
    # A question that got another rubric had its pin changed.
    pins = f": {origin.old} → {origin.new}" if "@" in origin.old and "@" in origin.new else ""
    return (
        f"{describe_origin(origin)} ({origin.ref}{pins})".lstrip()
        if origin.ref
        else describe_origin(origin)
    )


def _shorten_pin(pin: str) -> str:
    return pin[:_SHORT_PIN] if pin.startswith("git:") else pin


def _list_rest(audit: Audit, screen: Screen) -> list[str]:
    facts = screen.wrap(*_format_verdicts(audit), *_format_own(audit))
    done = [] if audit.drift or not audit.common else ["Both runs reproduced."]
    return [*facts, *_list_warnings(audit, screen), *done]


def _list_warnings(audit: Audit, screen: Screen) -> list[str]:
    """Return what to know next to the shares: failures, drift, the price, and notes."""
    lines = screen.wrap(*_format_failures(audit.lines), *_format_price(audit))
    if audit.drift:
        lines.append(f"{count_noun(len(audit.drift), 'recorded result')} not reproduced:")
    for drift in audit.drift[:_MOST_EDITS]:
        place = f"{drift.run} {make_excerpt(drift.id, _NAME_WIDTH)}"
        lines.append(f"  {place}: {make_excerpt(drift.what, 60)}")
    # Nothing that the answer says is repeated.
    asides = {one.lower() for one in audit.asides}
    notes = (f"note: {note}" for note in audit.notes if note.lower() not in asides)
    return [*lines, *screen.wrap(*notes, inner=" " * _NOTE_WORDS)]


def list_facts(audit: Audit) -> Iterator[str]:
    """Yield what is said below the waterfall, about a sentence each.

    These are verdicts, the outputs' own share, the price and notes.
    """
    yield from _format_verdicts(audit)
    yield from _format_own(audit)
    yield from _format_price(audit)
    yield from audit.notes


def _format_verdicts(audit: Audit) -> Iterator[str]:
    flips = audit.flips
    # Chance is a question only for sampled outputs.
    has_edits = any(
        factor.flipped and _DEFINITIONS.issuperset(factor.members) for factor in audit.factors
    )
    aside = ", without what the rubrics changed" if has_edits else ""
    chance = "" if flips.mid_p is None else f" (McNemar mid-p {format_p(flips.mid_p)}{aside})"
    by = [f"{len(ids):,} by {name.replace('_', ' ')}" for name, ids in flips.by.items()]
    several = sum(number > 1 for number in Counter(chain.from_iterable(flips.by.values())).values())
    by += [f"{several:,} of them by more than one"] if several else []
    counts = (
        f"{len(flips.pass_to_fail):,} from pass to fail, {len(flips.fail_to_pass):,} from fail to "
        "pass"
    )
    yield f"verdicts: {counts}{': ' if by else ''}{', '.join(by)}{chance}"


def _format_own(audit: Audit) -> Iterator[str]:
    own = audit.own
    if any(factor.changed and {"outputs", "input"} & {*factor.members} for factor in audit.factors):
        mean, old, new = map(_format_own_points, (own.shapley, own.old, own.new))
        yield f"{name_own(audit)} alone: {mean}; under A's rubrics {old}, under B's {new}"


def _format_own_points(points: Fraction | None) -> str:
    return "unknown" if points is None else format_points(points)


def _format_failures(lines: Lines) -> Iterator[str]:
    for failed in lines.failed_checks[:_MOST_EDITS]:
        count = count_noun(failed.questions, "question")
        where = f"{make_excerpt(failed.check, _NAME_WIDTH)} failed in {failed.run} on {count}"
        yield f"{where}: {make_excerpt(failed.error)}"


def _format_price(audit: Audit) -> Iterator[str]:
    price = audit.price
    if price.calls:
        is_joint = any(len(factor.members) > 1 for factor in audit.factors)
        what = "separate the joint shares" if is_joint else "replace the estimates"
        yield f"{count_noun(price.calls, 'call')} of judges would {what} (--ask with --judge-url)"
    if price.steps > price.calls:
        yield (
            f"{count_noun(price.steps, 'call')} would also separate the versions of the judge "
            "(--judge-url)"
        )
