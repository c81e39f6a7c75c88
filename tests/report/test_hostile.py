"""P14: no report acts on its reader, whatever text from outside it shows, in whichever format."""

from __future__ import annotations

import importlib.util
import json
import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from markdown_it import MarkdownIt

from evalstore.diff import Diff, compare
from evalstore.errors import EvalstoreError, Place
from evalstore.model import Finding, Findings, Severity
from evalstore.report import render
from evalstore.report.formats import FORMATS
from evalstore.report.formats import render as formatted
from evalstore.report.formats.github import format_annotation
from evalstore.report.problems import ProblemReport
from evalstore.report.text_layout import COLOURS, Screen
from evalstore.text import escape_ci_commands
from tests.rows import each

_SPEC = importlib.util.spec_from_file_location("payloads", Path(__file__).with_name("payloads.py"))
assert _SPEC
assert _SPEC.loader
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
PAYLOADS: tuple[str, ...] = _MODULE.PAYLOADS

OWN_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ANYWHERE = re.compile(r"##\w*\[")
LINKED = re.compile(r"(?i)://|www\.|[@#!$&~%^]\w|\bgh-\d|:\w+:")


def findings(payload: str) -> Findings:
    """Return what validation would say of a file whose every word is the payload."""
    places = [(payload, 3, 4), (f"rubrics/{payload}.yaml", 1, None), ("x.yaml", None, None)]
    rows = (
        Finding("key-unknown", Severity(severity), *place, f"/{payload}", payload, payload)
        for severity in Severity
        for place in places
    )
    return Findings(1, tuple(rows))


def diff(payload: str) -> Diff:
    """Return a diff whose messages, values and witness are the payload, as far as a document can hold it."""
    text = "".join(char for char in payload if unicodedata.category(char) != "Cs")
    old = {
        "id": "r",
        "version": "1.0.0",
        "title": "a",
        "checks": [{"id": "a", "kind": "must_contain_any", "values": ["x"]}],
        "scoring": {"combine": "all_pass"},
    }
    check = {"id": text, "kind": "must_contain_any", "values": ["x", text]}
    new = {**old, "id": text, "title": text, f"x_{text}": f"{text}\n{text}\n", "checks": [check]}
    return compare(old, new)


RESULTS = {"validate": findings, "diff": diff}
ROWS = [(name, payload) for name in RESULTS for payload in PAYLOADS]


@cache
def result_of(row: tuple[str, str]) -> Any:
    """Return the result of a command, with a payload wherever it has words."""
    return RESULTS[row[0]](row[1])


def shown(result: Any, format_: str) -> str:
    """Return what the command prints."""
    told = render(result, format_, screen=Screen(80, COLOURS))
    return told if format_ == "github" else escape_ci_commands(told)


def acts(text: str, allowed: str = "\n") -> list[str]:
    """Return the characters that a terminal, a browser or an XML reader acts on."""
    odd = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return [
        char for char in text if char not in allowed and (unicodedata.category(char) in odd or char in "\ufffe\uffff")
    ]


@each(ROWS, name=ascii)
def test_a_text_acts_on_nothing(row: tuple[str, str]) -> None:
    told = OWN_COLOUR.sub("", shown(result_of(row), "text"))
    assert not acts(told)
    assert not ANYWHERE.search(told)
    assert not [line for line in told.split("\n") if line.strip().startswith("::")]


@each(ROWS, name=ascii)
def test_a_document_is_ascii_and_no_command(row: tuple[str, str]) -> None:
    for format_ in ("json", "sarif", "gitlab"):
        told = shown(result_of(row), format_)
        assert told.isascii()
        assert not acts(told)
        assert not ANYWHERE.search(told)
        json.loads(told)


@each(ROWS, name=ascii)
def test_what_code_scanning_shows_is_plain(row: tuple[str, str]) -> None:
    run = json.loads(shown(result_of(row), "sarif"))["runs"][0]
    for result in run["results"]:
        assert not acts(result["message"]["text"])
        assert not re.search(r"(?<!\\)(?:\\\\)*\]\(", result["message"]["text"])
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].isascii()


