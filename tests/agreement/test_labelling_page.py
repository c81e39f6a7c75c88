"""Labels that are given on the page of a run: the same lines as a terminal writes, kept, and read by `judge validate`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evalstore.agreement.label_file import make_label, order_for_labels
from evalstore.agreement.labels import read_labels
from evalstore.documents import write_row
from evalstore.model import Verdict
from evalstore.runs.run_view import RowChoice, view_run

# Outputs that a page shows as they are, and such as it cannot: what is written is exact all the same.
OUTPUTS = ("fine", "\n two\n\tlines \n", "<b>&amp;\"'#1 ü 🦉", "bell \x07, \u200b and \u202e", "a\r\nb", "")
VISIBLE = (
    "[...document.querySelectorAll('.rows .q')].map(q=>[...q.querySelectorAll('.badge,summary .quiet,.checks')]"
    ".filter(one=>one.checkVisibility()).length)"
)
STATUS = "document.querySelector('#label-count').textContent"


def write_results(path: Path) -> None:
    """Write a file of AgentV: an output to each of some questions, two to the first, and one that is too long."""
    texts = [("a <1>", text) for text in OUTPUTS[:2]] + [(f"q{n}", text) for n, text in enumerate(OUTPUTS[2:])]
    scored = [{"name": "g", "score": 0.5, "assertions": [{"text": "what a grader said", "passed": False}]}]
    rows = [
        {"test_id": id_, "input": f"ask\n{id_}", "output": text, "score": 0.5, "scores": scored}
        for id_, text in [*texts, ("long", "long " * 5000)]
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_page_writes_the_labels_that_a_terminal_writes(browser: Any, cli: Callable[..., Any], tmp_path: Path) -> None:
    write_results(tmp_path / "results.jsonl")
    page = tmp_path / "run.html"
    assert cli("show", "results.jsonl", "--format", "html", "--out", page.name, cwd=tmp_path).code == 0
    browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open(page)
    assert set(browser.evaluate(VISIBLE)) >= {2}
    browser.evaluate("document.querySelector('#label-mode').focus();0")
    browser.press("Space")
    assert set(browser.evaluate(VISIBLE)) == {0}

    order = order_for_labels(view_run(tmp_path / "results.jsonl", RowChoice()).rows)
    wanted = dict[int, Verdict]()
    for at, row in enumerate(order):
        if len(row.output.text) > 20_000:  # a part of it is no output to label
            browser.press("f")
            assert "--label FILE" in browser.evaluate(STATUS)
            browser.press("s")
            continue
        wanted[at] = Verdict.FAIL if at % 2 else Verdict.PASS
        browser.press("f" if at % 2 else "p")
    browser.press("k", "j", "u")
    assert browser.evaluate(STATUS).startswith("5 labelled")
    browser.press("p")
    wanted[max(wanted)] = Verdict.PASS
    assert "6 labelled" in browser.evaluate(STATUS)

    browser.open(page)  # once more: the browser has kept them
    assert browser.evaluate(STATUS).startswith("6 labelled")
    browser.evaluate("document.querySelector('#label-save').focus();0")
    browser.press("Space")
    file, end = tmp_path / "labels.jsonl", time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    assert file.read_text("utf-8").splitlines(keepends=True) == [
        write_row(make_label(order[at], label, with_reference=True)) for at, label in wanted.items()
    ]
    assert [row.label for row in read_labels(file)] == [*wanted.values()]
    assert browser.list_complaints() == []
    assert cli("init", cwd=tmp_path).code == 0
    (tmp_path / "judges/tone.yaml").write_text(
        "id: tone\nversion: 1.0.0\nscore_type: binary\ntemplate: '{{ output }}'\n"
    )
    asked = cli(
        "judge",
        "validate",
        "judge/tone@worktree",
        "--labels",
        file.name,
        "--judge-model",
        "m",
        "--dry-run",
        cwd=tmp_path,
    )
    assert (asked.code, "calls to make: 6\n" in asked.out) == (0, True), asked
