"""Writes two runs as a page: both outputs to each question side by side, with what differs marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording import format_points
from evalstore.model import CheckResult, Verdict
from evalstore.report.blame import describe_origin
from evalstore.report.pages.filters import FilterMenu
from evalstore.report.pages.html import MOST_CHARACTERS, generate_page, render_template
from evalstore.report.pages.moved import describe_source
from evalstore.report.pages.row_file import ListKeys, RowFile, RowPages
from evalstore.report.pages.run import LOOKS, NO_TAGS, VERDICTS, Tags, list_check_orders
from evalstore.report.run_words import name_output
from evalstore.report.text_layout import format_percent, join_names
from evalstore.text import count_noun
from evalstore.word_diff import mark_differences

if TYPE_CHECKING:
    from markupsafe import Markup

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

    `sentence`, the table of `means` below its `head`, and `facts` say how the records differ, as an
    audit does.
    """
    writer = _PairWriter(reader, tags)
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
            facts=[*facts, *([reader.gap] if reader.gap else [])],
        ),
        menus=writer.list_menus(),
        orders=orders | list_check_orders(writer.checks, "what fell most in"),
        order="what regressed first",
        found=reader.found,
        rows=writer.rows,
    )


@dataclass(slots=True)
class _PairWriter:
    """Renders pairs, and notes what finds them: flips, verdicts in B, checks that moved, edits, tags."""

    reader: PairReader
    question_tags: Tags
    rows: RowFile = field(default_factory=RowFile)
    checks: ListKeys = field(default_factory=lambda: ListKeys("c"))
    edits: ListKeys = field(default_factory=lambda: ListKeys("e"))
    tags: ListKeys = field(default_factory=lambda: ListKeys("t"))
    turns: set[int] = field(default_factory=set)
    verdicts: set[Verdict] = field(default_factory=set)

    def render_pair(self, pair: RowPair) -> Markup:
        """Return the markup of a pair."""
        from evalstore.audits.records.pairs import has_moved

        a, b = pair
        checks, tags = [*pair.list_checks()], self.question_tags.get(b.id, ())
        keys = {id_: self.checks[id_] for id_, _, _ in checks}
        moved = [id_ for id_, old, new in checks if has_moved(old, new)]
        edits = [self._prepare_edit(*one) for one in self.reader.edits.get(b.id, ())]
        self.turns.add(pair.turn)
        self.verdicts.add(b.verdict)
        found = [_TURNS[pair.turn][0], VERDICTS[b.verdict], *(keys[id_] for id_ in moved)]
        found += [self.tags[tag] for tag in tags] + [edit["key"] for edit in edits]
        changes = {id_: _measure_change(old, new) for id_, old, new in checks}
        return render_template(
            "pair",
            a=a,
            b=b,
            place=self.reader.found,
            classes=" ".join(["q", *filter(None, dict.fromkeys(found))]),
            score="" if b.score is None else f"{float(b.score):.9g}",
            changes=",".join(changes.get(id_, "") for id_ in self.checks),
            change=f"{float(pair.change):.9g}",
            looks=LOOKS,
            look=_find_look(pair.change),
            points=format_points(pair.change) if pair.change else "",
            name=name_output(b),
            why=join_names(moved, _MOST_NAMES),
            rubrics=dict.fromkeys(filter(None, (a.rubric, b.rubric))),
            tags=", ".join(tags),
            edits=edits,
            checks=[_prepare_check(*one) for one in checks],
            texts=[*_list_texts(pair)],
            cuts=[*_list_cuts(pair)],
        )

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
        verdicts = {key: str(one) for one, key in VERDICTS.items() if one in self.verdicts}
        menus = (
            FilterMenu("flip", "any", turns),
            FilterMenu("verdict in B", "any verdict", verdicts),
            FilterMenu("check that moved", "any check", _swap(self.checks)),
            FilterMenu("edit", "any edit", _swap(self.edits)),
            FilterMenu("tag", "any tag", _swap(self.tags)),
        )
        return tuple(menu for menu in menus if menu.choices)


def _swap(keys: Mapping[str, str]) -> dict[str, str]:
    return {key: name for name, key in keys.items()}


def _measure_change(old: CheckResult | None, new: CheckResult | None) -> str:
    scores: list[Fraction | None] = [one and one.score for one in (old, new)]
    return "" if None in scores else f"{float(scores[1] - scores[0]):.9g}"  # type: ignore[operator]  # both are known


def _find_look(change: Fraction) -> str:
    if not change:
        return "quiet"
    return "up" if change > 0 else "down"


def _prepare_side(result: CheckResult | None) -> tuple[str, str]:
    if result is None:
        return "not in it", "quiet"
    return _name_result(result), LOOKS[result.verdict]


def _prepare_check(id_: str, old: CheckResult | None, new: CheckResult | None) -> dict[str, Any]:
    """Return what both runs said of a check: a reason that both gave once."""
    sides = list(map(_prepare_side, (old, new)))
    reasons = [(name, one.reason) for name, one in (("A", old), ("B", new)) if one and one.reason]
    if len({reason for _, reason in reasons}) == 1 and old and new:
        lines = [reasons[0][1]]
    else:
        lines = [f"{name}: {reason}" for name, reason in reasons]
    return {"id": id_, "sides": sides, "reasons": lines}


def _name_result(result: CheckResult) -> str:
    if result.score is None:
        return str(result.verdict)
    return f"{format_percent(result.score)} {result.verdict}"


def _list_texts(pair: RowPair) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """Yield what was asked and answered: heading, class, and one text, or the marked pieces of both."""
    asked = (row.input if row.asked is None else row.asked for row in pair)
    answers = (row.output.text for row in pair)
    for heading, look, (old, new) in (("asked", "i", asked), ("answered", "o", answers)):
        if old == new:
            yield heading, look, [old[:MOST_CHARACTERS]]
            continue
        sides = mark_differences(old[:MOST_CHARACTERS], new[:MOST_CHARACTERS])
        yield heading, look, [*zip(("del", "ins"), sides, strict=True)]


def _list_cuts(pair: RowPair) -> Iterator[str]:
    for name, row in zip("AB", pair, strict=True):
        if (more := len(row.output.text) - MOST_CHARACTERS) > 0:
            yield f"{more:,} more characters in {name} are in the JSON of --question ID"
        if calls := len(row.output.tool_calls or ()):
            yield f"{name} made {count_noun(calls, 'tool call')}"