@each(ROWS, name=ascii)
def test_a_workflow_command_is_ours_alone(row: tuple[str, str]) -> None:
    result = result_of(row)
    lines = shown(result, "github").split("\n")
    commands, (summary, *remarks) = lines[: len(result.findings)], lines[len(result.findings) :]
    # Beside the summary, a comparison of many edits has a line on all of them.
    assert len(remarks) <= 1
    assert not any(acts(line) or line.startswith("::") for line in remarks)
    for line in commands:
        assert not acts(line)
        found = re.fullmatch(r"::(?:error|warning|notice) (?P<properties>.*?)::(?P<message>.*)", line)
        assert found
        keys = [part.partition("=")[0] for part in found["properties"].split(",")]
        assert keys == [key for key in ("file", "line", "col", "title") if key in keys]
    assert not summary.strip().startswith("::")
    assert not ANYWHERE.search(summary)


@each(ROWS, name=ascii)
def test_junit_is_xml_with_a_case_a_problem(row: tuple[str, str]) -> None:
    result = result_of(row)
    told = shown(result, "junit")
    assert not acts(told)
    suite = ET.fromstring(told)[0]  # noqa: S314  # our own document
    assert [case.tag for case in suite] == ["testcase"] * len(result.findings)
    assert {child.tag for case in suite for child in case} <= {"failure", "skipped"}


@each(ROWS, name=ascii)
def test_markdown_links_mentions_and_embeds_nothing(row: tuple[str, str]) -> None:
    result = result_of(row)
    told = shown(result, "markdown")
    assert not acts(told, "\n\u200b\ufe0f")
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(told)
    kinds = [token.type for token in tokens]
    assert kinds.count("heading_open") == 1
    assert not {"table_open", "blockquote_open", "hr", "code_block", "ordered_list_open"} & set(kinds)
    blocks = [token.content for token in tokens if token.type == "html_block"]
    assert all(
        re.fullmatch(r"<details><summary><code>[a-z-]+</code></summary>\n|</details>\n", block) for block in blocks
    )
    assert len(blocks) == 2 * sum(
        kind == "html_block" and "<summary>" in token.content for kind, token in zip(kinds, tokens, strict=True)
    )
    top = [token for token in tokens if token.type == "list_item_open" and token.level == 1]
    assert len(top) == len(result.findings)
    inner = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inner} <= {
        "text",
        "text_special",
        "code_inline",
        "strong_open",
        "strong_close",
        "softbreak",
    }
    for token in (token for token in tokens if token.type == "inline"):
        words = "".join("\0" if child.type == "code_inline" else child.content for child in token.children or ())
        assert not LINKED.search(words), words


@each(PAYLOADS, name=ascii)
def test_what_is_said_beside_the_problems_acts_on_nothing(payload: str) -> None:
    report = ProblemReport("diff", payload, about=(payload, payload), remarks=(payload, payload))
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(formatted(report, "markdown"))
    assert [token.type for token in tokens if token.type.endswith("_open")] == ["heading_open", *["paragraph_open"] * 4]
    inner = [child.type for token in tokens for child in token.children or ()]
    assert set(inner) <= {"text", "text_special", "code_inline", "strong_open", "strong_close"}
    lines = formatted(report, "github").split("\n")
    assert len(lines) == 3
    assert not [line for line in lines if acts(line) or ANYWHERE.search(line) or line.strip().startswith("::")]


@each(PAYLOADS, name=ascii)
def test_a_failure_is_one_annotation(payload: str) -> None:
    line = format_annotation(EvalstoreError(payload, place=Place(payload, 1), hint=payload))
    assert not acts(line)
    assert line.startswith("::error title=evalstore::")
    assert line.count("\n") == 0


def test_there_are_enough_and_no_two_alike() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 60
    assert set(FORMATS) == {"sarif", "github", "gitlab", "junit", "markdown"}
