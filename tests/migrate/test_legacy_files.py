"""What is read beside a source, and lines of a source that cannot be read."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import Document, read_yaml
from evalstore.errors import LoadError
from evalstore.migration.extraction import ArtifactDraft, Extraction, LegacyCase, LegacySource
from evalstore.migration.legacy_files import parse_legacy, parse_whole, render_legacy
from evalstore.migration.outcome import MigrationOutcome
from evalstore.migration.readers import restore_files
from evalstore.migration.remainder import is_same_data
from evalstore.migration.sources import find_sources
from evalstore.migration.table import load_tables
from evalstore.model import Kind
from tests.migrate.planning import plan_alone


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_are_ended_by_line_feeds_alone_and_blank_ones_do_not_count() -> None:
    document, broken = parse_legacy('{"a": "x\u2028\x85y"}\r\n\n  \n{"a": 1.10}'.encode(), "f.jsonl")
    assert broken == ()
    assert [row["a"] for row in document.value] == ["x\u2028\x85y", Decimal("1.10")]
    assert [document.locate((index,)).line for index in (0, 1)] == [1, 4]
    assert render_legacy(document.value, "f.jsonl").endswith('{"a":1.10}\n')


@pytest.mark.parametrize(
    ("line", "words"),
    [(b'{"a": ', "not JSON"), (b'"\xff"', "not UTF-8"), (b"{'a': NaN}", "not JSON")],
)
def test_a_broken_line_is_told_beside_the_whole_ones(line: bytes, words: str) -> None:
    document, broken = parse_legacy(b"1\n" + line + b"\n2\n", "f.jsonl")
    assert document.value == [1, 2]
    assert [(one.problem.place.line, one.text) for one in broken] == [(2, line.decode("utf-8", "backslashreplace"))]
    assert words in broken[0].problem.message
    with pytest.raises(LoadError, match=words):
        parse_whole(b"1\n" + line + b"\n2\n", "f.jsonl")


def test_what_is_mostly_broken_is_no_such_file() -> None:
    with pytest.raises(LoadError, match="not JSON"):
        parse_legacy(b"1\nx\ny\n", "f.jsonl")
    with pytest.raises(LoadError, match="no row"):
        parse_legacy(b"\n \n", "f.jsonl")


@pytest.fixture
def source(tmp_path: Path) -> Any:
    """A source in a folder that was named, with files inside and outside of that folder."""
    outside = put(tmp_path / "outside.json", '"outside"')
    root = tmp_path / "root"
    put(root / "a/eval.json", "{}")
    put(root / "a/here.json", '"here"')
    put(root / "top.json", '"top"')
    put(root / "a/broken.jsonl", "1\n{\n2\n")
    put(root / "a/name: with @.json", '"odd"')
    put(root / "a/prompt.md", "{{ input }}\nno: yaml\n")
    put(root / "a/odd.md", "\x1b[0m")
    (root / "a/folder.json").mkdir()
    (root / "a/link.json").symlink_to(outside)
    (root / "linked").symlink_to(tmp_path)
    return next(one for one in find_sources([root], tmp_path / "store") if one.name == "root/a/eval.json")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("here.json", "root/a/here.json"),
        ("./x/../here.json", "root/a/here.json"),
        ("file://here.json", "root/a/here.json"),
        ("file:///top.json", "root/top.json"),
        ("/top.json", "root/top.json"),
        ("../top.json", "root/top.json"),
        ("name: with @.json", "root/a/name: with @.json"),
    ],
)
def test_what_lies_beside_is_read_within_what_was_named(source: Any, path: str, name: str) -> None:
    document = source.read_companion(path)
    assert document is not None
    assert document.file == name


def test_what_has_no_format_is_a_text(source: Any) -> None:
    assert source.read_companion("prompt.md").value == "{{ input }}\nno: yaml\n"


@pytest.mark.parametrize(
    "path",
    ["odd.md", "../../outside.json", "/../outside.json", "/etc/hostname", "link.json", "../linked/outside.json", "folder.json", "",
     "/", ".", "..", "none.json", "broken.jsonl", "https://example.org/here.json", "file://file://here.json", "here.json\0",
     "x" * 5000, "*.json"],
)  # fmt: skip
def test_nothing_else_is(source: Any, path: str) -> None:
    assert source.read_companion(path) is None


def test_beside_a_file_that_was_named_alone_is_its_folder(tmp_path: Path) -> None:
    path = put(tmp_path / "a/eval.json", "{}")
    put(tmp_path / "a/here.json", "1")
    put(tmp_path / "up.json", "1")
    only = find_sources([path], tmp_path / "store")[0]
    found = only.read_companion("/here.json")
    assert found is not None
    assert found.file == "a/here.json"
    assert only.read_companion("../up.json") is None


def taken(document: Document, rows: Document) -> Extraction:
    rubric = ArtifactDraft(Kind.RUBRIC, "r", {"checks": [{"kind": "format", "format": "text"}]})
    return Extraction(
        "d",
        ArtifactDraft(Kind.DATASET, "x", {"title": "t"}),
        (
            LegacyCase(("own", 0), document.value["own"][0], question={"id": "a", "input": "?"}, rubric=rubric),
            LegacyCase((1,), rows.value[1], question={"id": "b", "input": "!"}, rubric=rubric, document=rows),
            LegacyCase((0,), rows.value[0], MigrationOutcome.REFUSED, ("why",), document=rows),
        ),
    )


def test_cases_that_stand_beside_have_their_own_place_and_come_back_too() -> None:
    document = parse_whole(b'{"own": [{"q": 1}], "more": "rows.jsonl"}', "eval.json")
    rows, broken = parse_legacy(b'{"q": 2}\n{"q": 3, "note": 1}\n', "rows.jsonl")
    table = replace(load_tables("openrubricrl")[0], mirrors={})
    legacy = LegacySource(document, "eval.json", "0", {"rows.jsonl": rows}.get, None, broken)
    plan = plan_alone(taken(document, rows), legacy, table, {"rows.jsonl": rows})
    assert [(entry.file, entry.line, entry.outcome) for entry in plan.entries] == [
        ("eval.json", 1, "migrated"),
        ("rows.jsonl", 1, "refused"),
        ("rows.jsonl", 2, "migrated"),
    ]
    main = read_yaml(plan.files["datasets/x.yaml"].new, "x").value
    assert main["x_source"]["beside"] == {"rows.jsonl": []}
    assert main["questions"][1]["x_source"] == {"beside": "rows.jsonl", "pointer": "/1", "kept": {"q": 3, "note": 1}}
    restored = restore_files(main, {}, table)
    assert is_same_data(restored[""], document.value)
    assert is_same_data(restored["rows.jsonl"], rows.value)


def test_a_broken_line_is_kept_as_it_stands(tmp_path: Path) -> None:
    document, broken = parse_legacy(b'{"q": 2}\n{"q": \n{"q": 3}\n', "rows.jsonl")
    rubric = ArtifactDraft(Kind.RUBRIC, "r", {"checks": [{"kind": "format", "format": "text"}]})
    cases = tuple(
        LegacyCase((index,), row, question={"id": f"q{index}", "input": "?"}, rubric=rubric)
        for index, row in enumerate(document.value)
    )
    table = replace(load_tables("openrubricrl")[0], mirrors={})
    legacy = LegacySource(document, "rows.jsonl", "0", lambda _: None, None, broken)
    plan = plan_alone(Extraction("d", ArtifactDraft(Kind.DATASET, "x", {}), cases), legacy, table)
    assert [(entry.line, entry.outcome) for entry in plan.entries] == [(1, "migrated"), (2, "refused"), (3, "migrated")]
    main = read_yaml(plan.files["datasets/x.yaml"].new, "x").value
    assert [(item["line"], item["value"]) for item in main["x_unmapped"]] == [(2, '{"q": ')]
    assert is_same_data(restore_files(main, {}, table)[""], json.loads('[{"q": 2}, {"q": 3}]'))
    without = plan_alone(Extraction("d", None, cases), legacy, table)
    assert without.files == {}
    assert "not JSON" in without.entries[0].reason
