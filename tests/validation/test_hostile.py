"""Hostile files: each ends in one sentence with its place, and hides no other file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from evalstore.lint import find_folder_sources, make_file_source, make_text_source
from evalstore.model import Findings, Severity

GOOD = b"id: good\nversion: 1.0.0\nchecks: [{kind: format}]\nscoring: {combine: min}\n"
LAUGHS = b"a: &a [x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (99 + i, 99 + i, b", ".join([b"*%c" % (98 + i if i else 97)] * 9)) for i in range(9)
).replace(b"*b", b"*a")

# name -> (bytes, rule, line, a word of the sentence)
FILES = {
    "alias_bomb": (LAUGHS, "document-malformed", None, "values"),
    "alias_of_itself": (b"checks: &a [*a]\n", "document-malformed", 1, "contains itself"),
    "merge_keys": (b"a: &a {b: 1}\nchecks: {<<: *a}\n", "document-malformed", 2, "merge"),
    "deep_flow": (b"checks: " + b"[" * 100_000, "document-malformed", 1, "nested deeper"),
    "deep_block": (b"".join(b" " * n + b"a:\n" for n in range(300)), "document-malformed", 65, "nested deeper"),
    "nul": (b"id: n\x00ul\n", "document-malformed", 1, "U+0000"),
    "utf_16": ("id: utf_16\n".encode("utf-16"), "document-malformed", 1, "UTF-8"),
    "latin_1": (b"id: latin_1\ntitle: caf\xe9\n", "document-malformed", 2, "UTF-8"),
    "line_separator": ("id: a\u2028b: 1\n".encode(), "document-malformed", 1, "U+2028"),
    "digits": (b"id: digits\nscoring: {threshold: 0." + b"1" * 100_000 + b"}\n", "document-malformed", 2, "digits"),
    "exponent": (b"scoring:\n  threshold: 1e999999999\n", "document-malformed", 2, "out of range"),
    "infinity": (b"scoring:\n  threshold: .inf\n", "document-malformed", 2, ".inf"),
    "python_tag": (b"id: !!python/object/apply:os.system [id]\n", "document-malformed", 1, "tag"),
    "mapping_as_key": (b"? [a]\n: b\n", "document-malformed", 1, "key"),
    "too_large": (b"# " + b"x" * (1 << 20), "file-unreadable", None, "limit"),
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name, (data, *_) in FILES.items():
        (tmp_path / "rubrics").mkdir(exist_ok=True)
        (tmp_path / "rubrics" / f"{name}.yaml").write_bytes(data)
    (tmp_path / "rubrics" / "good.yaml").write_bytes(GOOD)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_each_ends_in_one_sentence_with_its_place(name: str, store: Path, check: Callable[..., Findings]) -> None:
    _, rule, line, word = FILES[name]
    (found,) = check([make_file_source(store / "rubrics" / f"{name}.yaml", f"{name}.yaml")]).findings
    assert (found.rule, found.severity, found.file) == (rule, Severity.ERROR, f"{name}.yaml")
    assert line in {None, found.line}
    assert word in found.message
    assert found.message.isprintable()


def make_folders(root: Path) -> None:
    """Make the folders of a store, with the rubric that its questions name."""
    (root / "datasets").mkdir()
    (root / "rubrics").mkdir()
    (root / "rubrics" / "good.yaml").write_bytes(GOOD)


def test_none_hides_another(store: Path, check: Callable[..., Findings]) -> None:
    found = check(find_folder_sources(store))
    assert found.files == len(FILES) + 1
    assert sorted(one.file for one in found.findings) == sorted(f"rubrics/{name}.yaml" for name in FILES)


def test_the_same_from_standard_input(check: Callable[..., Findings]) -> None:
    for data, *_ in FILES.values():
        (found,) = check([make_text_source(data)]).findings
        assert (found.file, found.severity) == ("<stdin>", Severity.ERROR)


def test_what_is_no_regular_file_is_a_finding_and_never_read(tmp_path: Path, check: Callable[..., Findings]) -> None:
    rubrics = tmp_path / "store" / "rubrics"
    rubrics.mkdir(parents=True)
    (tmp_path / "secret.yaml").write_bytes(GOOD)
    (rubrics / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (rubrics / "dangling.yaml").symlink_to("nowhere")
    (rubrics / "folder.yaml").mkdir()
    os.mkfifo(rubrics / "pipe.yaml")
    (tmp_path / "store" / "judges").symlink_to(rubrics)
    (tmp_path / "store" / "evalstore.yaml").symlink_to("/dev/zero")
    found = check(find_folder_sources(tmp_path / "store"))
    assert [(one.file, one.rule) for one in found.findings] == [
        ("evalstore.yaml", "link-not-followed"),
        ("rubrics/dangling.yaml", "link-not-followed"),
        ("rubrics/folder.yaml", "file-unreadable"),
        ("rubrics/link.yaml", "link-not-followed"),
        ("rubrics/pipe.yaml", "file-unreadable"),
        ("judges", "link-not-followed"),
    ]
    assert check([make_file_source(rubrics / "link.yaml", "l")]).findings[0].rule == "link-not-followed"


def test_rows_stream_and_a_monstrous_line_is_one_finding(tmp_path: Path, check: Callable[..., Findings]) -> None:
    make_folders(tmp_path)
    (tmp_path / "datasets" / "q.yaml").write_text(
        "id: q\nversion: 1.0.0\nrows: q.jsonl\ndefaults: {rubric_ref: rubric/good@1.0.0}\n"
    )
    huge = b'{"id": "a", "input": "' + b"x" * (9 << 20) + b'"}\n'
    deep = b'{"id": "b", "input": "b", "n": ' + b"[" * 5000 + b"]" * 5000 + b"}\n"
    (tmp_path / "datasets" / "q.jsonl").write_bytes(huge + deep + b"\xff\xfe\n" + b'{"id": "c", "inptu": "d"}\n')
    found = check(find_folder_sources(tmp_path)).findings
    assert [(one.line, one.rule) for one in found] == [
        (1, "row-malformed"),
        (2, "row-malformed"),
        (3, "row-malformed"),
        (4, "key-missing"),
        (4, "key-misspelt"),
    ]
    # A line that is cut is one line all the same.
    assert [one.source.text for one in found[3:] if one.source] == ['{"id": "c", "inptu": "d"}'] * 2


def test_rows_behind_a_link_are_not_read(tmp_path: Path, check: Callable[..., Findings]) -> None:
    make_folders(tmp_path)
    (tmp_path / "datasets" / "q.yaml").write_text(
        "id: q\nversion: 1.0.0\nrows: q.jsonl\ndefaults: {rubric_ref: rubric/good@1.0.0}\n"
    )
    (tmp_path / "datasets" / "q.jsonl").symlink_to("/etc/passwd")
    (found,) = check(find_folder_sources(tmp_path)).findings
    assert (found.rule, found.line) == ("file-unreadable", 3)


@pytest.mark.parametrize(
    "schema",
    [
        '{"$ref": "#"}',
        '{"allOf": [{"$ref": "#/allOf/0"}]}',
        '{"$ref": "file:///etc/passwd"}',
        '{"properties": []}',
        "[]",
    ],
)
def test_a_hostile_bundle_is_one_finding(schema: str, tmp_path: Path, check: Callable[..., Findings]) -> None:
    make_folders(tmp_path)
    (tmp_path / "bundles").mkdir()
    (tmp_path / "datasets" / "q.yaml").write_text(
        "id: q\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/good@1.0.0}\nquestions: [{id: a, input: b, bundle: x, y: 1}, {id: b, input: c, bundle: ../x}]\n"
    )
    (tmp_path / "bundles" / "x.schema.json").write_text(schema)
    found = check(find_folder_sources(tmp_path)).findings
    assert {one.rule for one in found} == {"bundle-broken", "value-malformed"}
    assert not any("passwd:" in one.message for one in found)


SIXFOLD = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 6} for n in range(8)}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": {"y": {"pattern": r"^(a*)(a*)(a*)\1\2\3$"}}}, "too many steps"),
        ({"patternProperties": {"y": {"pattern": "(a"}}}, "does not compile"),
        pytest.param({"$defs": {**SIXFOLD, "d8": {}}, "$ref": "#/$defs/d0"}, "too many steps", marks=pytest.mark.slow),
    ],
    ids=["pattern", "broken_pattern", "a_million_parts"],
)
def test_a_bundle_that_never_ends_is_one_finding(
    schema: dict[str, Any], said: str, tmp_path: Path, check: Callable[..., Findings]
) -> None:
    make_folders(tmp_path)
    (tmp_path / "bundles").mkdir()
    row = f"{{id: a, input: b, bundle: x, y: {'a' * 85}b}}"
    (tmp_path / "datasets" / "q.yaml").write_text(
        f"id: q\nversion: 1.0.0\ndefaults: {{rubric_ref: rubric/good@1.0.0}}\nquestions: [{row}]\n"
    )
    (tmp_path / "bundles" / "x.schema.json").write_text(json.dumps(schema))
    (found,) = check(find_folder_sources(tmp_path)).findings
    assert found.rule == "bundle-broken"
    assert said in found.message


def test_twins_by_case_are_told_of_each_other(tmp_path: Path, check: Callable[..., Findings]) -> None:
    (tmp_path / "rubrics").mkdir()
    for name in ("good", "Good"):
        (tmp_path / "rubrics" / f"{name}.yaml").write_bytes(GOOD.replace(b"good", name.encode()))
    found = check(find_folder_sources(tmp_path)).findings
    assert [one.file for one in found if one.rule == "id-twin"] == ["rubrics/Good.yaml", "rubrics/good.yaml"]


REPEATED = {
    "unnamed_checks": b"id: a\nversion: 1.0.0\nscoring: {combine: min}\nchecks:\n" + b"- kind: format\n" * 10_000,
    "gates_of_mappings": b"checks: [{kind: format}]\nscoring: {required: [" + b"{}," * 6_000 + b"]}\n",
    "empty_tags": b"id: a\nversion: 1.0.0\ntemplate: |\n  " + b"{{}} " * 40_000 + b"\n",
    "open_tags": b"id: a\nversion: 1.0.0\ntemplate: |\n  " + b"{{{ " * 200_000 + b"\n",
}


LONG = {"empty_tags", "open_tags"}  # seconds here


@pytest.mark.heavy
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in REPEATED]
)
def test_repetition_costs_time_in_proportion(name: str, check: Callable[..., Findings]) -> None:
    start = process_time()
    check([make_text_source(REPEATED[name])])
    assert process_time() - start < 30  # each took minutes to hours when it was compared with all the others


def test_of_thousands_of_unknown_keys_a_few_are_listed(tmp_path: Path, check: Callable[..., Findings]) -> None:
    file = tmp_path / "keys.yaml"
    file.write_bytes(GOOD.replace(b"good", b"keys") + b"".join(b"k%d: 1\n" % number for number in range(3000)))
    found = check([make_file_source(file, "keys.yaml")]).findings
    assert (len(found), {finding.rule for finding in found}) == (21, {"key-unread"})
    assert found[-1].hint == "of the unknown keys of one mapping only 20 are listed, and here are more"
