"""`evalstore show RUN --label FILE`: one key a verdict, each kept before the next is asked for, in no grader's order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from evalstore.agreement.label_file import open_label_file
from evalstore.agreement.labels import read_labels
from evalstore.errors import ConflictError
from evalstore.model import Verdict
from evalstore.runs.run_view import RowChoice, view_run


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a file of AgentV with six outputs: two to each of three questions, one of them another's."""
    rows = [
        {"test_id": id_, "input": f"ask {id_}", "output": f"{id_} {text}", "score": score, "scores": []}
        for text, score in (("good", 1), ("bad\x1b[2J", 0))
        for id_ in ("a", "b", "c")
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def press(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, results: Path
) -> Callable[[str], tuple[Any, list[int]]]:
    """Press keys; return what was shown, and how many labels were on the disk at each key. `C` is Ctrl-C."""

    def run(keys: str) -> tuple[Any, list[int]]:
        file, counts = results.with_name("labels.jsonl"), []
        waiting: Iterator[str] = iter(keys)

        def get_key() -> str:
            counts.append(file.read_text().count("\n"))
            key = next(waiting, None)
            if key is None:
                raise EOFError
            if key == "C":
                raise KeyboardInterrupt
            return key

        monkeypatch.setattr(click, "getchar", get_key)
        monkeypatch.setattr("evalstore.cli.labelling.require_terminal", lambda *_, **__: None)
        return cli("show", results.name, "--label", file.name, cwd=results.parent), counts

    return run


def test_each_label_is_on_the_disk_before_the_next_and_a_stop_loses_none(
    press: Callable[[str], tuple[Any, list[int]]], results: Path
) -> None:
    first, counts = press("p?fuFsC")
    assert (first.code, counts) == (130, [0, 1, 1, 2, 1, 2, 2])
    assert "\n2 labelled now (1 pass, 1 fail), 4 left; in labels.jsonl" in first.out
    second, counts = press("ppppp")
    assert (second.code, counts) == (0, [2, 3, 4, 5])
    assert "6 outputs, 2 labelled before" in second.out
    assert second.next_steps == "next: evalstore judge validate JUDGE --labels labels.jsonl\n"
    assert "\x1b" not in first.out + second.out
    labels = list(read_labels(results.with_name("labels.jsonl")))
    assert sorted((row.id, row.sample) for row in labels) == [(id_, n) for id_ in "abc" for n in (0, 1)]
    stored = {(row.id, row.sample): row for row in view_run(results, RowChoice()).rows}
    for row in labels:
        shown = stored[row.id, row.sample]
        assert (row.output, row.question_fields) == (shown.output.text, {"input": shown.input})
    last, counts = press("")
    assert (last.code, counts, "0 left" in last.out) == (0, [], True)


def test_no_grader_chooses_what_is_asked_first_and_none_is_shown(
    press: Callable[[str], tuple[Any, list[int]]], results: Path
) -> None:
    names = re.findall(r"^\d of 6  (.*)$", press("ssssss")[0].out, re.MULTILINE)
    assert sorted(names) == ["a", "a, sample 2", "b", "b, sample 2", "c", "c, sample 2"]
    results.write_text(results.read_text().replace('"score": 1', '"score": 0.5').replace('"score": 0,', '"score": 1,'))
    other = press("ssssss")[0].out
    assert re.findall(r"^\d of 6  (.*)$", other, re.MULTILINE) == names
    assert not re.search(r"FAIL|100\.00|unscored", other)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--failed"], "--failed leaves what a grader has chosen"),
        (["--format", "json"], "--label asks at a terminal, and prints no json"),
        ([], "--label asks at a terminal, and this is not one"),
    ],
)
def test_nobody_is_asked_where_nobody_can_answer(
    cli: Callable[..., Any], results: Path, argv: list[str], words: str
) -> None:
    ran = cli("show", results.name, "--label", "labels.jsonl", *argv, cwd=results.parent)
    assert (ran.code, words in ran.err or words in ran.out) == (2, True)
    assert not results.with_name("labels.jsonl").exists()


def test_what_is_no_file_of_labels_or_is_written_by_others_stays(
    press: Callable[[str], tuple[Any, list[int]]], results: Path
) -> None:
    file = results.with_name("labels.jsonl")
    file.write_text('{"id": "a"')
    assert press("p")[0].code == 3
    assert file.read_text() == '{"id": "a"'
    file.write_text('{"id": "a", "label": "pass", "output": "x"}')  # without an end of its line
    row = view_run(results, RowChoice()).rows[0]
    with open_label_file(file) as labels:
        labels.add_label(row, Verdict.FAIL, with_reference=True)
        assert [label.label for label in read_labels(file)] == [Verdict.PASS, Verdict.FAIL]
        with file.open("a") as other:
            other.write('{"id": "z", "label": "pass", "output": "x"}\n')
        with pytest.raises(ConflictError, match="somebody else writes into it"):
            labels.remove_last()
    assert len(list(read_labels(file))) == 3
