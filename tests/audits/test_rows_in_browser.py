"""The rows of a page in a real browser: searched, sorted, filtered and walked by keys, and whole without scripts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN, BRIEF
from tests.audits.test_other_pages import Ask

COUNT = 230
SHOWN = (
    "[...document.querySelectorAll('.rows .q')].filter(q=>q.checkVisibility()).map(q=>q.querySelector('b').textContent)"
)
STATUS = "document.querySelector('.status').textContent"
# The end of each output: what is searched for, and what would be markup, or the end of our own, if it were not escaped.
ODD = "</noscript></script><b>zebra</b> &amp; #1"


def write_pair(desk: Desk, print_page: Ask, folder: Path) -> tuple[Path, Path]:
    """Write the page of a run of many outputs, and of it beside another."""
    desk.rubric("1.0.0", BAN, BRIEF)
    desk.dataset("1.0.0", [{"id": f"q{n}", "input": f"Ask {n}?", "tags": [f"t{n % 3}"]} for n in range(COUNT)])
    outputs = [f"ok {n}" + (" foo" if n % 2 else "") + (ODD if n == 201 else "a" * 40) for n in range(COUNT)]
    a = desk.score("1.0.0", outputs)
    b = desk.score("1.0.0", [one.replace("ok", "ok foo") if n == 4 else one for n, one in enumerate(outputs)], "b")
    pages = folder / "one.html", folder / "two.html"
    pages[0].write_text(print_page("show", a.path))
    pages[1].write_text(print_page("show", a.path, b.path))
    return pages


def wait_for(browser: Any, expression: str) -> None:
    end = time.monotonic() + 30
    while not browser.evaluate(expression):
        assert time.monotonic() < end, (expression, browser.evaluate(STATUS))
        time.sleep(0.02)


def search(browser: Any, text: str, *, regex: bool = False) -> None:
    browser.evaluate(
        f"document.querySelector('#find-regex').checked={str(regex).lower()};"
        f"document.querySelector('#find-text').value={text!r};"
        "document.querySelector('#find-text').dispatchEvent(new Event('input'));0"
    )


def test_rows_are_found_by_keys(browser: Any, desk: Desk, print_page: Ask, tmp_path: Path) -> None:
    one, two = write_pair(desk, print_page, tmp_path)
    assert two.read_text().count("so no edit of them moved anything") == 1
    browser.open(one)
    search_rows(browser)
    sort_and_walk(browser)
    assert browser.list_complaints() == []

    browser.open(two)
    assert browser.evaluate(SHOWN)[0] == "q4"
    assert browser.evaluate("document.querySelector('.two ins').textContent").strip() == "foo"
    assert browser.list_complaints() == []

    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(one)
        assert len(browser.evaluate(SHOWN)) == COUNT
        assert not browser.evaluate("document.querySelector('.find').checkVisibility()")
        browser.evaluate("document.querySelector('.list select:not(#find-scope,#find-order)').selectedIndex=1")
        assert len(browser.evaluate(SHOWN)) == COUNT // 2
        assert browser.list_complaints() == []
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


def search_rows(browser: Any) -> None:
    assert browser.evaluate(STATUS) == "230; the first 100 are listed"
    assert len(browser.evaluate(SHOWN)) == 100
    # A search is typed, and Enter leads to what it found, even in what is no element yet.
    browser.press("/", *"zebra")
    wait_for(browser, f"{STATUS}=='1 of 230'")
    assert browser.evaluate(SHOWN) == ["q201"]
    browser.press("Enter", "Enter")
    assert browser.evaluate("document.activeElement.parentElement.open")
    assert ODD in browser.evaluate("document.querySelector('.rows pre.o').textContent")
    wait_for(browser, "location.hash === '#?text=zebra'")
    # The field, a regular expression, one that would take for ever, and one that is none.
    search(browser, "^ok (1|2)$", regex=True)
    wait_for(browser, f"{STATUS}=='0 of 230'")
    search(browser, "^ok 20[0-3]", regex=True)
    wait_for(browser, f"{STATUS}=='4 of 230'")
    browser.evaluate("o=document.querySelector('#find-scope');o.value='i';o.dispatchEvent(new Event('change'))")
    wait_for(browser, f"{STATUS}=='0 of 230'")
    browser.evaluate("o.value='';o.dispatchEvent(new Event('change'))")
    search(browser, "(a+)+(a+)+(a+)+!", regex=True)
    wait_for(browser, f"{STATUS}.includes('was given up')")
    search(browser, "(", regex=True)
    wait_for(browser, f"{STATUS}.startsWith('not a regular expression')")
    search(browser, "")
    wait_for(browser, f"{STATUS}.startsWith('230')")


def sort_and_walk(browser: Any) -> None:
    # Orders, filters, and the link to a row, which takes both away.
    browser.evaluate(
        "o=document.querySelector('#find-order');o.value='score down';o.dispatchEvent(new Event('change'))"
    )
    assert browser.evaluate(SHOWN)[:2] == ["q0", "q2"]
    browser.evaluate(
        "o=[...document.querySelectorAll('.list select')].at(-1);o.selectedIndex=2;o.dispatchEvent(new Event('change'))"
    )
    assert browser.evaluate(SHOWN)[:2] == ["q4", "q10"]
    browser.evaluate("location.hash='#o202'")
    wait_for(browser, "document.activeElement.querySelector('b')?.textContent=='q201'")
    # j goes on beyond the rows that are elements, up to the last.
    browser.evaluate("[...document.querySelectorAll('.rows summary')].at(-1).focus()")
    for _ in range(3):
        browser.press("j")
        browser.evaluate("[...document.querySelectorAll('.rows summary')].at(-1).focus()")
    assert len(browser.evaluate(SHOWN)) == COUNT
    last = browser.evaluate("document.activeElement.querySelector('b').textContent")
    browser.press("k", "j", "j")
    assert browser.evaluate("document.activeElement.querySelector('b').textContent") == last
