"""Prepares the questions that an audit moved for its page, with filters that need only CSS."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalstore.audits import Audit, EditSource, MovedQuestion
from evalstore.audits.question_view import list_checks
from evalstore.model import Verdict
from evalstore.report.blame import describe_source
from evalstore.report.pages.diff import has_diff
from evalstore.report.pages.filters import FilteredList, FilterMenu, filter_items, select_items
from evalstore.report.pages.html import count_bytes, render_page, render_template
from evalstore.report.text_layout import format_percent
from evalstore.text import count_noun
from evalstore.word_diff import compare_words

if TYPE_CHECKING:
    from markupsafe import Markup

    from evalstore.audits import QuestionCell
    from evalstore.audits.question_view import QuestionView
    from evalstore.audits.values import LineEffect
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow


_SQUARE = 4  # two outputs under two rubrics
_MOST_TAGS = 100
_FLIPS = {"f0": "pass to fail", "f1": "fail to pass", "f2": "no flip"}


def write_page(view: QuestionView, notes: Sequence[str]) -> str:
    """Return the page of one question."""
    found = prepare_question(view.rows, view.cells)
    return render_page("question", title=f"Question {view.id}", view=view, found=found, notes=notes)


def prepare_question(
    rows: tuple[GradedRow, GradedRow], cells: Sequence[QuestionCell]
) -> dict[str, Any]:
    """Return what the page shows for one question.

    It has the square of outputs and rubrics, the reasons of each check, and the answers side by
    side.
    """
    return {
        "rubrics": {cell.under: cell.rubric for cell in cells},
        "square": {
            one.output: [cell for cell in cells if cell.output == one.output] for one in cells
        },
        "checks": [_prepare_check(id_, cells, results) for id_, results in list_checks(cells)],
        "asked": _list_asked(rows),
        "rows": rows,
        "is_same": rows[0].output_digest == rows[1].output_digest,
    }


def _list_asked(rows: tuple[GradedRow, GradedRow]) -> dict[str, str]:
    """Return by heading what both outputs answer, and the question if that is something else."""
    a, b = (row.input if row.asked is None else row.asked for row in rows)
    changed = {"asked of A": a, "asked of B": b, "word by word": compare_words(a, b)}
    asked = {"asked": a} if a == b else changed
    question = rows[1].input
    return asked if question in asked.values() else {**asked, "the question": question}


def _prepare_check(
    id_: str, cells: Sequence[QuestionCell], results: Sequence[CheckResult | None]
) -> dict[str, Any]:
    """Return what one check says in each cell; cells with equal results share a line."""
    places: dict[CheckResult | None, list[QuestionCell]] = {}
    for cell, result in zip(cells, results, strict=True):
        places.setdefault(_name_alike(result), []).append(cell)
    kind = next((result.kind for result in results if result), "")
    return {"id": id_, "kind": kind, "results": [_describe_result(*one) for one in places.items()]}


def _name_alike(result: CheckResult | None) -> CheckResult | None:
    """Return a result without what a reader does not see."""
    return result and result._replace(replies="", reply_digests=(), engine="", unscored=None)


def _describe_result(
    result: CheckResult | None, cells: Sequence[QuestionCell]
) -> tuple[str, str, str]:
    """Return the cells in which a check says so, its score and verdict, and its reason."""
    where = ", ".join(f"{cell.output} under {cell.under}" for cell in cells)
    where = "all four" if len(cells) == _SQUARE else where
    if result is None:
        return (
            where,
            "not judged" if any(cell.missing for cell in cells) else "not in this rubric",
            "",
        )
    verdict = (
        "unscored" if result.score is None else f"{format_percent(result.score)} {result.verdict}"
    )
    return where, verdict, result.reason


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """The choices in the filters: labels by the name of their class in the page."""

    factors: dict[str, str]
    edits: dict[EditSource, str]
    tags: dict[str, str]

    def list_classes(self, question: MovedQuestion) -> Iterator[str]:
        """Yield the classes by which filters find a question."""
        yield from (self.factors[name] for name in question.shares)
        yield from dict.fromkeys(
            self.edits[source] for source, _ in question.edits if source in self.edits
        )
        yield find_flip(question)
        yield from (self.tags[tag] for tag in dict.fromkeys(question.tags) if tag in self.tags)


def find_flip(question: MovedQuestion) -> str:
    """Return the class of a question's flip, according to what both runs recorded."""
    old, new = (row.verdict for row in question.rows)
    if old is new:
        return "f2"
    return "f0" if old is Verdict.PASS else "f1"


