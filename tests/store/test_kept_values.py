"""The values that runs keep: always those of the bytes, whatever happened to the file, and never an answer of another day."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from evalstore.documents import read_yaml
from evalstore.errors import LoadError
from evalstore.store import kept_values
from evalstore.store.kept_values import ABSENT, FILE, KeptValues
from evalstore.store.parsed_documents import ParsedDocuments

ROOT = Path(__file__).parents[2]
RUBRIC = 'id: tone\nversion: "1.0.0"\nchecks:\n  - kind: {kind}\n    {body}\nscoring:\n  combine: all_pass\n'
GOOD = RUBRIC.format(kind="must_contain_any", body="values: [word]")


def keep(folder: Path, *texts: str) -> list[Any]:
    """Parse texts as a run does, and return their values."""
    documents = ParsedDocuments(KeptValues.open(folder))
    values = [documents.read(text.encode(), "f").value for text in texts]
    documents.close()
    return values


def test_values_come_back_as_they_were_read(tmp_path: Path) -> None:
    files = [path.read_text("utf-8") for path in (ROOT / "tests" / "cases" / "diff").rglob("new.yaml")]
    texts = [
        "a: 1\n",
        "a: 1.50\n",
        "a: 1e3\n",
        "- true\n- null\n- 0x1F\n",
        '"é\\u2028\\n"\n',
        "",
        "a: 1.\nb: 'x'\n",
        *files,
    ]
    first = keep(tmp_path, *texts)
    kept = KeptValues.open(tmp_path)
    assert [repr(kept.find(text.encode())) for text in texts] == [repr(value) for value in first]
    assert [repr(read_yaml(text, "f").value) for text in texts] == [repr(value) for value in first]
    assert first[1] == {"a": Decimal("1.50")}


def test_what_cannot_be_read_is_not_kept(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(LoadError, match="stands twice"):
            keep(tmp_path, "a: 1\na: 2\n")
    assert not (tmp_path / FILE).exists()


def test_positions_are_those_of_the_file_at_hand(tmp_path: Path) -> None:
    keep(tmp_path, GOOD)
    document = ParsedDocuments(KeptValues.open(tmp_path)).read(GOOD.encode(), "here")
    assert str(document.locate(("checks", 0, "kind"))) == str(read_yaml(GOOD, "here").locate(("checks", 0, "kind")))


@pytest.mark.parametrize("seed", range(40))
def test_damage_is_never_an_answer(seed: int, tmp_path: Path) -> None:
    texts = [f"a: {number}\nb: [x, y]\n" for number in range(20)]
    keep(tmp_path, *texts)
    dice, path = random.Random(seed), tmp_path / FILE  # noqa: S311  # the same damage every time
    data = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 5)):
        at = dice.randrange(len(data))
        data[at : at + dice.randint(0, 30)] = dice.randbytes(dice.randint(0, 30))
    path.write_bytes(data)
    assert keep(tmp_path, *texts) == [{"a": number, "b": ["x", "y"]} for number in range(20)]
    kept = KeptValues.open(tmp_path)
    assert [kept.find(text.encode()) for text in texts] == [{"a": number, "b": ["x", "y"]} for number in range(20)]


def test_values_of_another_reader_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path, "a: 1\n")
    monkeypatch.setattr(kept_values, "_describe_reader", lambda: b"of another version")
    assert KeptValues.open(tmp_path).find(b"a: 1\n") is ABSENT


def test_the_file_is_bounded_and_what_was_asked_for_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_values, "LIMIT", 2000)
    for number in range(40):
        keep(tmp_path, "always: here\n", f"a: {number}\n")
    assert (tmp_path / FILE).stat().st_size <= 2000
    kept = KeptValues.open(tmp_path)
    assert kept.find(b"always: here\n") == {"always": "here"}
    assert kept.find(b"a: 0\n") is ABSENT


@pytest.mark.parametrize("obstacle", ["link", "folder"])
def test_what_stands_in_its_place_is_left_alone(obstacle: str, tmp_path: Path) -> None:
    path, elsewhere = tmp_path / FILE, tmp_path / "elsewhere"
    path.parent.mkdir()
    elsewhere.write_text("mine")
    if obstacle == "link":
        path.symlink_to(elsewhere)
    else:
        path.mkdir()
    assert keep(tmp_path, "a: 1\n") == [{"a": 1}]
    assert elsewhere.read_text() == "mine"
    assert path.is_symlink() or path.is_dir()


def test_two_runs_at_once_both_end_well(tmp_path: Path) -> None:
    one, other = (ParsedDocuments(KeptValues.open(tmp_path)) for _ in range(2))
    one.read(b"a: 1\n", "f")
    other.read(b"a: 2\n", "f")
    one.close()
    other.close()
    assert KeptValues.open(tmp_path).find(b"a: 2\n") == {"a": 2}
    assert keep(tmp_path, "a: 1\n", "a: 2\n") == [{"a": 1}, {"a": 2}]


def test_validate_gives_the_answer_of_today_each_time(
    git: Callable[..., str], cli: Callable[..., Any], tmp_path: Path
) -> None:
    git("status")
    repo = tmp_path / "repo"
    (repo / "rubrics").mkdir()
    rubric, settings = repo / "rubrics" / "tone.yaml", repo / "evalstore.yaml"

    def validate(*options: str) -> tuple[int, str]:
        ran = cli("-C", str(repo), "validate", *options)
        return ran.code, ran.out

    def ask_twice() -> tuple[int, str]:
        answer = validate()
        assert validate() == answer
        (repo / ".git" / FILE).unlink()
        assert validate() == answer  # as without anything kept
        return answer

    rubric.write_text(GOOD)
    assert ask_twice()[0] == 0
    rubric.write_text(RUBRIC.format(kind="regex", body='pattern: "("'))
    code, out = ask_twice()
    assert (code, "rubrics/tone.yaml:5" in out) == (1, True)
    rubric.write_text(GOOD.replace("all_pass", "all_pas"))
    assert ask_twice()[0] == 1
    # The same bytes under another rule of the settings, and under another id.
    rubric.write_text(GOOD.replace("scoring", "colour: red\nscoring"))
    assert ask_twice()[0] == 0
    settings.write_text("strict: true\n")
    assert ask_twice()[0] == 1
    settings.write_text("cosmetic: [colour]\n")
    assert ask_twice()[0] == 0
    rubric.rename(repo / "rubrics" / "other.yaml")
    assert ask_twice()[0] == 1
