from __future__ import annotations

import io
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from evalstore.documents import JsonStream, read_json
from evalstore.documents.json_reader import LIMIT
from evalstore.errors import LimitError, LoadError, Place


class Drip(io.BytesIO):
    """A file that gives a few bytes at a time, so that every token is cut somewhere."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(3, size or 3))


def stream(text: str | bytes, kind: type[io.BytesIO] = io.BytesIO) -> JsonStream:
    return JsonStream(kind(text if isinstance(text, bytes) else text.encode()), "a.json")


def walked(source: JsonStream) -> Any:
    """Go into every container and take every other value."""
    if source.peek() == "{":
        return {key: walked(source) for key in source.iterate_members()}
    if source.peek() == "[":
        return [walked(source) for _ in source.iterate_items()]
    return source.read()


TEXTS = [
    "null",
    " 12 ",
    "-0.50e+3",
    '"a\\u00e9\\n\\ud83e\\udd8a🦊"',
    "[]",
    "{}",
    '{"a": [1, 23456, {"b": []}], "": "x\\"", "c" :true}',
    "[[[1.10], {}],\n[false]]\r\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("kind", [io.BytesIO, Drip])
def test_pieces_make_up_the_document(text: str, kind: type[io.BytesIO]) -> None:
    whole, pieces, skipped = stream(text, kind), stream(text, kind), stream(text, kind)
    assert whole.read() == walked(pieces) == read_json(text, "a.json").value
    skipped.skip()
    for source in (whole, pieces, skipped):
        source.expect_end()


def test_only_the_wanted_members_are_taken() -> None:
    source = stream('{"scores": {"a": NaN, "a": [Infinity]}, "id": 1.50, "n": ' + "9" * 5000 + ', "more": "\\ud800"}')
    assert source.read_fields({"id", "absent"}) == {"id": Decimal("1.50")}


def test_a_part_stands_on_its_line() -> None:
    source = stream('{\n "a": [\n  1,\n\n  {"b": 2}\n ]}')
    places = []
    for _ in source.iterate_members():
        for _ in source.iterate_items():
            places.append(source.locate())
            source.skip()
    assert places == [Place("a.json", 3), Place("a.json", 5)]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    for kind in (io.BytesIO, Drip):
        assert stream(b"\xef\xbb\xbf[1]", kind).read() == [1]


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ('{"a": 1,\n "a": 2}', 2, "'a'"),
        ('\n{"a": NaN}', 2, "NaN is not JSON"),
        ('\n{"a": "\\ud800"}', 2, "surrogate"),
        ('\n{"a": ' + "9" * 401 + "}", 2, "more than 400 digits"),
        ('\n{"a": ' + "[" * 80 + "]" * 80 + "}", 2, "nested deeper"),
        ('{"a":\n tru', 2, "expecting value"),
        ('{"a":\n "tru', 2, "ends in the middle"),
        ('{"a":\n', 2, "expected a value, and the text ends"),
        ('{"a":\n [{"b"', 2, "ends in the middle"),
        ('{"a":\n"\\', 2, "ends in the middle"),
        ('{\n"\\x": 1}', 2, "escape"),
        ('{"a": 1\n', 2, "expected a comma or }, and the text ends"),
        ("{\n", 2, "expected a key, and the text ends"),
        ("{\n1", 2, "expected a key"),
        ('{"a"\n1', 2, "expected a colon"),
        ('{"a": \n}', 2, "expected a value"),
        ('{"a": \n[1 2' + " " * 100 + "]}", 2, "delimiter"),
        (b'{"a":\n"\xff"}', 2, "not UTF-8"),
        ('{"a":\n1}'.encode("utf-16"), 1, "not UTF-8"),
        (b'{"a": "\xf0\x9f', 1, "not UTF-8"),
        ("", 1, "expected an object, and the text ends"),
        ("[]", 1, "expected an object"),
    ],
)
@pytest.mark.parametrize("kind", [io.BytesIO, Drip])
def test_what_is_broken_is_one_sentence_with_its_line(
    text: str | bytes, line: int, sentence: str, kind: type[io.BytesIO]
) -> None:
    with pytest.raises(LoadError, match=sentence) as raised:
        stream(text, kind).read_fields({"a"})
    assert raised.value.place == Place("a.json", line)


def test_nesting_without_end_is_refused_where_it_is_skipped() -> None:
    class Endless:
        read_count = 0

        def read(self, size: int, /) -> bytes:
            self.read_count += 1
            return b"[" * size

    bomb = Endless()
    with pytest.raises(LimitError, match="nested deeper than 1,000 levels"):
        JsonStream(bomb, "a.json").skip()
    assert bomb.read_count == 1
    with pytest.raises(LimitError, match="nested deeper than 1,000 levels"):
        stream("[" * 1010 + "]" * 1010).skip()
    deep = stream("[" * 999 + '{"]": "\\""}' + "]" * 999 + "1")
    deep.skip()
    assert deep.read() == 1


@pytest.mark.parametrize(("opened", "closed"), [("[1,", "]"), ('{"]": [', "]}"), ("[[],", "1]")])
def test_what_is_skipped_is_counted_by_windows_and_not_by_brackets(
    opened: str, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = stream("[" + (opened * 300 + closed * 300 + ",") * 100 + '"x"], 7')
    looks = 0
    real = JsonStream.peek

    def peek(self: JsonStream) -> str:
        nonlocal looks
        looks += 1
        return real(self)

    monkeypatch.setattr(JsonStream, "peek", peek)
    source.skip()
    assert looks < 2000  # of some 60,000 brackets


@pytest.mark.heavy
def test_more_parts_than_memory_holds_are_refused() -> None:
    with pytest.raises(LimitError, match="one value has more than 1,000,000 parts"):
        stream("[" + "[]," * 600_000 + "[]]").read()
    text = ",[{" * 600_000
    assert stream(json.dumps([text])).read() == [text]


def test_what_stands_after_the_value_is_refused() -> None:
    source = stream('{}\n{"b": 1}')
    source.skip()
    with pytest.raises(LoadError, match="unexpected text after the value") as raised:
        source.expect_end()
    assert raised.value.place == Place("a.json", 2)


class Endless(io.RawIOBase):
    """A document of a hundred million items, made while it is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces

    def read(self, _: int = -1) -> bytes:
        return next(self.pieces, b"")


