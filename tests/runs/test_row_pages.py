"""Pages of rows: every row once, the parts of a page that is too large, and what marks two outputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstore.report.pages import row_file
from evalstore.report.pages.run import prepare_pages
from evalstore.runs import GradedRow, Run
from evalstore.runs.run_view import RowChoice, read_chosen_rows
from evalstore.word_diff import mark_differences

WORDS = st.text(st.sampled_from("ab \n\t"), max_size=40)


def prepare(run: Run, tags: dict[str, tuple[str, ...]] | None = None) -> row_file.RowPages:
    return prepare_pages(read_chosen_rows(run.path, RowChoice()), tags or {})


def list_places(page: str) -> list[int]:
    return [int(place) for place in re.findall('<details class="[^"]*" id="o([0-9]+)"', page)]


@pytest.fixture
def many(written: Callable[..., Run], run: Run, rows: tuple[GradedRow, ...]) -> Run:
    """A run of 250 outputs, the last of which are the worst."""
    return written(
        run, tuple(rows[0]._replace(id=f"q{number}", score=Fraction(250 - number, 250)) for number in range(250))
    )


def test_a_page_has_every_row_once_and_the_worst_first(many: Run) -> None:
    page = "".join(prepare(many).write_part(0))
    assert list_places(page) == [*range(250, 0, -1)]
    head, _, rest = page.partition("<noscript>")
    assert len(list_places(head)) == 100
    assert list_places(rest.partition("</noscript>")[0]) == [*range(150, 0, -1)]


def test_a_page_that_is_too_large_has_parts_that_lead_to_each_other(many: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len("".join(prepare(many).write_part(0)))
    monkeypatch.setattr(row_file, "MOST_BYTES", whole // 3)
    pages = prepare(many, {"q7": ("odd", "prime")})
    found = {path: b"".join(pieces).decode() for path, pieces in pages.iterate_parts("runs/1.html")}
    assert [*found] == ["runs/1.html", "runs/1-2.html", "runs/1-3.html", "runs/1-4.html"][: len(found)]
    assert len(found) > 2
    assert [place for page in found.values() for place in list_places(page)] == [*range(250, 0, -1)]
    for number, page in enumerate(found.values()):
        links = re.findall('class="part" href="([^"]*)"', page)
        assert links == [path.removeprefix("runs/") for at, path in enumerate(found) if at != number]
        assert ">prime</option>" in page
    first = "".join(pages.write_part(0))
    assert f"{250 - len(list_places(first)):,} more rows: --format html --out FILE has all." in first


def test_show_writes_the_parts_to_files(
    cli: Callable[..., Any], many: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_file, "MOST_BYTES", 100_000)
    ran = cli("show", many.path, "--format", "html", "--out", "new/run.html", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "")
    names = re.findall("^wrote (.*)$", ran.err, re.MULTILINE)
    assert names[:2] == ["new/run.html", "new/run-2.html"]
    places = [place for name in names for place in list_places((tmp_path / name).read_text())]
    assert places == [*range(250, 0, -1)]
    alone = cli("show", many.path, "--format", "html", cwd=tmp_path)
    assert list_places(alone.out) == list_places((tmp_path / names[0]).read_text())
    assert "--out FILE writes the others to further files" in alone.err
    assert cli("show", many.path, "--out", "run.json", cwd=tmp_path).code == 2


@given(WORDS, WORDS)
def test_marked_texts_are_whole_and_alike_where_nothing_is_marked(old: str, new: str) -> None:
    sides = mark_differences(old, new)
    assert ["".join(text for text, _ in side) for side in sides] == [old, new]
    kept = [" ".join(text for text, is_changed in side if not is_changed).split() for side in sides]
    assert kept[0] == kept[1]
    if old.split("\n") == new.split("\n"):
        assert not any(is_changed for side in sides for _, is_changed in side)
