"""The format of a file of outputs, found by its content; and which of its outputs make up a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstore.errors import LoadError, Place, RefusedError, UsageError
from evalstore.runs import MissingOutput, Run, SeriesFilter, StoredOutput, read_outputs
from evalstore.runs.formats import RUN_FORMAT, detect_format
from tests.runs.conftest import find_unread

CASES = Path(__file__).parents[1] / "cases" / "imports"
LINE = {"id": "a", "output": "x"}
ROW = {"sample_id": "a", "output": {"raw": "x"}, "model_id": "m"}
Lines = Callable[..., Path]


@pytest.mark.parametrize("name", ["data", "run.eval", "results.json", "outputs.jsonl", "picture.png"])
@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir()))
def test_a_file_is_known_by_its_content_alone(case: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((CASES / case).read_bytes())
    assert case.partition("-")[0] in detect_format(path).name.lower()
    path.write_text(json.dumps(json.loads(path.read_text("utf-8"))), encoding="utf-8")
    assert case.partition("-")[0] in detect_format(path).name.lower()


def test_a_run_is_known_by_its_aggregate(written: Callable[..., Run]) -> None:
    assert detect_format(written().path) is RUN_FORMAT


SENTENCE = 'unknown format; expected lines like {"id": "q1", "output": "…"}'
MORE = "logs and results of other tools are read, too: evalstore score --help lists them"


@pytest.mark.parametrize(
    ("content", "guess"),
    [
        ('"name"\t"answer"\n', "a table; name its columns of ids and of outputs `id` and `output`"),
        (
            "\ufeffname,answer\n".encode().decode("latin-1"),
            "a table; name its columns of ids and of outputs `id` and `output`",
        ),
        (
            '{"question_id": "a", "response": "x"}',
            "rows with other key names; convert them: jq -c '{id: .question_id, output: .response}' FILE > outputs.jsonl",
        ),
        (
            '{"id": "a", "answer": "x"}',
            "rows with other key names; convert them: jq -c '{id: .id, output: .answer}' FILE > outputs.jsonl",
        ),
        ('{\n  "id": "a",\n  "schema_version": "x.trace.v1"\n}\n', None),
        ("- id: a\n  output: x\n", None),
        ('"text"', None),
        ("7", None),
        ("[1, 2]", None),
        ("[project]\nname = 1\n", None),
        ("\x89PNG\r\n", None),
        ("\xff\xfe{\x00}\x00", "text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"),
        ("{}", None),
        ('{"answers": []}', None),
        ('{"results": {"results": [7]}}', None),
        ('{"eval": {}, "other": 1}', None),
        (
            '[{"qid": "a", "text": "x"}]',
            (
                "one JSON array of rows with other key names; convert them: jq -c '.[] | {id: .qid, output: .text}' "
                "FILE > outputs.jsonl"
            ),
        ),
        (
            '{"messages": [{"role": "user", "content": "x"}]}',
            "conversations without ids; number them: jq -c '{id: (input_line_number | tostring), messages}' FILE > outputs.jsonl",
        ),
        ('{"id": "small", "questions": []}', "a dataset, which holds the questions; check it: evalstore validate FILE"),
        ('{"evalId": null, "results": {"results": []}, "config": {}}', "results of promptfoo, and not one"),
    ],
)
def test_an_unknown_shape_is_one_sentence_with_an_example(content: str, guess: str | None, tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(LoadError) as raised:
        next(read_outputs(path))
    assert raised.value.message == SENTENCE
    assert raised.value.place == Place(str(path))
    told = f"it looks like {guess}".replace("FILE", str(path)) if guess else MORE
    assert raised.value.hint == told


@pytest.mark.parametrize(
    ("first", "sentence"),
    [
        ({"id": "a"}, "it has no `output`"),
        ({"output": "x", "question": "a"}, "it has no `id`"),
        ({"schema_version": "0.2.0", "sampleId": "a"}, "it has no `sample_id`"),
    ],
)
def test_a_first_line_that_lacks_something_is_told_what(first: dict[str, Any], sentence: str, lines: Lines) -> None:
    found = find_unread(lines(first))
    assert sentence in found.reason
    assert found.line == 1


def test_a_file_without_a_line_holds_nothing(lines: Lines) -> None:
    assert list(read_outputs(lines(end=b""))) == list(read_outputs(lines(b" ", b"\r", b"\xef\xbb\xbf"[:0]))) == []


def test_a_text_that_is_no_json_says_where(lines: Lines) -> None:
    with pytest.raises(LoadError, match="not JSON: expected a colon") as raised:
        next(read_outputs(lines(b'{"a": 1,', b' "b" 2}')))
    assert raised.value.place is not None
    assert raised.value.place.line == 2


@pytest.mark.slow
def test_a_hundred_thousand_keys_are_looked_at_once(lines: Lines) -> None:
    with pytest.raises(LoadError, match="unknown format"):
        next(read_outputs(lines({f"key{number}": number for number in range(100_000)})))


def test_of_rows_of_several_models_one_is_chosen(lines: Lines) -> None:
    path = lines(*({**ROW, "sample_id": id_, "model_id": model} for model in ("a/1", "a/2", "b") for id_ in "xy"))
    with pytest.raises(RefusedError, match="contains outputs of 3 models, but a run can have only one") as raised:
        list(read_outputs(path))
    assert raised.value.hint == (
        "choose with --only model='a/1' | 'a/2' | 'b'; or evalstore score takes them for one with --model NAME"
    )
    assert [found.id for found in read_outputs(path, SeriesFilter({"model": "a/2"}))] == ["x", "y"]
    assert len(list(read_outputs(path, SeriesFilter({"model": "b*"})))) == 2
    assert len(list(read_outputs(path, SeriesFilter(any_model=True)))) == 6
    with pytest.raises(RefusedError, match="of 2 models"):
        list(read_outputs(path, SeriesFilter({"model": "a/*"})))


def test_a_model_that_only_failed_is_a_model_too(lines: Lines) -> None:
    path = lines(ROW, {"sample_id": "b", "model_id": "n", "output": {"raw": []}})
    with pytest.raises(RefusedError, match="of 2 models"):
        list(read_outputs(path))
    assert list(read_outputs(path, SeriesFilter({"model": "n"}))) == [MissingOutput("b", 2, "the model gave no output")]


def test_a_row_without_a_model_belongs_to_any(lines: Lines) -> None:
    assert len(list(read_outputs(lines(LINE, {**ROW, "sample_id": "b"}, {**LINE, "id": "c"})))) == 3


@pytest.mark.parametrize(
    ("rows", "only", "sentence", "hint"),
    [
        ([ROW], {"model": "n"}, "holds no output of model 'n'", "there is model 'm'"),
        ([ROW], {"epoch": "1"}, "holds no output of epoch '1'", "its outputs name no epoch"),
        ([LINE], {"model": "m", "prompt": "p"}, "of model 'm' and prompt 'p'", "its outputs name no model or prompt"),
        ([{**ROW, "model_id": f"m{n}"} for n in range(9)], {"model": "n"}, "model 'n'", "'m5' | … (9 in all)"),
        ([{**ROW, "model_id": "\x1b[31m"}], {"model": "\x1b*"}, None, ""),
        ([{**ROW, "model_id": "\x1b[31m"}], {"model": "\x1bx"}, r"model '\\x1bx'", "there is model '\\x1b[31m'"),
    ],
)
def test_a_choice_of_nothing_says_what_there_is(
    rows: list[Any], only: dict[str, str], sentence: str | None, hint: str, lines: Lines
) -> None:
    if sentence is None:
        assert len(list(read_outputs(lines(*rows), SeriesFilter(only)))) == 1
        return
    with pytest.raises(RefusedError, match=sentence) as raised:
        list(read_outputs(lines(*rows), SeriesFilter(only)))
    assert (raised.value.hint or "").endswith(hint)


@pytest.mark.parametrize(
    ("part", "hint"), [("modle", "did you mean `model`?"), ("x", "use one of model, prompt, epoch, configuration")]
)
def test_a_choice_by_something_else_is_a_usage_error(part: str, hint: str) -> None:
    with pytest.raises(UsageError, match="--only does not know") as raised:
        SeriesFilter({part: "x"})
    assert raised.value.hint == hint


def test_a_name_that_ends_in_a_star_is_itself_too(lines: Lines) -> None:
    path = lines({**ROW, "model_id": "m*"})
    assert [
        found.model for found in read_outputs(path, SeriesFilter({"model": "m*"})) if isinstance(found, StoredOutput)
    ] == ["m*"]
