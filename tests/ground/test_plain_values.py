"""Reading a YAML text without positions finds what reading it with positions finds, or leaves it to that."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest

from evalstore.documents import Document, document_builder, read_yaml, yaml_values
from evalstore.documents.document import DEPTH_LIMIT
from evalstore.documents.yaml_reader import _parse_yaml
from evalstore.documents.yaml_values import NOT_PLAIN, read_plain_value
from evalstore.errors import LoadError

ROOT = Path(__file__).parents[2]
PARTS = (
    *("a: ", "b: ", "'a': ", "<<: ", ": ", "? ", "- ", "  ", "\n", "\n  ", "\n- ", "\n    - ", "{", "}", "[", "]"),
    *(", ", "1", "1.50", "0x1F", "1e400", ".nan", "null", "~", "true", "no", '"1"', "'x'", "|\n  text\n", ">-\n  x\n"),
    *(
        "&n ",
        "*n",
        "!!str ",
        "!!int ",
        "! ",
        "!own ",
        "--- ",
        "\n---\n",
        "\n...\n",
        "# note\n",
        "%YAML 1.2\n",
        "é",
        "\t",
    ),
)


def read_slowly(text: str) -> Document | None:
    try:
        return _parse_yaml(text, "f", bom=False)
    except LoadError:
        return None


def assert_same(text: str) -> bool:
    """Assert that both ways agree; return whether the fast one read the text."""
    value, slow = read_plain_value(text), read_slowly(text)
    if value is NOT_PLAIN:
        return False
    assert slow is not None, text
    assert repr(value) == repr(slow.value), text  # 1, 1.0 and true are equal, and not the same
    return True


def test_every_file_of_the_repository_is_read_alike() -> None:
    files = [path for folder in ("sample_repo", "schema", "migrations") for path in (ROOT / folder).rglob("*.yaml")]
    files += list((ROOT / "tests" / "cases" / "diff").rglob("old.yaml"))
    assert sum(assert_same(path.read_text(encoding="utf-8")) for path in files) > len(files) * 0.9


def test_random_texts_are_read_alike() -> None:
    source = random.Random(7)  # noqa: S311  # the same every time
    read = sum(assert_same("".join(source.choices(PARTS, k=source.randint(1, 9)))) for _ in range(3000))
    assert read > 300


LINES = (
    *("a:", "b:", "c_1: x", "a: 1.50", "d.e: null", 'a: "q: # "', "b: 's'", "c: [a, 'b, c', 1]", "a: []", "b: {}"),
    *(
        "a: |",
        "b: |-",
        "text, more",
        "a: x:y#z",
        "a: x # note",
        "# note",
        "",
        "",
        " ",
        "a: b: c",
        "a :b",
        "c: [a,]",
        "e: {a: 1, b: 'x, y'}",
        "e: {a, b: 1}",
        "e: {a: b c, a: 1}",
        "e: [a: 1]",
        "e: { }",
        "e: {a:1}",
    ),
    *(
        "a: 'it''s'",
        r"a: \b(x)",
        r'a: "x\\y\"z\/\t"',
        r'a: "\x41"',
        "b:   # note",
        "b:# note",
        "a: | # note",
        "a: 'x' # note",
    ),
    *("a: 'x'# note", "a: [b] # note", "a: $x", "a: ^x", "a: +1", "a: .5", "a: .", "a: ''", 'b: ""', "- # note"),
    *("~", "b: ]", "a: word ", 'a: "x" ', "a: é", "c: 0x1F", "a: >-", "b: &n 1", "? x", 'a: "\\n"', "---", "- ", "-"),
)


def test_random_lines_are_read_alike() -> None:
    source = random.Random(11)  # noqa: S311  # the same every time

    def write_line(indent: int) -> str:
        return " " * indent + source.choice(("", "", "- ", "-   ")) + source.choice(LINES)

    read = 0
    for _ in range(2000):
        indents = [source.choice((0, 0, 2, 2, 4, 6, 1)) for _ in range(source.randint(1, 6))]
        text = "\n".join(map(write_line, indents)) + source.choice(("\n", "\n", ""))
        value, slow = read_plain_value(text), read_slowly(text)
        if value is not NOT_PLAIN:
            assert slow is not None, text
            assert repr(value) == repr(slow.value), text
            read += 1
    assert read > 100


FLOW = (
    "[",
    "]",
    "{",
    "}",
    ",",
    ", ",
    "a: ",
    "b: ",
    "c:",
    "x",
    "1.50",
    "'y'",
    "'",
    '"',
    '"z]"',
    "'{, '",
    " ",
    " # ",
    "#",
    "null",
)
FLOWS = ("[1, x]", "['y', \"]\"]", "{a: 1}", "{b: '}', a: null}", "[]", "{}", "[x]", "'['", "[[x]]", "{a: {b: 1}}")


def test_random_brackets_are_read_alike() -> None:
    source = random.Random(13)  # noqa: S311  # the same every time
    read = nested = 0
    for _ in range(2000):
        inner = source.choices(FLOWS if source.random() < 0.5 else FLOW, k=source.randint(1, 4))
        joined = source.choice((", ", ", a: ", "")).join(inner)
        text = source.choice(("k: [{}]\n", "- {{a: {}}}\n", "- {{b: {}, c: [x]}} # note\n", "k: {}\n")).format(joined)
        value, slow = read_plain_value(text), read_slowly(text)
        if value is not NOT_PLAIN:
            assert slow is not None, text
            assert repr(value) == repr(slow.value), text
            read += 1
            nested += text.count("[") + text.count("{") > 1
    assert read > 100
    assert nested > 50


@pytest.mark.parametrize("extra", [-1, 0])
def test_limits_are_those_of_reading_with_positions(extra: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (yaml_values, document_builder):
        monkeypatch.setattr(module, "NODE_LIMIT", 50)
    assert_same("[" * (DEPTH_LIMIT + extra) + "]" * (DEPTH_LIMIT + extra))
    many = "- 1\n" * (50 + extra)  # the list itself is one more
    assert assert_same(many) == (read_slowly(many) is not None) == (extra < 0)


def test_positions_are_found_when_they_are_asked_for() -> None:
    text = "a: 1\nb:\n  - x\n  - {c: 2.50}\n"
    document, slow = read_yaml(text, "f"), _parse_yaml(text, "f", bom=False)
    again = pickle.loads(pickle.dumps(document))  # noqa: S301  # our own
    for one in (document, again):
        assert dict(one.spans) == slow.spans
        assert dict(one.key_spans) == slow.key_spans
        assert one.locate(("b", 1, "c")) == slow.locate(("b", 1, "c"))
