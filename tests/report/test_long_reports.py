"""A report that no screen holds: its sum comes first, and what is only in the old file is still told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from evalstore.diff import compare
from evalstore.errors import Place
from evalstore.model import Finding, Findings, Severity
from evalstore.release.changes.values import ArtifactState, ArtifactStatus, MovedReference, Status
from evalstore.report import render
from evalstore.report.diff import text
from evalstore.report.text_layout import Screen
from evalstore.versions import Bump, parse_version


def _rubric(word: str, number: int) -> dict[str, Any]:
    checks = [{"id": f"c{n}", "kind": "must_not_contain", "values": [f"{word} {n}"]} for n in range(number)]
    return {"id": "r", "version": "1.0.0", "checks": checks, "scoring": {"combine": "all_pass"}}


def test_many_findings_begin_with_their_sum_and_few_do_not() -> None:
    told = text(compare(_rubric("alpha", 14), _rubric("beta", 14))).splitlines()
    assert told[2:4] == ["14 major. This needs a major bump: the next version is 2.0.0", "14 phrase-reworded"]
    assert told[-1] == told[2]
    assert text(compare(_rubric("alpha", 4), _rubric("beta", 4))).count("This needs a major bump") == 1


def test_what_a_finding_brings_along_is_whole_if_asked_for() -> None:
    (finding,) = compare(_rubric("alpha", 2), _rubric("alpha", 1)).findings
    diff = compare(_rubric("alpha", 1), _rubric("alpha", 1))
    found = replace(diff, findings=(replace(finding, children=(finding,) * 10),))
    assert "and 2 more" in text(found)
    assert text(found, Screen(whole=True)).count(finding.message) == 11


def test_of_many_references_that_moved_the_rest_is_counted() -> None:
    moved = MovedReference(
        "judge/a@^1", parse_version("1.0.0"), parse_version("1.1.0"), Bump.MAJOR, Place("rubrics/r.yaml", 5)
    )
    standing = ArtifactStatus(
        "rubric/r", ArtifactState.MOVED, True, "unchanged", released="1.0.0", working="1.0.0", moved=(moved,) * 5
    )
    told = render(Status((standing,), 1), "text")
    assert told.count(moved.sentence) == 3
    assert "\n    2 more references moved; --format json has all\n" in told


def test_many_findings_of_validation_end_with_how_often_each_rule_found_something() -> None:
    found = [
        Finding(rule, Severity.WARNING, f"{n}.yaml", 1, 1, "", "So.") for n in range(12) for rule in ("a-b", "c-d")
    ]
    assert render(Findings(2, tuple(found[:13])), "text").endswith(
        "\n2 files: 13 findings (13 warnings)\n  7 a-b, 6 c-d"
    )
    assert render(Findings(2, tuple(found[:12])), "text").endswith("\n2 files: 12 findings (12 warnings)")


def test_an_annotation_says_where_it_was_that_is_gone() -> None:
    diff = compare(_rubric("alpha", 2), _rubric("alpha", 1))
    (gone,) = diff.findings
    there = replace(diff, findings=(replace(gone, old=Place("rubrics/r.yaml", 12, 3), new=None),))
    assert "%0Awas at: line 12, before it was removed%0A" in render(there, "github")


def test_the_first_of_a_rule_in_a_file_are_shown_and_the_others_counted() -> None:
    found = [
        Finding(rule, Severity.WARNING, file, line, 1, "", f"{file} {rule} {line}")
        for file, rule, last in (
            ("a.jsonl", "key-misspelt", 9),
            ("a.jsonl", "key-unknown", 3),
            ("b.jsonl", "key-misspelt", 4),
        )
        for line in range(1, last + 1)
    ]
    found.sort(key=lambda finding: (finding.file, finding.line))
    result = Findings(2, tuple(found))
    short, whole = render(result, "text"), render(result, "text", screen=Screen(whole=True))
    lines = short.splitlines()
    assert [
        short.count(f"{file} {rule} ") for file, rule in (("a.jsonl", "key-misspelt"), ("b.jsonl", "key-misspelt"))
    ] == [3, 3]
    assert short.count("a.jsonl key-unknown ") == 3
    assert [line.strip().partition(";")[0] for line in lines if "more like it" in line] == [
        "and 6 more like it",
        "and 1 more like it",
    ]
    assert "a.jsonl key-misspelt 3" in lines[lines.index("    and 6 more like it; --verbose lists them all") - 1]
    assert (whole.count("key-misspelt "), "more like it" in whole) == (13, False)
    assert len(json.loads(render(result, "json"))["findings"]) == len(found)