def filter_moved(audit: Audit, edits: Sequence[EditSource], budget: int) -> FilteredList | None:
    """Return the list of moved questions with its filters; None if none moved.

    `edits` are those of the page. All questions together get `budget` bytes, not counting outputs
    and what was asked.
    """
    if not audit.moved:
        return None
    choices = _list_choices(audit.moved, edits)
    items = select_items(
        ((_render_question(one, choices), _count_answers(one)) for one in audit.moved), budget
    )
    menus = (
        FilterMenu(
            "moved by",
            "anything",
            {key: name.replace("_", " ") for name, key in choices.factors.items()},
        ),
        FilterMenu("edit", "any edit", _label_edits(choices)),
        FilterMenu("flip", "any verdict", _FLIPS),
        FilterMenu("tag", "any tag", {key: tag for tag, key in choices.tags.items()}),
    )
    left = audit.moved_count - len(items)
    more = (
        f" {count_noun(left, 'more question')} moved: evalstore audit A B --question ID shows each."
        if left
        else ""
    )
    return filter_items(menus, items, f"Flips first, then those that moved most.{more}")


def _list_choices(moved: Sequence[MovedQuestion], listed: Sequence[EditSource]) -> FilterChoices:
    names = dict.fromkeys(name for question in moved for name in question.shares)
    edits = dict.fromkeys(source for question in moved for source, _ in question.edits)
    # The page's table of edits has the numbers, so a question leads to the people behind its edits.
    numbers = {source: f"e{number}" for number, source in enumerate(listed)}
    tags = Counter(tag for question in moved for tag in dict.fromkeys(question.tags))
    common = sorted(tags, key=lambda tag: (-tags[tag], tag))[:_MOST_TAGS]
    return FilterChoices(
        factors={name: f"p{number}" for number, name in enumerate(names)},
        edits={source: numbers[source] for source in edits if source in numbers},
        tags={tag: f"t{number}" for number, tag in enumerate(sorted(common))},
    )


def _label_edits(choices: FilterChoices) -> dict[str, str]:
    labels = ((key, describe_source(source)) for source, key in choices.edits.items())
    return dict(sorted(labels, key=lambda one: int(one[0][1:])))


def _render_question(question: MovedQuestion, choices: FilterChoices) -> Markup:
    flip = find_flip(question)

    def prepare(source: EditSource, effect: LineEffect) -> tuple[Any, ...]:
        key, name = choices.edits.get(source), describe_source(source)
        return effect, key, name, _name_diff(source, choices)

    return render_template(
        "moved",
        moved=question,
        classes=["q", *choices.list_classes(question)],
        flip="" if flip == "f2" else _FLIPS[flip],
        edits=[prepare(source, effect) for source, effect in question.edits],
        found=prepare_question(question.rows, question.cells),
    )


def _name_diff(source: EditSource, choices: FilterChoices) -> str:
    """Return the id of an edit's diff on the page; empty if there is none."""
    key = choices.edits.get(source)
    return f"d{key[1:]}" if key and has_diff(source) else ""


def _count_answers(question: MovedQuestion) -> int:
    return count_bytes(
        *(row.output.text for side in question.rows for row in side.outputs),
        *_list_asked(question.rows).values(),
    )
