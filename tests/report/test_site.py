"""The site of the sample store: every link leads to a page, nothing is loaded, and no other folder is covered."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def store(demo: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site") / "store"
    shutil.copytree(demo.folder, target, symlinks=True)
    path = target / "rubrics/answer_style.yaml"
    path.write_text(path.read_text("utf-8") + "x_note: <script>alert(1)</script>\n", "utf-8")
    (target / "runs/no_run.json").write_text("{}", "utf-8")
    return target


def write_once(store: Path, cli: Cli) -> tuple[Path, Any]:
    """Return the folder of the site, written by the first test that asks, and what the command said."""
    said = store / "said.json"
    if not said.exists():
        ran = cli("-C", store, "site", "public", "--format", "json")
        assert ran.code == 0, ran.err
        said.write_text(ran.out, "utf-8")
    return store / "public", json.loads(said.read_text("utf-8"))


def test_every_link_leads_to_a_page_and_nothing_is_loaded(store: Path, cli: Cli) -> None:
    site, found = write_once(store, cli)
    pages = {page: page.read_text("utf-8") for page in site.rglob("*.html")}
    assert (len(pages), found["notes"]) == (found["pages"], [])
    for page, text in pages.items():
        links = re.findall(r'(?:href|src)="([^"]*)"', text)
        assert [link for link in links if not (page.parent / link).is_file()] == [], page
        assert "<script" not in text
        assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    index = pages[site / "index.html"]
    # Everything is reached from the first page.
    seen, waiting = set[Path](), [site / "index.html"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        links = (Path(os.path.normpath(page.parent / link)) for link in re.findall(r'href="([^"]*)"', pages[page]))
        waiting += [link for link in links if link not in seen]
    assert seen == pages.keys()
    assert "web_answers-1.0.0-model_a" in index
    style = pages[site / "rubric/answer_style/index.html"]
    assert "Scores are comparable since 2.0.0." in style
    assert "ban-phrase-added (2), scoring-required-changed" in style


def test_a_site_is_written_anew_and_covers_nothing_else(store: Path, cli: Cli) -> None:
    site, _ = write_once(store, cli)
    (site / "index.html").write_text("old")
    assert cli("-C", store, "site", "public").code == 0
    assert (site / "index.html").read_text("utf-8") != "old"
    (store / "docs").mkdir()
    (store / "docs/index.html").write_text("mine")
    ran = cli("-C", store, "site", "docs")
    assert (ran.code, "holds other files" in ran.err) == (3, True)
    assert (store / "docs/index.html").read_text() == "mine"


def test_the_pages_in_a_browser_complain_of_nothing_and_fit_every_width(store: Path, cli: Cli, browser: Any) -> None:
    site, _ = write_once(store, cli)
    for page in (
        "index.html",
        "rubric/answer_style/index.html",
        "rubric/answer_style/1.0.0--2.0.0.html",
        "audits/1.html",
    ):
        browser.open(site / page)
        for width in (1400, 800, 360):
            browser.resize(width)
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, (page, width)
        assert browser.evaluate("document.scripts.length + document.images.length") == 0
        assert browser.list_complaints() == []
