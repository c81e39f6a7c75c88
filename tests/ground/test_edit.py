"""One item is put into a list at the root, in whatever layout, and every other byte stays."""

from __future__ import annotations

import random

import pytest

from evalstore.documents import encode_document, read_yaml, write_yaml
from evalstore.documents.edit import put_item
from evalstore.errors import RefusedError

NEW = {"id": "new", "text": "a: b"}
BLOCK = '  - id: new\n    text: "a: b"\n'
TWO = "# head\nitems:  # all\n  # of a\n  - id: a  # first\n\n  # of b\n  - id: b\n    text: |\n      x\n\n# end\nmore: 1\n"


@pytest.mark.parametrize(
    ("index", "after"),
    [(0, "items:  # all\n"), (1, "  - id: a  # first\n"), (2, "      x\n\n")],
)
def test_it_comes_before_the_one_that_is_there(index: int, after: str) -> None:
    head, _, rest = TWO.partition(after)
    assert put_item(read_yaml(TWO, "f"), "items", index, NEW).text == head + after + BLOCK + rest


@pytest.mark.parametrize(("index", "old"), [(0, "  - id: a  # first\n"), (1, "  - id: b\n    text: |\n      x\n\n")])
def test_it_takes_the_place_of_the_one_that_is_there(index: int, old: str) -> None:
    assert put_item(read_yaml(TWO, "f"), "items", index, NEW, replace=True).text == TWO.replace(old, BLOCK)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("items: []", f"items:\n{BLOCK}"),
        ("items: [ ] # none\nmore: 1\n", f"items:\n{BLOCK} # none\nmore: 1\n"),
        ("items:\n- id: a\n", 'items:\n- id: a\n- id: new\n  text: "a: b"\n'),
        ("items:\n    -   id: a", 'items:\n    -   id: a\n    - id: new\n      text: "a: b"\n'),
        ("items:\r\n  - id: a\r\n", 'items:\r\n  - id: a\r\n  - id: new\r\n    text: "a: b"\r\n'),
        ("\ufeffitems: []\n", f"\ufeffitems:\n{BLOCK}\n"),
        ("more: 1  # one", f"more: 1  # one\nitems:\n{BLOCK}"),
        ("more: 1\r\n", 'more: 1\r\nitems:\r\n  - id: new\r\n    text: "a: b"\r\n'),
    ],
)
def test_it_is_written_as_its_neighbours_are(text: str, expected: str) -> None:
    document = read_yaml(text.encode(), "f")
    index = len(document.value.get("items", []))
    assert encode_document(put_item(document, "items", index, NEW)).decode() == expected


def test_blank_lines_of_a_text_get_no_spaces() -> None:
    item = {"id": "new", "text": "a\n\n  b"}
    edited = put_item(read_yaml("items:\n    - id: a\n", "f"), "items", 1, item)
    assert edited.text.endswith("    - id: new\n      text: |-\n        a\n\n          b\n")


@pytest.mark.parametrize(
    "text", ["items: [{id: a}]\n", "{items: [{id: a}]}\n", "items: &a\n  - id: a\nmore: *a\n", "{more: 1}\n"]
)
def test_what_cannot_be_without_touching_more_is_refused(text: str) -> None:
    with pytest.raises(RefusedError, match="no item can be added to `items` without changing more of the file"):
        put_item(read_yaml(text, "f"), "items", 1, NEW)


@pytest.mark.heavy
def test_random_lists_get_the_item_and_nothing_else() -> None:
    chance = random.Random(7)  # noqa: S311  # the same lists every time
    for _ in range(200):
        words = ["a", "é: x", "two\nlines\n", "", "yes"]
        items = [{"id": chance.choice(words), "x": chance.choice(words)} for _ in range(chance.randrange(4))]
        text = write_yaml({"head": 1, "items": items, "tail": chance.choice(words)})
        lines = text.splitlines(keepends=True)
        for at in range(len(lines) - 1, 2, -1):
            if lines[at].startswith("  - ") and chance.random() < 0.5:
                lines.insert(at, "  # a word on it\n")
        text = "".join(lines)
        index = chance.randrange(len(items) + 1)
        edited = put_item(read_yaml(text, "f"), "items", index, NEW)
        kept = put_item(edited, "items", index, {"id": "other"}, replace=True)
        assert kept.value["items"] == [*items[:index], {"id": "other"}, *items[index:]]
        if items:
            assert edited.text.replace(BLOCK, "", 1) == text