def pieces(first: bytes, again: bytes, times: int, last: bytes) -> Iterator[bytes]:
    yield first
    yield from (again for _ in range(times))
    yield last


@pytest.mark.slow
def test_a_long_list_is_passed_over_without_being_held() -> None:
    item = json.dumps({"events": ["x" * 1000] * 100}).encode()
    source = JsonStream(Endless(pieces(b'{"a": [0', (b"," + item) * 20, 100, b'], "b": 1}')), "a.json")  # type: ignore[arg-type]
    assert source.read_fields({"b"}) == {"b": 1}
    assert len(source._text) < 10 << 20


@pytest.mark.heavy
@pytest.mark.parametrize("first", [b'{"a": "', '{"a": "🦊'.encode()])
def test_one_value_without_end_is_not_read_to_its_end(first: bytes) -> None:
    endless = Endless(pieces(first, b"x" * (1 << 20), 10_000, b""))
    with pytest.raises(LimitError, match="one value is larger than 8,388,608 bytes"):
        JsonStream(endless, "a.json", limit=8 << 20).read_fields({"a"})  # type: ignore[arg-type]
    assert LIMIT <= 64 << 20


def test_an_object_of_a_hundred_thousand_keys_is_refused() -> None:
    source = JsonStream(io.BytesIO(b"{" + b'"k":1,' * 100_001 + b'"k":1}'), "keys.json")
    with pytest.raises(LimitError, match="one object has more than 100,000 keys"):
        source.read_fields({"other"})
