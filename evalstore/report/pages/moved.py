"""Writes the questions that an audit moved for its page, with filters that are lists of choices and rules of CSS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from evalstore.audits import EditSource, LineEffect, MovedQuestion
from evalstore.audits.question_view import list_checks
from evalstore.audits.wording import format_points
from evalstore.report.pages.filters import FilterMenu, format_filtered, shorten_label
from evalstore.report.pages.html import Markup, join_markup, make_element
from evalstore.report.pages.question import format_question
from evalstore.report.text_layout import count_noun, format_percent

_MOST_TAGS = 100
_FLIPS = {"f0": "pass to fail", "f1": "fail to pass", "f2": "no flip"}


@dataclass(frozen=True, slots=True)
class MovedList:
    """The questions that are kept, how many moved in all, and the edits in the order of the page."""

    questions: tuple[MovedQuestion, ...]
    count: int
    edits: tuple[EditSource, ...]


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """What can be chosen in the filters: by name of a class in the page, the label."""

    players: dict[str, str]
    edits: dict[EditSource, str]
    tags: dict[str, str]

    def list_classes(self, question: MovedQuestion) -> Iterator[str]:
        """Yield the classes that a question has, by which filters find it."""
        yield from (self.players[name] for name in question.shares)
        yield from dict.fromkeys(self.edits[source] for source, _ in question.edits if source in self.edits)
        yield find_flip(question)
        yield from (self.tags[tag] for tag in dict.fromkeys(question.tags) if tag in self.tags)


def find_flip(question: MovedQuestion) -> str:
    """Return the class of a question's flip, by what both runs recorded."""
    old, new = (row.pass_share for row in question.rows)
    return "f0" if new < old else "f1" if new > old else "f2"


def format_moved(moved: MovedList, budget: int) -> tuple[Markup, str]:
    """Return the list of questions with its filters, and the rules of CSS by which they work.

    All questions together have `budget` bytes, outputs and what was asked left aside.
    """
    title = make_element("h2", "Questions that moved")
    if not moved.questions:
        return join_markup(title, make_element("p", "No score and no verdict of a question moved.")), ""
    choices = _list_choices(moved)
    items, size = list[Markup](), 0
    for question in moved.questions:
        item = _format_item(question, choices)
        size += len(item.encode()) - _count_answers(question)
        if size > budget:
            break
        items.append(item)
    menus = (
        FilterMenu("moved by", "any player", {key: name.replace("_", " ") for name, key in choices.players.items()}),
        FilterMenu("edit", "any edit", _label_edits(choices)),
        FilterMenu("flip", "any verdict", _FLIPS),
        FilterMenu("tag", "any tag", {key: tag for tag, key in choices.tags.items()}),
    )
    left = moved.count - len(items)
    more = f" {count_noun(left, 'more question')} moved: evalstore audit A B --question ID shows each." if left else ""
    found, rules = format_filtered(menus, items, f"Flips first, then those that moved most.{more}")
    return make_element("section", title, found), rules


def _list_choices(moved: MovedList) -> FilterChoices:
    players = dict.fromkeys(name for question in moved.questions for name in question.shares)
    edits = dict.fromkeys(source for question in moved.questions for source, _ in question.edits)
    # The page's table of edits has the numbers, so that a question leads to the people behind its edits.
    numbers = {source: f"e{number}" for number, source in enumerate(moved.edits)}
    tags = Counter(tag for question in moved.questions for tag in dict.fromkeys(question.tags))
    common = sorted(tags, key=lambda tag: (-tags[tag], tag))[:_MOST_TAGS]
    return FilterChoices(
        players={name: f"p{number}" for number, name in enumerate(players)},
        edits={source: numbers[source] for source in edits if source in numbers},
        tags={tag: f"t{number}" for number, tag in enumerate(sorted(common))},
    )


def _label_edits(choices: FilterChoices) -> dict[str, str]:
    labels = ((key, _describe_source(source)) for source, key in choices.edits.items())
    return dict(sorted(labels, key=lambda one: int(one[0][1:])))


def _describe_source(source: EditSource) -> str:
    author = f" ({source.origin.author})" if source.origin.author else ""
    return f"{shorten_label(source.message or source.part)}{author}"


def _format_item(question: MovedQuestion, choices: FilterChoices) -> Markup:
    old, new = question.rows
    change = f"{format_percent(old.score)} \u2192 {format_percent(new.score)}"
    flip = find_flip(question)
    by = ", ".join(f"{name.replace('_', ' ')} {_describe_effect(effect)}" for name, effect in question.shares.items())
    summary = make_element(
        "summary",
        make_element("b", question.id),
        f" {change} ",
        make_element("span", f"{by}{'' if flip == 'f2' else f'; {_FLIPS[flip]}'}", class_="quiet"),
    )
    lines = [
        make_element("li", f"{_describe_effect(effect)} ", _format_edit(source, choices))
        for source, effect in question.edits
    ]
    parts = [
        make_element("p", f"tags: {', '.join(question.tags)}", class_="quiet") if question.tags else Markup(),
        make_element("ul", *lines) if lines else Markup(),
        make_element("p", "Some cells are estimated from anchors.") if question.is_estimated else Markup(),
        format_question(question.rows, question.cells, [*list_checks(question.cells)]),
    ]
    classes = " ".join(["q", *choices.list_classes(question)])
    return join_markup(make_element("details", summary, make_element("div", *parts), class_=classes), Markup("\n"))


def _format_edit(source: EditSource, choices: FilterChoices) -> Markup:
    text = _describe_source(source)
    key = choices.edits.get(source)
    return Markup(f'<a href="#{key}">{join_markup(text)}</a>') if key else join_markup(text)


def _describe_effect(effect: LineEffect) -> str:
    passes = f" ({format_points(effect.passes)} passes)" if effect.passes else ""
    return f"{format_points(effect.score)}{passes}"


def _count_answers(question: MovedQuestion) -> int:
    """Return about how many bytes of an item are outputs and what was asked."""
    texts = [row.output.text for side in question.rows for row in side.outputs]
    return sum(len(text[:20_000].encode(errors="replace")) for text in (*texts, question.rows[1].input))
