"""`validate --fix` mends what has one right answer, touches nothing else, and says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from evalstore.places import find_resource_folder
from evalstore.text import find_only_near
from tests.rows import mark_slow

Cli = Callable[..., Any]
TAIL = "scoring: {combine: all_pass}\n"


def rubric(check: str, version: str = "1.0.0", tail: str = TAIL) -> str:
    return f"id: tone\nversion: {version}\nchecks:\n{check}{tail}"


def fix(cli: Cli, folder: Path, text: str | bytes, name: str = "rubrics/tone.yaml") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    cli("validate", "--fix", cwd=folder)
    first = {found: found.read_bytes() for found in folder.rglob("*") if found.is_file()}
    again = cli("validate", "--fix", cwd=folder)
    assert {found: found.read_bytes() for found in folder.rglob("*") if found.is_file()} == first
    assert "mended" not in again.out
    return path.read_bytes().decode() if path.exists() else ""


@pytest.fixture
def folder(tmp_path: Path, git: Callable[..., str]) -> Path:
    git()
    return tmp_path / "repo"


CHECK = "  - kind: must_contain_any\n    values: [fee]\n"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (rubric("  - kind: must_contain_any\n    valeus: [fee]\n"), rubric(CHECK)),
        (
            rubric("  - kind: must_contain_any\n    'valeus' :  [a] # why\n"),
            rubric("  - kind: must_contain_any\n    'values' :  [a] # why\n"),
        ),
        (rubric("  - {kind: must_contain_ayn, values: [a]}\n"), rubric("  - {kind: must_contain_any, values: [a]}\n")),
        (rubric(CHECK, "1.0"), rubric(CHECK, '"1.0.0"')),
        (rubric(CHECK, "2"), rubric(CHECK, '"2.0.0"')),
        (rubric(CHECK, "'1.2'"), rubric(CHECK, "'1.2.0'")),
        (rubric(CHECK, "1.10"), rubric(CHECK, '"1.10.0"')),
        (
            rubric("  - kind: must_contain_any\n    values: [a, 404, true]\n"),
            rubric('  - kind: must_contain_any\n    values: [a, "404", "true"]\n'),
        ),
        (rubric(CHECK + '    min_matches: "2"\n'), rubric(CHECK + "    min_matches: 2\n")),
        (
            rubric(CHECK, tail="scoring: {combine: weigthed_avg}\n"),
            rubric(CHECK, tail="scoring: {combine: weighted_avg}\n"),
        ),
        (
            rubric(
                CHECK + "    id: polite\n",
                tail="scoring:\n  combine: all_pass\n  required: [poltie]\n  wieghts: {polit: 2}\n",
            ),
            rubric(
                CHECK + "    id: polite\n",
                tail="scoring:\n  combine: all_pass\n  required: [polite]\n  weights: {polite: 2}\n",
            ),
        ),
    ],
)
@pytest.mark.parametrize("style", ["comments", *map(mark_slow, ("plain", "crlf", "bom"))])
def test_what_has_one_right_answer_is_mended_and_every_other_byte_stays(
    cli: Cli, folder: Path, wrong: str, right: str, style: str
) -> None:
    dress: Callable[[str], str] = {
        "plain": str,
        "crlf": lambda text: text.replace("\n", "\r\n"),
        "bom": lambda text: "\ufeff" + text,
        "comments": lambda text: "# 漢字 first\n" + text.replace("\nchecks:", "\n\n# now  \nchecks:  # here"),
    }[style]
    assert fix(cli, folder, dress(wrong)) == dress(right)


@pytest.mark.parametrize(
    "text",
    [
        # The right key already exists; two misspellings of one key; a word that is near two others.
        rubric("  - kind: must_contain_any\n    values: [a]\n    valeus: [b]\n"),
        rubric("  - kind: must_contain_any\n    valeus: [a]\n    vaules: [b]\n"),
        rubric("  - kind: must_contain_any\n    valeus: 5\n"),
        # Nobody knows what was meant.
        rubric("  - {kind: must_match, values: [a]}\n"),
        rubric(CHECK + "    weight: 2\n"),
        rubric(CHECK, "latest"),
        rubric(CHECK).replace("id: tone", "id: voice"),
        # Escapes, anchors and tags are left to people.
        rubric('  - kind: must_contain_any\n    "val\\u0065us": [a]\n'),
        rubric("  - kind: must_contain_any\n    &key valeus: [a]\n"),
    ],
)
def test_what_has_several_answers_is_left_alone(cli: Cli, folder: Path, text: str) -> None:
    assert fix(cli, folder, text) == text


def test_a_kind_that_would_demand_the_opposite_is_left(cli: Cli, folder: Path) -> None:
    text = rubric("  - {kind: must_contain_all, values: [a, b]}\n")
    assert fix(cli, folder, text) == text
    assert "must_contain_any" in fix(cli, folder, text.replace("must_contain_all", "must_contian_any"))


def test_a_key_that_may_be_a_note_of_a_question_needs_the_right_type(cli: Cli, folder: Path) -> None:
    (folder / "rubrics").mkdir()
    (folder / "rubrics/tone.yaml").write_text(rubric(CHECK))
    head = "id: web\nversion: 1.0.0\ndefaults: {rubric_ref: rubric/tone@1.0.0}\nquestions:\n"
    kept = head + "  - {id: a, input: b, expected_fatcs: yes}\n"
    assert fix(cli, folder, kept, "datasets/web.yaml") == kept
    mended = fix(cli, folder, head + "  - {id: a, input: b, expected_fatcs: [yes]}\n", "datasets/web.yaml")
    assert mended == head + "  - {id: a, input: b, expected_facts: [yes]}\n"


def test_rows_are_mended_line_by_line(cli: Cli, folder: Path) -> None:
    (folder / "datasets").mkdir()
    (folder / "datasets/web.yaml").write_text("id: web\nversion: 1.0.0\nrows: web.jsonl\n")
    rows = b'{"id": "a", "input": "b"}\r\n\n{"id":"b" ,"inptu":"\\u0041"}\n[broken\n{"id": "c", "imput": "d"}'
    after = fix(cli, folder, rows, "datasets/web.jsonl")
    assert after.encode() == rows.replace(b'"inptu"', b'"input"').replace(b'"imput"', b'"input"')


@pytest.mark.parametrize("marked", [False, True])
def test_an_ending_is_mended_where_it_hides_the_only_artifact(cli: Cli, folder: Path, marked: bool) -> None:  # noqa: FBT001
    (folder / "rubrics").mkdir()
    (folder / "rubrics/tone.yml").write_text(rubric(CHECK))
    if marked:
        (folder / "evalstore.yaml").write_text("strict: false\n")
    assert cli("validate", cwd=folder).code == 3
    ran = cli("validate", "--fix", cwd=folder)
    assert (ran.code, [path.name for path in (folder / "rubrics").iterdir()]) == (0, ["tone.yaml"]), ran.err
    assert "tone.yml" in ran.out
    # What no right answer mends is not a store still.
    (folder / "rubrics/tone.yaml").rename(folder / "rubrics/tone.json")
    assert cli("validate", "--fix", cwd=folder).code == 3


def test_an_ending_is_mended_unless_the_name_is_taken(cli: Cli, folder: Path) -> None:
    (folder / "rubrics").mkdir()
    (folder / "rubrics/voice.yaml").write_text(rubric(CHECK).replace("tone", "voice"))
    fix(cli, folder, rubric(CHECK), "rubrics/tone.yml")
    assert sorted(path.name for path in (folder / "rubrics").iterdir()) == ["tone.yaml", "voice.yaml"]
    fix(cli, folder, rubric(CHECK), "rubrics/tone.yml")
    assert sorted(path.name for path in (folder / "rubrics").iterdir()) == ["tone.yaml", "tone.yml", "voice.yaml"]


def test_it_says_what_it_did_and_that_scores_can_move(cli: Cli, folder: Path) -> None:
    (folder / "rubrics").mkdir()
    (folder / "rubrics/tone.yaml").write_text(rubric(CHECK, '"1.0"'))
    only_version = cli("validate", "--fix", cwd=folder)
    assert only_version.out == ('fixed rubrics/tone.yaml:2:10  "1.0" -> "1.0.0"\n\n1 file: no findings\n')
    (folder / "rubrics/tone.yaml").write_text(
        rubric("  - kind: must_contain_any\n    valeus: [fee]\n    x_y: 1\n", "latest")
    )
    ran = cli("validate", "--fix", cwd=folder)
    assert ran.code == 1
    assert ran.out.splitlines()[-4:] == [
        "fixed rubrics/tone.yaml:5:5  valeus -> values",
        "1 fixed file counts differently now, and scores can move: evalstore diff",
        "",
        "1 file: 1 finding (1 error)",
    ]


def test_the_document_has_what_was_mended(cli: Cli, folder: Path) -> None:
    (folder / "rubrics").mkdir()
    (folder / "rubrics/tone.yaml").write_text(rubric("  - kind: must_contain_any\n    valeus: [a]\n"))
    plain = json.loads(cli("validate", "--format", "json", cwd=folder).out)
    document = json.loads(cli("validate", "--fix", "--format", "json", cwd=folder).out)
    schema = json.loads((find_resource_folder("schema") / "output/validate.schema.json").read_text("utf-8"))
    for one in (plain, document):
        Draft202012Validator(schema).validate(one)
    assert "mended" not in plain
    assert [(place["old"], place["new"], place["moves_scores"]) for place in document["mended"]] == [
        ("valeus", "values", True)
    ]


def test_standard_input_is_no_file(cli: Cli) -> None:
    assert cli("validate", "--fix", "-", stdin="id: x\n").code == 2


def test_no_link_is_written_through(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.yaml").write_text(rubric(CHECK, '"1.0"'))
    (folder / "rubrics").mkdir()
    (folder / "rubrics/tone.yaml").symlink_to(tmp_path / "outside.yaml")
    cli("validate", "--fix", cwd=folder)
    assert (tmp_path / "outside.yaml").read_text() == rubric(CHECK, '"1.0"')


@given(st.text("abcdefg_", min_size=1, max_size=12), st.lists(st.text("abcdefg_", min_size=1, max_size=12), max_size=6))
def test_one_name_alone_is_near(word: str, names: list[str]) -> None:
    found = find_only_near(word, tuple(names))
    assert found is None or found in names
    if found:
        assert find_only_near(word, (*names, found)) in {None, found}


def test_a_pattern_in_braces_is_a_mapping_and_what_helps_is_said(folder: Path, cli: Cli) -> None:
    text = rubric("  - {kind: regex, pattern: {a}}\n")
    assert fix(cli, folder, text) == text
    said = " ".join(cli("validate", cwd=folder).out.split())
    assert "hint: in YAML, a string that begins with { or [ needs quotes" in said
