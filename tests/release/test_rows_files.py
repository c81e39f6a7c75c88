"""A dataset is released with the rows that it names, or not at all: their name is one that every system can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evalstore.errors import LoadError, SchemaError
from evalstore.model.artifact import build_rows_name
from tests.release.shop import Shop, rubric

ROW = '{"id": "%s", "input": "Why?"}\n'
DEVICES = ["con", "lpt9"]  # tests/ground/test_text.py has them all
# What each of them may be on some system: a device, a file elsewhere, another file of the same name, no file at all.
UNUSABLE = [
    *(f"{device}.jsonl" for device in DEVICES),
    *("../web.jsonl", "/web.jsonl", "./web.jsonl", "sub/web.jsonl", "..\\\\web.jsonl", "c:web.jsonl"),
    *("web.jsonl.", "web.jsonl ", " web.jsonl", "web .jsonl", "Web.jsonl", "web.JSONL", "CON.jsonl", "con .jsonl"),
    *("web.json", "web", ".jsonl", "", "web.x.jsonl", "con.x.jsonl", "web.jsonl\\n", "w\\0.jsonl", "1.jsonl"),
    *("we:b.jsonl", "we*b.jsonl", "we?b.jsonl", f"{'w' * 65}.jsonl", "wéb.jsonl", "rubrics.yaml"),
]


def dataset(rows: str, id_: str = "d", version: str = "1.0.0") -> str:
    return f"id: {id_}\nversion: {version}\nrows: {rows}\ndefaults: {{rubric_ref: rubric/tone@1.0.0}}\n"


def fill(shop: Shop, rows: str) -> None:
    shop.write("rubrics/tone.yaml", rubric())
    shop.write("datasets/d.yaml", dataset(f'"{rows}"'))
    for name in ("web", "con", "com1", "Web"):
        shop.write(f"datasets/{name}.jsonl", ROW % "q")


def test_a_name_that_some_system_cannot_hold_is_refused_everywhere(shop: Shop, cli: Callable[..., Any]) -> None:
    for rows in UNUSABLE:
        fill(shop, rows)
        assert cli("-C", shop.root, "validate").code == 1, rows
        assert cli("-C", shop.root, "bump", "--all").code == 3, rows
    assert cli("-C", shop.root, "status", "--check").code == 1
    assert shop.tags() == []


def test_the_hint_says_what_is_wrong_with_a_device(shop: Shop, cli: Callable[..., Any]) -> None:
    fill(shop, "con.jsonl")
    assert "Windows keeps con, prn, aux" in cli("-C", shop.root, "validate").out


@pytest.mark.parametrize("rows", [None, 5, [], {}])
def test_rows_that_name_no_file_are_refused(rows: Any, shop: Shop, cli: Callable[..., Any]) -> None:
    fill(shop, "web.jsonl")
    shop.write("datasets/d.yaml", dataset("null" if rows is None else str(rows)))
    assert cli("-C", shop.root, "validate").code == 1
    with pytest.raises((LoadError, SchemaError)):
        shop.bump()


def test_a_release_made_by_hand_with_such_rows_is_never_as_released(shop: Shop, cli: Callable[..., Any]) -> None:
    fill(shop, "con.jsonl")
    shop.git("add", ".")
    shop.git("commit", "-qm", "By hand")
    shop.git("tag", "-am", "By hand", "dataset/d@1.0.0")
    before = cli("-C", shop.root, "status", "--check")
    assert before.code == 1
    assert "`rows`" in before.out
    shop.write("datasets/con.jsonl", ROW % "other")
    assert cli("-C", shop.root, "status", "--check").code == 1
    assert cli("-C", shop.root, "verify").code == 1
    assert cli("-C", shop.root, "bump", "--all").code == 3
    assert shop.tags() == ["dataset/d@1.0.0"]


@pytest.mark.parametrize("rows", ["web.jsonl", "conn.jsonl", "com0.jsonl", "auxiliary.jsonl", "d.jsonl", "nul_.jsonl"])
def test_the_rows_are_in_the_release_and_an_edit_of_them_is_seen(
    rows: str, shop: Shop, cli: Callable[..., Any]
) -> None:
    fill(shop, rows)
    shop.write(f"datasets/{rows}", ROW % "q")
    shop.bump()
    assert f"datasets/{rows}" in shop.committed()
    assert cli("-C", shop.root, "status", "--check").code == 0
    shop.write(f"datasets/{rows}", ROW % "other")
    assert cli("-C", shop.root, "status", "--check").code == 1
    shop.bump("dataset/d")
    assert f"datasets/{rows}" in shop.committed()


def test_rows_that_are_gone_are_an_error_of_every_command(shop: Shop, cli: Callable[..., Any]) -> None:
    fill(shop, "web.jsonl")
    shop.bump()
    (shop.root / "datasets/web.jsonl").unlink()
    assert cli("-C", shop.root, "validate").code == 1
    assert cli("-C", shop.root, "status", "--check").code == 1
    assert cli("-C", shop.root, "bump", "dataset/d").code == 3


def test_blame_follows_rows_through_every_name_that_they_had(shop: Shop, cli: Callable[..., Any]) -> None:
    fill(shop, "web.jsonl")
    shop.bump()
    first = shop.git("rev-parse", "HEAD")
    shop.git("mv", "datasets/web.jsonl", "datasets/moved.jsonl")
    shop.write("datasets/d.yaml", dataset("moved.jsonl"))
    shop.write("datasets/moved.jsonl", ROW % "q" + ROW % "new")
    shop.bump("dataset/d")
    out = cli("-C", shop.root, "blame", "dataset/d").out
    assert first[:7] in next(line for line in out.splitlines() if "question q" in line or " q" in line)


def test_a_check_may_be_called_as_a_device(shop: Shop, cli: Callable[..., Any]) -> None:
    text = rubric().replace("  - kind:", "  - id: con\n    kind:")
    shop.write("rubrics/tone.yaml", text)
    assert cli("-C", shop.root, "validate").code == 0


def test_a_new_dataset_names_its_rows_after_itself() -> None:
    assert build_rows_name("web") == "web.jsonl"
