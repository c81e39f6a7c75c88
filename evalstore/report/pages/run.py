"""Writes a run as a page: the result, each check in numbers, and every output with its reasons."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from evalstore.agreement.label_file import identify_row, make_label, rank_for_labels
from evalstore.model import UnscoredReason, Verdict
from evalstore.report.pages.filters import FilterMenu
from evalstore.report.pages.html import (
    MOST_CHARACTERS,
    generate_page,
    is_shown_whole,
    join_markup,
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
)
from evalstore.report.run_words import describe_choice, describe_run, name_output
from evalstore.report.text_layout import join_names

if TYPE_CHECKING:
    from evalstore.model import CheckResult
    from evalstore.runs import GradedRow
    from evalstore.runs.run_view import RunReader

_MOST_NAMES = 4
_RANK, _DIGEST = 4, 8  # bytes: of the fields for a row's label, and of those for all outputs


def prepare_pages(reader: RunReader, tags: Tags = NO_TAGS) -> RowPages:
    """Read the chosen rows of a run, each once, and render them.

    `tags` are those of its questions.
    """
    from evalstore.runs.run_view import list_missing

    writer = _OutputWriter(tags, reader=reader)
    for row in reader:
        writer.rows.add_row((*reader.rank_row(row), reader.total), writer.render_row(row))
    view, run = reader.build_view(()), reader.run
    orders = {"score up": "the lowest score first", "score down": "the highest score first"}
    return RowPages(
        generate=partial(
            generate_page,
            "run",
            title=f"Run: {run.model}",
            run=run,
            sentences=[*describe_run(view), *(f"Note: {note}." for note in run.notes)],
            references={
                "run": [str(run.path)],
                "rubrics": [used.ref for used in run.rubrics],
                "judges": [used.ref for used in run.judges],
                "commit": [run.commit] if run.commit else [],
            },
            choice=describe_choice(view),
            missing=[f"{id_}: {reason}" for id_, reason in list_missing(view)],
        ),
        menus=writer.list_menus(),
        orders=orders | writer.list_orders("the lowest of"),
        order="the worst first",
        found=reader.found,
        rows=writer.rows,
        labels=writer.digest.hexdigest() if reader.stored and not reader.choice.failed else "",
    )


@dataclass(slots=True)
class _OutputWriter(RowWriter):
    """Renders outputs, and notes what the page needs to know.

    That is checks in trouble, rubrics, and a digest of what may be labelled.
    """

    reader: RunReader = field(kw_only=True)
    rubrics: ListKeys = field(default_factory=lambda: ListKeys("r"))
    troubled: set[str] = field(default_factory=set)
    digest: blake2b = field(default_factory=lambda: blake2b(digest_size=_DIGEST))

    def render_row(self, row: GradedRow) -> Markup:
        """Return the markup of a row."""
        choice = self.reader.choice
        checks, verdict = choice.list_checks(row), choice.find_verdict(row)
        keys = {check.id: self.checks[check.id] for check in checks}
        troubles = _list_troubles(checks)
        self.troubled.update(check.id for check in troubles)
        found = [keys[check.id] for check in troubles]
        found += [self.rubrics[row.rubric]] if row.rubric else []
        percent, number = self.scores[row.score]
        lines, numbers = list[Markup](), dict[str, str]()
        for check in checks:
            shown, numbers[check.id] = self.scores[check.score]
            lines.append(_render_check(check.id, check.verdict, shown, check.reason, check.engine))
        self.digest.update(f"{identify_row(row)!r}\n".encode())
        return render_template(
            "output",
            row=row,
            rank=rank_for_labels(row)[:_RANK].hex(),
            label=_write_label_fields(row, with_reference=self.reader.run.dataset is None),
            place=self.reader.total,
            classes=self.join_classes(verdict, row.id, found),
            percent=percent,
            score=number,
            scores=self.join_numbers(numbers),
            verdict=verdict,
            name=name_output(row),
            why=row.reason or _name_troubles(troubles),
            tags=", ".join(self.question_tags.get(row.id, ())),
            look=LOOKS[verdict],
            lines=join_markup(lines),
            texts=[*_list_texts(row)],
            calls=len(row.output.tool_calls or ()),
        )

    def list_menus(self) -> tuple[FilterMenu, ...]:
        """Return the menus that have a choice."""
        troubled = {key: id_ for id_, key in self.checks.items() if id_ in self.troubled}
        rubrics = swap_keys(self.rubrics) if len(self.rubrics) > 1 else {}
        return choose_menus(
            self.make_verdict_menu("verdict"),
            FilterMenu("check that fails or errs", "any check", troubled),
            FilterMenu("rubric", "any rubric", rubrics),
            self.make_tag_menu(),
        )


@lru_cache(maxsize=4096)
def _render_check(id_: str, verdict: Verdict, percent: str, reason: str, engine: str) -> Markup:
    """Return the line of one check; it is cached, because many outputs have equal ones."""
    values = {"verdict": verdict, "look": LOOKS[verdict], "percent": percent}
    return render_template("check", id=id_, reason=reason, engine=engine, **values)


def _list_texts(row: GradedRow) -> Iterator[tuple[str, str, str]]:
    """Yield the texts of a row: heading, class and text."""
    yield "asked", "i", row.input if row.asked is None else row.asked
    if row.asked is not None:
        yield "the question", "i", row.input
    yield "answered", "o", row.output.text


def _write_label_fields(row: GradedRow, *, with_reference: bool) -> str:
    """Return as JSON those fields of the label's line that the page does not show as they are.

    A field is null if it is too long to be on the page.
    """
    line = make_label(row, Verdict.UNSCORED, with_reference=with_reference)
    shown = {"id": name_output(row), "input": line.get("input"), "output": row.output.text}
    fields = dict[str, Any]()
    for key, value in line.items():
        if key in shown and len(value) > MOST_CHARACTERS:
            fields[key] = None
        elif key != "label" and not (value == shown.get(key) and is_shown_whole(value)):
            fields[key] = value
    return json.dumps(fields) if fields else ""


def _name_troubles(troubles: Sequence[CheckResult]) -> str:
    failed = [check.id for check in troubles if check.verdict is Verdict.FAIL]
    named = (
        ("fails", failed),
        ("error", [check.id for check in troubles if check.verdict is not Verdict.FAIL]),
    )
    return "; ".join(f"{word}: {join_names(ids, _MOST_NAMES)}" for word, ids in named if ids)


def _list_troubles(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the checks that failed or could not be graded.

    A check with nothing to grade is not in trouble.
    """
    return [check for check in checks if _is_trouble(check)]


def _is_trouble(check: CheckResult) -> bool:
    return check.verdict is Verdict.FAIL or check.unscored is UnscoredReason.ERROR
