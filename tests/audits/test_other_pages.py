"""The pages of a run, a history and a comparison: inert, small, and with the numbers of their JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.diff import compare
from evalstore.report import render
from tests.audits.conftest import Desk
from tests.audits.test_acceptance import BAN, BRIEF
from tests.audits.test_page import PageReader, attack, fail, points, require_inert, worsen
from tests.report.payloads import PAYLOADS
from tests.report.test_hostile import diff as compare_hostile
from tests.rows import each

Ask = Callable[..., str]


def list_commands(desk: Desk, make_runs: Callable[[Desk], Any]) -> dict[str, tuple[str | Path, ...]]:
    a, b = (run.path for run in make_runs(desk))
    return {
        "audit": ("audit", a, b),
        "records": ("-C", "/", "audit", a, b),
        "question": ("audit", a, b, "--question", "q1"),
        "run": ("show", b),
        "pairs": ("show", a, b),
        "history": ("history", "rubric/r", "--run", a, "--run", b),
        "diff": ("diff", "rubric/r@1.0.0", "rubric/r@2.0.0", "--run", a),
    }


_FOUND: dict[str, dict[str, str]] = {}  # pages are texts: those of each store are written once


def write_pages(desk: Desk, print_page: Ask, make_runs: Callable[[Desk], Any]) -> dict[str, str]:
    """Return every page of a store by name, and the JSON of the run that one shows."""
    key = make_runs.__name__
    if key not in _FOUND:
        commands = list_commands(desk, make_runs)
        found = {name: print_page(*argv) for name, argv in commands.items()}
        _FOUND[key] = {**found, "run.json": print_page(*commands["run"], form="json")}
    return _FOUND[key]


def test_all_pages_are_inert_and_below_300_kb(desk: Desk, print_page: Ask) -> None:
    pages = write_pages(desk, print_page, attack)
    for name in pages.keys() - {"run.json"}:
        read = require_inert(pages[name])
        assert len(pages[name].encode()) < 300_000
        assert re.search("[A-Za-z]", read.words)


@each(PAYLOADS, name=ascii)
def test_a_hostile_document_compares_as_text(payload: str) -> None:
    require_inert(render(compare_hostile(payload), "html"))


def test_a_run_has_every_output_with_every_reason(desk: Desk, print_page: Ask) -> None:
    pages = write_pages(desk, print_page, attack)
    found, read = json.loads(pages["run.json"]), require_inert(pages["run"])
    assert f"The mean score is {found['score'] * 100:.2f} over {found['scored']} questions" in read.words
    assert len(read.questions) == len(found["rows"]) == found["found"]
    for row, classes in zip(found["rows"], read.questions, strict=True):
        assert {"fail": "v0", "unscored": "v1", "pass": "v2"}[row["verdict"]] in classes
    shown = [row for row in read.rows if len(row) == 4 and row[1] in {"pass", "fail", "unscored"}]
    checks = [check for row in found["rows"] for check in row["checks"]]
    assert [(row[0], row[1], row[2]) for row in shown] == [
        (check["id"], check["verdict"], "-" if check["score"] is None else f"{check['score'] * 100:.2f}")
        for check in checks
    ]


def test_filters_of_a_run_find_failing_and_broken_checks(desk: Desk, print_page: Ask) -> None:
    run = fail(desk)[1].path
    found, page = json.loads(print_page("show", run, form="json")), print_page("show", run)
    read = PageReader(page)
    options = dict(re.findall(r'<option class="o(\w+)">([^<]*)</option>', page))
    assert {key[0] for key in options} >= {*"vc"}
    for key, label in options.items():
        assert f".list:has(.o{key}:checked) .q:not(.{key}){{display:none}}" in read.style
        expected = [
            label in {row["verdict"], row["rubric"]}
            or label in {one["id"] for one in row["checks"] if one["verdict"] == "fail" or one["unscored"] == "error"}
            for row in found["rows"]
        ]
        assert [key in classes for classes in read.questions] == expected, label


def test_a_timeline_has_the_scores_of_the_history(desk: Desk, print_page: Ask) -> None:
    a, b = (str(run.path) for run in worsen(desk))
    desk.judge("3.0.0", "STRICT")
    found = json.loads(print_page("history", "rubric/r", "--run", a, "--run", b, form="json"))
    rows = [
        row for row in require_inert(print_page("history", "rubric/r", "--run", a, "--run", b)).rows if len(row) == 8
    ][1:]
    assert [row[0] for row in rows] == found["versions"]
    for place, row in enumerate(rows):
        for number, (score, bar) in enumerate(((row[4], row[5]), (row[6], row[7]))):
            cell, before = found["cells"][number][place], found["cells"][number][place - 1] if place else None
            assert score == ("-" if cell is None else f"{cell * 100:.2f}")
            assert ("the run\u2019s own" in bar) == (found["recorded"][number] == found["versions"][place])
            if cell is not None and before is not None and cell != before:
                assert points(cell - before) in bar
            if cell is None:
                assert "cannot be graded" in bar
    drawn = print_page("history", "rubric/r", "--run", a, "--run", b).split('<svg class="runs"')[1].split("</svg>")[0]
    assert drawn.count("<circle") == 2
    # The audit's page has the same of everything that was edited between the runs.
    audit = require_inert(print_page("audit", a, b))
    assert [row[3:] for row in audit.rows if len(row) == 7 and row[0] in found["versions"]][: len(rows)]
    assert "judge/acc" in audit.words
    assert "Releases, with the score of each" in audit.words


def test_timelines_of_many_outputs_or_releases_are_cut_and_say_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalstore.audits import score_history
    from evalstore.store import ArtifactStore

    runs = worsen(desk)
    found = desk.audit(*runs, asks=True)
    with ArtifactStore.open(desk.repo.root) as store:

        def build() -> score_history.Timelines:
            return score_history.build_timelines(found, [run.path for run in runs], store)

        whole = build()
        assert {one.name for one in whole.histories} == {"rubric/r", "judge/acc"}
        assert [one.versions for one in whole.histories] == [("1.0.0", "2.0.0")] * 2
        assert whole.notes == ()
        limits = score_history._LIMITS._replace(releases=1, fewest=1)
        monkeypatch.setattr(score_history, "_LIMITS", limits)
        cut = build()
        assert [one.versions for one in cut.histories] == [("2.0.0",)] * 2
        assert all("1 newest releases of 2" in note for note in cut.notes)
        monkeypatch.setattr(score_history, "_LIMITS", limits._replace(artifacts=1))
        assert build().histories == cut.histories[:1]
        monkeypatch.setattr(score_history, "_LIMITS", limits._replace(gradings=10))
        assert build().histories == ()
        assert "no timelines for so many outputs" in build().notes[0]


def test_a_comparison_says_what_its_document_says() -> None:
    words = ["a", "<b>", "c " * 50]
    checks = [{"id": f"c{n}", "kind": "must_not_contain", "values": ["x"]} for n in range(4)]
    old = {"id": "r", "version": "1.0.0", "title": "t", "checks": checks, "scoring": {"combine": "weighted_avg"}}
    new = {**old, "title": "u", "checks": [{**check, "values": ["x", *words]} for check in checks]}
    result = compare(old, new)
    found, page = json.loads(render(result, "json")), render(result, "html")
    read = require_inert(page)
    assert f"next version is {found['next_version']}" in read.words
    for finding in found["findings"]:
        assert finding["message"][:40] in read.words  # a page shortens a long value
        assert finding["fingerprint"] in read.words
    assert set(re.findall(r'<option class="o([a-z])', page)) == {*"ldr"}
    same = require_inert(render(compare(old, old), "html"))
    assert "No noticeable change" in same.words


def test_all_changes_of_a_store_are_one_page(desk: Desk, print_page: Ask) -> None:
    for name in ("r", "s"):
        desk.rubric("1.0.0", BAN, BRIEF, name=name)
        path = desk.repo.root / f"rubrics/{name}.yaml"
        path.write_text(path.read_text().replace('"foo"', '"foo", "<b>"'))
    (desk.repo.root / "rubrics/t.yaml").write_text(path.read_text().replace('"s"', '"t"').replace("id: s", "id: t"))
    found = json.loads(print_page("diff", form="json"))
    read = require_inert(print_page("diff"))
    assert len(found["diffs"]) == 2
    for one in found["diffs"]:
        assert all(finding["message"] in read.words for finding in one["findings"])
        assert f"{one['old']['ref']} \u2192 {one['new']['ref']}" in read.words
    assert "rubric/t is new, never released" in read.words


def test_each_release_of_a_history_says_what_it_changed_and_where(desk: Desk, print_page: Ask) -> None:
    """The lines are those of the file with their numbers; of a remote at a known host the commit is a link."""
    a, _ = (run.path for run in worsen(desk))
    argv = ("history", "rubric/r", "--run", a)
    before = require_inert(print_page(*argv))
    assert "https://" not in "".join(value for key, value in before.attributes if key == "href")
    desk.repo.git("remote", "add", "origin", "ssh://git:secret@github.com:22/acme/evals.git")
    page = print_page(*argv)
    read, found = require_inert(page), json.loads(print_page(*argv, form="json"))
    commit = found["releases"][1]["commit"]
    assert ("href", f"https://github.com/acme/evals/commit/{commit}") in read.attributes
    assert "secret" not in page
    assert found["edits"][0] == []
    assert found["edits"][1]
    plain = print_page(*argv, form="text")
    for message in found["edits"][1]:
        assert message in plain
        assert message in read.words
    assert "evalstore diff rubric/r@1.0.0 rubric/r@2.0.0" in plain
    # A check is one line with all of its phrases: the edit shows what it was, too.
    assert re.search(r"<del> +3 - .*\n?</del>\s*<ins> +3 \+ ", page)
    assert found["cell_coverage"][0][0] == found["coverage"][0]
