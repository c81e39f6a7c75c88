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

from evalstore.report.pages.reference_graph import write_page
from evalstore.site.graph import build_graph
from evalstore.site.values import SiteReference

Cli = Callable[..., Any]
RUBRIC = (
    "id: tone\nversion: 1.0.0\nchecks:\n  - {kind: must_not_contain, values: [simply]}\nscoring: {combine: all_pass}\n"
)


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
        own = {f"#{name}" for name in re.findall(r' id="([^"]*)"', text)}
        assert [link for link in links if link not in own and not (page.parent / link).is_file()] == [], page
        assert text.count("<script") == (page.parent == site / "runs")
        assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text
    index = pages[site / "index.html"]
    # Everything is reached from the first page.
    seen, waiting = set[Path](), [site / "index.html"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        links = (Path(os.path.normpath(page.parent / link)) for link in re.findall(r'href="([^"#]+)"', pages[page]))
        waiting += [link for link in links if link not in seen]
    assert seen == pages.keys()
    # And the first page from everywhere.
    for page, text in pages.items():
        up = os.path.relpath(site / "index.html", page.parent)
        assert page == site / "index.html" or f'href="{up}"' in text, page
    assert "web_answers-1.0.0-model_a" in index
    # What changed last, and whether it moved scores, comes before everything else; then a picture.
    answer = index.partition('<p class="answer">')[2]
    assert answer.startswith("The last release is judge/accuracy 1.0.1, a patch change, on 2026-10-13 by Teodora Vale.")
    moved = re.findall(r"<b>Did scores move\?</b> (.*?) <a href=\"audits/1.html\">Why</a>", index)[0]
    assert moved.startswith("dataset/web_answers: The score fell by 6.79 points: the rubric took 18.27")
    assert moved.endswith("Is the model better? 13 questions cannot tell; about 150 would.")
    assert index.index("<svg") < index.index("<table")
    assert index.count("<circle") == 2
    assert "Questions that reach our help desk" in index
    style = pages[site / "rubric/answer_style/index.html"]
    assert "Scores are comparable since 2.0.0." in style
    assert "major: ban-phrase-added (2), scoring-required-changed" in style
    # Rules of two levels are told apart, as in the log.
    answers = pages[site / "dataset/web_answers/index.html"]
    assert "question-rubric-ref-changed; minor: question-added, question-rubric-ref-changed (2)" in answers


def test_a_site_is_written_anew_and_covers_nothing_else(git: Callable[..., str], cli: Cli, tmp_path: Path) -> None:
    git()
    store = tmp_path / "repo"
    (store / "rubrics").mkdir()
    (store / "rubrics/tone.yaml").write_text(RUBRIC)
    assert cli("-C", store, "bump", "--all").code == 0
    assert cli("-C", store, "site", "public").code == 0
    new = (store / "public/index.html").read_text("utf-8")
    (store / "public/index.html").write_text("old")
    assert cli("-C", store, "site", "public").code == 0
    assert (store / "public/index.html").read_text("utf-8") == new
    (store / "docs").mkdir()
    (store / "docs/index.html").write_text("mine")
    ran = cli("-C", store, "site", "docs")
    assert (ran.code, "contains other files" in ran.err) == (3, True)
    assert (store / "docs/index.html").read_text() == "mine"


def test_a_site_that_cannot_be_written_leaves_no_folder(cli: Cli, store: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert cli("-C", tmp_path / "empty", "site", "public").code == 3
    assert not (tmp_path / "empty/public").exists()
    # What writes elsewhere names the folder, too, and says nothing of runs.
    (tmp_path / "file").touch()
    for argv in (("site",), ("export", "dataset/drupal_forms", "--to", "ai_best_practices", "--out")):
        ran = cli("-C", store, *argv, tmp_path / "file/below")
        assert (ran.code, ran.err) == (
            3, f"error: {tmp_path}/file/below: cannot be written: a link or a file is in its path\n"
        )  # fmt: skip


def test_a_file_that_cannot_be_written_is_named_as_it_was_typed(cli: Cli, store: Path) -> None:
    run = next((store / "runs").rglob("*-model_a.json")).relative_to(store)
    (store / "pages/taken").mkdir(parents=True)
    for argv in (
        ("show", run, "--format", "html", "--out", "pages/taken"),
        ("gate", "--base", "HEAD", "--write", "sarif=pages/taken"),
    ):
        said = cli("-C", store, *argv).err
        assert "error: pages/taken: cannot be written: it is not a regular file" in said
    shutil.rmtree(store / "pages")


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


def test_filters_and_columns_of_the_first_page(store: Path, cli: Cli, browser: Any) -> None:
    site, _ = write_once(store, cli)
    browser.open(site / "index.html", 1400)
    columns = "[...document.querySelectorAll('table')].map(one => [...one.querySelectorAll('thead th')]"
    runs, artifacts = browser.evaluate(f"{columns}.map(head => Math.round(head.getBoundingClientRect().left)))")
    assert (len(runs), runs) == (7, artifacts)
    shown = (
        "[...document.querySelectorAll('tr.q')].filter(one => one.checkVisibility()).map(one => one.cells[0].innerText)"
    )
    choose = "document.querySelector('option.o{}').selected = true; {}.join()".format
    assert len(browser.evaluate(shown)) == 20
    judges = browser.evaluate(choose("kjudge", shown)).split(",")
    assert [name for name in judges if "/" in name and not name.startswith(("model_", "probes/"))] == [
        "judge/accuracy", "judge/tone"
    ]  # fmt: skip
    assert [
        name for name in browser.evaluate(choose("fc", shown)).split(",") if name.startswith(("judge", "rubric"))
    ] == []


def test_the_references_are_drawn_and_read_at_every_width(store: Path, cli: Cli, browser: Any) -> None:
    site, _ = write_once(store, cli)
    page = site / "references.html"
    assert 'href="references.html"' in (site / "index.html").read_text("utf-8")
    graph = "[...document.querySelectorAll('.graph svg')].filter(one => one.checkVisibility())"
    for width, look in ((1400, "columns"), (800, "columns"), (360, "arcs")):
        browser.open(page, width)
        assert browser.evaluate(f"{graph}.map(one => one.getAttribute('class')).join()") == look
        assert browser.evaluate("document.documentElement.scrollWidth") <= width
        # A letter is at least 12 pixels high on the screen, and no label leaves its box.
        assert browser.evaluate(f"{graph}[0].getScreenCTM().a * 13") >= 12
        boxes = f"[...{graph}[0].querySelectorAll('a')].map(one => ['rect', 'text'].map("
        room = f"{boxes}name => one.querySelector(name).getBoundingClientRect().right))"
        assert all(text <= box for box, text in browser.evaluate(room))
        assert browser.list_complaints() == []
    browser.open(page, 600, media="print")
    assert browser.evaluate(f"{graph}.map(one => one.getAttribute('class')).join()") == "columns"


def test_a_large_graph_says_what_it_leaves_out_and_stays_small() -> None:
    names = [f"{kind}/{'n' * 60}{place}" for kind in ("dataset", "rubric", "judge") for place in range(400)]
    assert build_graph("store", names, []).notes == ("Of 1,200 artifacts, 1,200 without references are left out.",)
    pairs = {SiteReference(a, b) for a in names[:300] for b in names[400:420]}
    graph = build_graph(
        "store", names, pairs | {SiteReference(names[0], "rubric/gone"), SiteReference(names[0], names[0])}
    )
    assert graph.notes == (
        "Of 1,200 artifacts, 880 without references are left out.",
        "Of 320 artifacts with references, the 150 with the most are drawn; each artifact's page lists its own.",
        "Of 2,600 references between them, 1,000 are drawn.",
    )
    assert [len(layer) for layer in graph.layers] == [130, 20]
    assert {one.used for one in graph.references} == set(names[400:420])
    assert len(write_page(graph).encode("utf-8")) < 300_000


def test_layers_stand_so_that_lines_do_not_cross() -> None:
    names = ["dataset/a", "dataset/b", "rubric/y", "rubric/z", "rubric/alone"]
    crossed = [SiteReference("dataset/a", "rubric/z"), SiteReference("dataset/b", "rubric/y")]
    datasets, rubrics = build_graph("store", names, crossed).layers
    firsts = [name for name in rubrics if name != "rubric/alone"]
    assert (firsts == ["rubric/z", "rubric/y"]) == (datasets == ("dataset/a", "dataset/b"))


def test_a_line_past_a_layer_goes_between_its_boxes() -> None:
    names = ["dataset/a", "rubric/x", "rubric/y", "judge/j"]
    used = [SiteReference("dataset/a", "rubric/x"), SiteReference("rubric/x", "judge/j")]
    page = write_page(build_graph("store", names, [*used, SiteReference("judge/j", "dataset/a", scores=False)]))
    path = re.findall(r'<path d="([^"]+)" class="records"', page)[0]
    tops = [int(top) for top in re.findall(r'<rect x="274" y="(\d+)"', page)]
    levels = {int(y) for x, y in re.findall(r"(\d+) (\d+)(?=C|$)", path) if x in {"274", "484"}}
    assert levels
    assert all(not top <= y <= top + 24 for y in levels for top in tops)
