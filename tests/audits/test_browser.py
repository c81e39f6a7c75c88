"""Pages in a real browser: no complaint, no request, nothing that runs, filters by the keyboard, no line too wide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.audits.conftest import Desk
from tests.audits.test_other_pages import Ask, write_pages
from tests.audits.test_page import attack, make, worsen, write

WIDTHS = (1400, 800, 360)
# What is in sight, and what the filters say should be.
SHOWN = "[...document.querySelectorAll('.q')].filter(q=>getComputedStyle(q).display!='none').map(q=>q.className)"
# Text below this contrast is hard to read (WCAG 2.2, 1.4.3); of each element with text of its own, the least.
CONTRAST = """(() => {
  const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(v => v / 255)
    .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (c != 'rgba(0, 0, 0, 0)') return c } return 'rgb(255, 255, 255)' };
  const found = [...document.querySelectorAll('main *')].filter(e => [...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()))
    .map(e => [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => b - a)).map(([a, b]) => (a + .05) / (b + .05));
  return Math.min(...found) })()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


def place_pages(texts: dict[str, str], folder: Path) -> Iterator[tuple[str, Path]]:
    for name in sorted(texts.keys() - {"run.json"}):
        page = folder / f"{name}.html"
        page.write_text(texts[name])
        yield name, page


def test_hostile_pages_are_inert_at_every_width(browser: Any, desk: Desk, pages: Path, print_page: Ask) -> None:
    for name, page in place_pages(write_pages(desk, print_page, attack), pages):
        browser.open(page)
        assert browser.evaluate("document.querySelector('h1').checkVisibility()")
        links = browser.evaluate("[...document.links].map(one=>one.getAttribute('href'))")
        assert [link for link in links if not re.fullmatch("#[deo][0-9]+", link)] == []
        assert browser.evaluate("document.scripts.length") == (name in {"run", "pairs"})
        assert browser.evaluate("document.images.length+document.forms.length") == 0
        browser.evaluate("document.querySelectorAll('details').forEach(one=>one.open=true)")
        for width in WIDTHS:
            browser.resize(width)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, (name, width)
        assert browser.list_complaints() == []


def test_names_of_an_everyday_length_fit(browser: Any, demo: Any, cli: Any, pages: Path) -> None:
    words = ("-C", demo.folder, "audit", "runs/model_a", "runs/model_b", "--format", "html")
    page = pages / "everyday.html"
    page.write_text(cli(*words).out)
    browser.open(page, 1280)
    # The path of a run is not broken where there is room.
    assert browser.evaluate(
        "[...document.querySelectorAll('td[data-name=run] code')].map(one=>one.getClientRects().length)"
    ) == [1, 1]
    page.write_text(cli(*words, "--question", "card_in_sidebar").out)
    for width in WIDTHS:
        browser.open(page, width)
        assert browser.evaluate("document.documentElement.scrollWidth") <= width


def test_a_card_of_a_phone_breaks_no_number_and_has_no_label_without_a_value(
    browser: Any, desk: Desk, pages: Path, print_page: Ask
) -> None:
    page = pages / "card.html"
    page.write_text(write_pages(desk, print_page, worsen)["history"])
    browser.open(page, 390)
    cells = "[...document.querySelectorAll('td.n[data-name]:not(:empty)')]"
    # A label of several lines leaves the number its width.
    browser.evaluate(f"{cells}.forEach(one=>one.dataset.name='model_a ('+'help_desk_'.repeat(9)+')')")
    browser.evaluate("window.count=one=>{const all=new Range();all.selectNode(one);return all.getClientRects().length}")
    assert browser.evaluate(f"[...new Set({cells}.map(one=>count(one.firstChild)))]") == [1]
    labels = "[...document.querySelectorAll('td[data-name]')].filter(one=>one.checkVisibility())"
    assert browser.evaluate(f"{labels}.filter(one=>!one.textContent.trim()).map(one=>one.dataset.name)") == []


def test_a_page_that_acts_would_be_noticed(browser: Any, pages: Path) -> None:
    page = pages / "acts.html"
    page.write_text("<script>console.log(1)</script><img src='http://127.0.0.1:9/x.png'>")
    browser.open(page)
    found = [one["method"] for one in browser.list_complaints()]
    assert {"Runtime.consoleAPICalled", "Network.requestWillBeSent"} <= {*found}


def test_every_text_stands_out(browser: Any, desk: Desk, pages: Path, print_page: Ask) -> None:
    for name, page in place_pages(write_pages(desk, print_page, worsen), pages):
        for scheme in ("light", "dark"):
            browser.open(page, prefers_color_scheme=scheme)
            browser.evaluate("document.querySelectorAll('details').forEach(one=>one.open=true)")
            assert browser.evaluate(CONTRAST) >= 4.5, (name, scheme)


def test_paper_has_what_is_folded_on_the_screen(browser: Any, desk: Desk, pages: Path) -> None:
    page = pages / "paper.html"
    page.write_text(write(make(desk, "worsen")))
    browser.open(page, media="print")
    assert browser.evaluate("[...document.querySelectorAll('.q pre')].every(one=>one.checkVisibility())")
    assert not browser.evaluate("document.querySelector('select').checkVisibility()")


def test_filters_and_questions_work_by_keys(browser: Any, desk: Desk, pages: Path) -> None:
    found = make(desk, "worsen")
    page = pages / "keys.html"
    page.write_text(write(found))
    browser.open(page)
    every = browser.evaluate(SHOWN)
    assert len(every) == len(found.moved)
    names = browser.evaluate(
        "[...document.querySelectorAll('select')].map(one=>one.labels[0].textContent.split(' any')[0])"
    )
    assert len(names) == 4
    # Whoever comes by keys meets the links to the edits first.
    for _ in range(browser.evaluate("document.links.length")):
        if browser.evaluate("document.activeElement.matches('select')"):
            break
        browser.press("Tab")
    for number in range(4):
        if number:
            browser.press("Tab")
        assert browser.evaluate(f"document.activeElement==document.querySelectorAll('select')[{number}]")
        assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        for _ in range(browser.evaluate("document.activeElement.options.length") - 1):
            browser.press("ArrowDown")
            key = browser.evaluate("document.activeElement.selectedOptions[0].className.slice(1)")
            assert browser.evaluate(SHOWN) == [classes for classes in every if key in classes.split()]
        browser.press("Home")
        assert browser.evaluate(SHOWN) == every
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.localName") == "summary"
    assert not browser.evaluate("document.activeElement.parentElement.open")
    browser.press("Enter")
    assert browser.evaluate("document.activeElement.parentElement.open")
    assert browser.evaluate("document.activeElement.parentElement.querySelector('table').checkVisibility()")
    # A link within leads to the edit and its people.
    browser.press("Tab", "Enter")
    assert browser.evaluate("document.querySelector(':target').querySelector('th').checkVisibility()")
    assert browser.list_complaints() == []
