"""Writes two runs as a page: both outputs to each question side by side, differences marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from evalstore.audits.wording.points import format_points
from evalstore.model import CheckResult, Verdict
from evalstore.report.blame import describe_origin, describe_source
from evalstore.report.pages.filters import FilterMenu
from evalstore.report.pages.html import (
    MOST_CHARACTERS,
    escape_html,
    generate_page,
    join_markup,
    mark_pieces,
    render_template,
)
from evalstore.report.pages.row_file import ListKeys, RowPages
from evalstore.report.pages.row_writer import (
    LOOKS,
    NO_TAGS,
    RowWriter,
    Tags,
    choose_menus,
    swap_keys,
    write_number,
)
from evalstore.report.run_words import name_output
from evalstore.report.text_layout import join_names
from evalstore.text import count_noun
from evalstore.word_diff import mark_differences

if TYPE_CHECKING:
    from evalstore.audits import EditSource
    from evalstore.audits.records.pairs import PairReader, RowPair
    from evalstore.audits.values import LineEffect

_MOST_NAMES = 4
_TURNS = {-1: ("f0", "passes no more"), 1: ("f1", "passes now"), 0: ("f2", "no flip")}


def prepare_pages(  # noqa: PLR0913  # what an audit says of both runs
    reader: PairReader,
    *,
    sentence: str,
    head: Sequence[str],
    means: Sequence[Sequence[str]],
    facts: Sequence[str],
    tags: Tags = NO_TAGS,
) -> RowPages:
    """Read the pairs, each once, and render them.

    `sentence`, the table of `means` below its `head`, and `facts` say how the records differ, as in
    an audit.
    """
    writer = _PairWriter(tags, reader=reader)
    for pair in reader:
        writer.rows.add_row((*pair.rank, reader.found), writer.render_pair(pair))
    comparison = reader.comparison
    orders = {
        "change up": "the score that fell most first",
        "change down": "the score that rose most first",
        "score up": "the lowest score in B first",
    }
    return RowPages(
        generate=partial(
            generate_page,
            "pairs",
            title=f"Two runs: {comparison.a.model} to {comparison.b.model}",
            sentence=sentence,
            a=comparison.a,
            b=comparison.b,
            head=head,
            means=means,
            facts=facts,
        ),
        menus=writer.list_menus(),
        orders=orders | writer.list_orders("what fell most in"),
        order="what regressed first",
        found=reader.found,
        rows=writer.rows,
    )


@dataclass(slots=True)
class _PairWriter(RowWriter):
    """Renders pairs with the verdicts of B, and also notes flips and edits."""

    reader: PairReader = field(kw_only=True)
    edits: ListKeys = field(default_factory=lambda: ListKeys("e"))
    turns: set[int] = field(default_factory=set)

    def render_pair(self, pair: RowPair) -> Markup:
        """Return the markup of a pair."""
        from evalstore.audits.records.pairs import has_moved

        a, b = pair
        checks = [*pair.list_checks()]
        keys = {id_: self.checks[id_] for id_, _, _ in checks}
        moved = [id_ for id_, old, new in checks if has_moved(old, new)]
        edits = [self._prepare_edit(*one) for one in self.reader.edits.get(b.id, ())]
        self.turns.add(pair.turn)
        found = [_TURNS[pair.turn][0], *(keys[id_] for id_ in moved)]
        change = pair.change
        return render_template(
            "pair",
            a=a,
            b=b,
            place=self.reader.found,
            classes=self.join_classes(b.verdict, b.id, found, (edit["key"] for edit in edits)),
            score=self.scores[b.score][1],
            percents=[self.scores[row.score][0] for row in pair],
            changes=self.join_numbers({id_: _measure_change(*both) for id_, *both in checks}),
            change=write_number(change),
            looks=LOOKS,
            look=_choose_look(change),
            points=format_points(change) if change else "",
            name=name_output(b),
            why=join_names(moved, _MOST_NAMES),
            rubrics=dict.fromkeys(filter(None, (a.rubric, b.rubric))),
            tags=", ".join(self.question_tags.get(b.id, ())),
            edits=edits,
            lines=join_markup(self._render_check(*one) for one in checks),
            texts=[*_list_texts(pair)],
            cuts=[*_list_cuts(pair)],
        )

    def _render_check(self, id_: str, old: CheckResult | None, new: CheckResult | None) -> Markup:
        """Return the line of what both runs said about a check; a shared reason appears once."""
        sides = ((one.verdict, self.scores[one.score][0]) if one else None for one in (old, new))
        reasons = [
            (name, one.reason) for name, one in (("A", old), ("B", new)) if one and one.reason
        ]
        if old and new and old.reason == new.reason:
            lines = [reason for _, reason in reasons[:1]]
        else:
            lines = [f"{name}: {reason}" for name, reason in reasons]
        return _render_check_pair(id_, tuple(sides), tuple(lines))

    def _prepare_edit(self, source: EditSource, effect: LineEffect) -> dict[str, Any]:
        text, commit = source.message or source.part, source.origin.commit
        return {
            "key": self.edits[describe_source(source)],
            "effect": effect,
            "text": text,
            "people": describe_origin(source.origin),
            "page": f"{self.reader.commits}{commit}" if commit and self.reader.commits else "",
        }

    def list_menus(self) -> tuple[FilterMenu, ...]:
        """Return the menus that have a choice."""
        turns = {key: word for turn, (key, word) in _TURNS.items() if turn in self.turns}
        return choose_menus(
            FilterMenu("flip", "any", turns),
            self.make_verdict_menu("verdict in B"),
            FilterMenu("check that moved", "any check", swap_keys(self.checks)),
            FilterMenu("edit", "any edit", swap_keys(self.edits)),
            self.make_tag_menu(),
        )


@lru_cache(maxsize=4096)
def _render_check_pair(
    id_: str, sides: tuple[tuple[Verdict, str] | None, ...], reasons: tuple[str, ...]
) -> Markup:
    """Return the line of one check in both runs.

    It is cached, because many pairs have equal ones.
    """
    return render_template("check_pair", id=id_, sides=sides, reasons=reasons, looks=LOOKS)


def _choose_look(change: Fraction) -> str:
    if not change:
        return "quiet"
    return "up" if change > 0 else "down"


def _measure_change(old: CheckResult | None, new: CheckResult | None) -> str:
    if old is None or new is None or old.score is None or new.score is None:
        return ""
    return write_number(new.score - old.score) if new.score != old.score else "0"


def _list_texts(pair: RowPair) -> Iterator[tuple[str, str, Sequence[Markup]]]:
    """Yield what was asked and answered.

    Each has a heading, a class, and either one text or both with differences marked.
    """
    asked = (row.input if row.asked is None else row.asked for row in pair)
    answers = (row.output.text for row in pair)
    for heading, look, (old, new) in (("asked", "i", asked), ("answered", "o", answers)):
        if old == new:
            yield heading, look, [escape_html(old[:MOST_CHARACTERS])]
            continue
        sides = mark_differences(old[:MOST_CHARACTERS], new[:MOST_CHARACTERS])
        yield heading, look, [*map(mark_pieces, ("del", "ins"), sides)]


def _list_cuts(pair: RowPair) -> Iterator[str]:
    for name, row in zip("AB", pair, strict=True):
        if (more := len(row.output.text) - MOST_CHARACTERS) > 0:
            yield f"{more:,} more characters in {name} are in the JSON of --question ID"
        if calls := len(row.output.tool_calls or ()):
            yield f"{name} made {count_noun(calls, 'tool call')}"
